// Executable: a compiled graph that is fed and run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/graph/state_store.h"
#include "antichain/runtime/backend.h"
#include "antichain/runtime/memory_report.h"
#include "antichain/runtime/run_observer.h"

namespace antichain {

// How it runs is not the caller's business.
class FramePool;    // antichain/runtime/frame_cache.h
class Program;      // antichain/runtime/program.h
struct RunContext;  // antichain/runtime/op_runner.h

using Feeds = std::map<std::string, Tensor, std::less<>>;

/// What a run returns, in the order in which it was asked for.
class Results {
 public:
  Results() = default;
  explicit Results(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}
  std::size_t size() const { return tensors_.size(); }
  const Tensor& operator[](std::size_t index) const { return tensors().at(index); }
  const std::vector<Tensor>& tensors() const {
    wait();
    return tensors_;
  }
  /// Returns the only element of the first result.
  template <class T = float>
  T item() const {
    return tensors().at(0).item<T>();
  }

  /// Returns whether the run was only started, and nobody has waited for it yet.
  bool is_pending() const { return !sent_.empty(); }
  /// Waits for the values; whoever looks at one does so, too. Throws what the run could not throw,
  /// and again whenever somebody looks: such results stay pending.
  void wait() const;

 private:
  friend class Executable;
  std::vector<Tensor> tensors_;
  mutable std::vector<SentResult> sent_;
};

/// Counts what new sizes cost: a program is compiled once and made ready for each set of sizes.
struct RunStatistics {
  std::size_t frames_made = 0;
  std::size_t frames_kept = 0;  // those of the sizes used last
  double frame_seconds = 0;     // spent on making them
};

class Executable {
 public:
  /// Compiles for `kernels`, usually those of the backend; owns the graph from then on and shares
  /// backend and states.
  Executable(std::unique_ptr<Graph> graph, std::span<const Var> results,
             std::span<const Op> effects, std::shared_ptr<const Backend> backend,
             const KernelTable& kernels, const Logger& logger, std::shared_ptr<StateStore> states);
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  ~Executable();

  /// Runs once. Throws one clear sentence on unknown or missing inputs and on values that do not
  /// fit. Runs that do not write state may happen at the same time on several threads.
  Results operator()(const Feeds& feeds) const { return run(feeds, {}); }
  /// Runs once, watched: by a Profiler, a FiniteCheck or an observer of the caller's own.
  Results run(const Feeds& feeds, const std::vector<RunObserver*>& observers) const;

  /// Runs once and puts what it finds into `results`, whose memory is used again when it fits and
  /// nobody else holds it: a run at sizes that were seen before then allocates nothing.
  void run_into(Results& results, const Feeds& feeds,
                const std::vector<RunObserver*>& observers = {}) const;

  /// The same, without waiting for a device to compute: `results` are pending then. Feeds may be
  /// changed and further runs started before anybody waits.
  void start_into(Results& results, const Feeds& feeds,
                  const std::vector<RunObserver*>& observers = {}) const;

  /// Returns where values in between lie in a run with such feeds, of which only the sizes matter.
  MemoryReport memory_report(const Feeds& feeds) const;
  /// Returns what the runs so far took beside themselves.
  RunStatistics statistics() const;
  /// Returns the bytes of values in between and of copies of feeds, for all the sizes seen so far.
  std::size_t memory_bytes() const;
  Graph& graph() const { return *graph_; }
  /// Returns how many ops a run has, those of inner regions counted once.
  std::size_t num_steps() const;
  /// Leaves results in the memory of the device, where they can be fed again without a copy to the
  /// host and back; Backend::to_host brings one there. Those of a CPU are on the host all the same.
  void set_results_on_device(bool on_device) { results_on_device_ = on_device; }
  /// Lets steps that do not need each other run at the same time, from the next sizes on.
  void set_parallel_steps(bool parallel) { parallel_steps_ = parallel; }
  /// Sets where `print` ops write; standard output unless told otherwise.
  void set_print_line(PrintLine print_line) { *print_line_ = std::move(print_line); }

 private:
  void take_feeds(const Feeds& feeds, std::vector<const Tensor*>& arguments) const;
  void prepare(std::span<const Tensor* const> arguments, RunContext& shared) const;
  void check_feeds(const Feeds& feeds, std::span<const Tensor* const> arguments) const;
  void bind_symbols(std::span<const Tensor* const> arguments, DimEnv& env) const;
  void check_sizes(std::span<const Tensor* const> arguments, DimEnv& env) const;

  std::shared_ptr<const Backend> backend_;  // first: the others have memory of it
  std::shared_ptr<StateStore> states_;
  std::unique_ptr<Graph> graph_;
  std::vector<Var> inputs_, results_;
  std::vector<std::string> names_;  // of the inputs
  std::vector<bool> input_used_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<PrintLine> print_line_;
  bool parallel_steps_ = false, results_on_device_ = false;
  std::unique_ptr<FramePool> frames_;
  Tensor not_fed_;
};

}  // namespace antichain
