// First values of states: computed when something is compiled that reads or writes them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "antichain/base/logger.h"
#include "antichain/graph/graph.h"
#include "antichain/graph/state_store.h"
#include "antichain/runtime/backend.h"

namespace antichain {

class InitialValues {
 public:
  InitialValues(std::shared_ptr<Backend> backend, std::shared_ptr<StateStore> states,
                Logger logger);

  /// Gives the states that these ops read or write their initial values, where they have none yet.
  /// Throws InvalidArgument where a state has none, or has a value that does not fit the graph.
  void give(Graph& graph, std::span<const Op> ops) const;

 private:
  void compute(Graph& graph, std::vector<std::string> names) const;
  void compute_together(Graph& graph, const std::vector<std::string>& names, bool is_derived) const;
  bool has_value(const Graph& graph, const std::string& name) const;

  std::shared_ptr<Backend> backend_;
  std::shared_ptr<StateStore> states_;
  Logger logger_;
};

}  // namespace antichain
