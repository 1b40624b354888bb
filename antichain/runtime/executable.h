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
#include "antichain/graph/state_store.h"
#include "antichain/runtime/backend.h"
#include "antichain/runtime/run_observer.h"

namespace antichain {

class Program;  // antichain/runtime/program.h: how it runs, which is not the caller's business

using Feeds = std::map<std::string, Tensor, std::less<>>;

/// What a run returns, in the order in which it was asked for.
class Results {
 public:
  explicit Results(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}
  std::size_t size() const { return tensors_.size(); }
  const Tensor& operator[](std::size_t index) const { return tensors_.at(index); }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Returns the only element of the first result.
  template <class T = float>
  T item() const {
    return tensors_.at(0).item<T>();
  }

 private:
  std::vector<Tensor> tensors_;
};

class Executable {
 public:
  /// Compiles for `kernels`, usually those of the backend; owns the graph from then on. Backend and
  /// states must outlive the executable.
  Executable(std::unique_ptr<Graph> graph, std::span<const Var> results,
             std::span<const Op> effects, const Backend& backend, const KernelTable& kernels,
             const Logger& logger, StateStore& states);
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;
  ~Executable();

  /// Runs once. Throws one clear sentence on unknown or missing inputs and on values that do not
  /// fit. Runs that do not write state may happen at the same time on several threads.
  Results operator()(const Feeds& feeds) const { return run(feeds, {}); }
  /// Runs once, watched: by a Profiler, a FiniteCheck or an observer of the caller's own.
  Results run(const Feeds& feeds, const std::vector<RunObserver*>& observers) const;

  Graph& graph() const { return *graph_; }
  /// Returns how many ops a run has, those of inner regions counted once.
  std::size_t num_steps() const;
  /// Sets where `print` ops write; standard output unless told otherwise.
  void set_print_line(std::function<void(std::string_view)> print_line) {
    print_line_ = std::move(print_line);
  }

 private:
  std::vector<Tensor> bind(const Feeds& feeds, DimEnv& env) const;
  void check_sizes(std::span<const Tensor> arguments, DimEnv& env) const;

  std::unique_ptr<Graph> graph_;
  std::vector<Var> inputs_;
  std::vector<bool> input_used_;
  std::unique_ptr<Program> program_;
  const Backend* backend_;
  StateStore* states_;
  std::function<void(std::string_view)> print_line_;
};

}  // namespace antichain
