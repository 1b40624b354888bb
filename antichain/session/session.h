// Session: where backends, engines, kernels and state come together. The only library code that
// names concrete ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "antichain/autodiff/engine.h"
#include "antichain/base/logger.h"
#include "antichain/graph/graph.h"
#include "antichain/graph/state_store.h"
#include "antichain/passes/compiler_options.h"
#include "antichain/runtime/backend.h"
#include "antichain/runtime/executable.h"

namespace antichain {

class InitialValues;  // antichain/session/initial_values.h

struct SessionOptions {
  std::string device = "cpu";
  std::int64_t seed = 0;
  // Products and convolutions of f32 values may round their factors to tf32, 11 bits, where that is
  // faster: on a GPU. The CPU computes them in f32 all the same.
  bool tf32 = false;
  // What regions start from that name an engine, such as "scan:when=always".
  std::vector<EngineChoice> engines = {};
  Logger logger = Logger();
};

struct CompileOptions {
  std::vector<Var> updates = {};  // values whose ops run for their effect: assign, add_update
  CompilerOptions compiler = {};
  // The most bytes that values in between may take (Executable::memory_bytes); states, inputs and
  // results are not among them. What does not fit is computed again instead of kept, as little as
  // possible.
  std::optional<std::size_t> memory_budget = std::nullopt;
  // The sizes of named dims that the budget is for; a run at other sizes takes what it takes.
  std::map<std::string, std::int64_t> plan_sizes = {};
};

/// A session, its graphs and its executables belong to one thread at a time, with one exception: an
/// executable that writes no state may be run by many threads, while nobody builds on the graph
/// that it came from. Graphs and executables may outlive their session, and executables their
/// graph.
class Session {
 public:
  /// Throws DeviceError when this build or machine has no such device.
  explicit Session(const SessionOptions& options = {});
  /// Runs on a backend of the caller's own; `options.device` is not looked at.
  explicit Session(std::unique_ptr<Backend> backend, SessionOptions options = {});

  /// Makes a graph whose regions may name this session's engines.
  Graph graph() const { return Graph(engines_); }
  /// Compiles what the outputs and updates need. State that has no value yet gets its initial one.
  /// Throws InvalidArgument, naming the least that would do, when a memory budget is too small.
  Executable compile(const std::vector<Var>& outputs, const CompileOptions& options = {});

  StateStore& states() { return *states_; }
  const EngineSet& engines() const { return *engines_; }
  /// Sets what regions start from that name the engine of `choice`, as SessionOptions::engines do.
  void set_engine_defaults(const EngineChoice& choice) { engines_->set_defaults(choice); }
  const Backend& backend() const { return *backend_; }
  const Logger& logger() const { return options_.logger; }

  /// Returns whether an op is taken apart (OpDef::decompose) to run: the device has no kernel for
  /// it. The CPU runs such ops by their reference, except those that consist of products.
  bool takes_apart(Op op) const;
  /// Says how the device computes an op at these sizes where it has a choice, and why; empty where
  /// it has none.
  std::string explain(Op op, const DimEnv& sizes) const;
  /// Gives the states that an op reads or writes their initial values, where they have none yet.
  void initialise_states_of(Op op);
  /// Returns what has expired when the session is gone.
  std::weak_ptr<const bool> lifetime() const { return lives_; }

 private:
  SessionOptions options_;
  std::shared_ptr<EngineSet> engines_;
  // Executables share both, so that they may be run when the session is gone. States lie in the
  // backend's memory.
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<StateStore> states_;
  std::shared_ptr<const InitialValues> initial_values_;
  std::shared_ptr<const bool> lives_ = std::make_shared<bool>(true);
};

}  // namespace antichain
