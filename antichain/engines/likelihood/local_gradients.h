// Gradients of the inputs of a region op, added up on several ways back to them.
#pragma once

#include <vector>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/graph.h"

namespace antichain::likelihood {

class LocalGradients {
 public:
  /// Differentiates with respect to `arguments`, which stand for the inputs that the context needs.
  LocalGradients(const VjpContext& context, std::vector<Var> arguments);

  /// Goes back from outputs with these gradients, by the ops' own rules.
  void add(const std::vector<Var>& outputs, const std::vector<Var>& output_grads);
  /// Returns what the last addition has found.
  const std::vector<Var>& newest() const { return newest_; }
  /// Returns the sums by input. Throws NotSupported where one that is needed and used has none.
  std::vector<Var> all() const;

 private:
  bool is_used(int input) const;

  const VjpContext& context_;
  std::vector<Var> arguments_, sums_, newest_;
};

}  // namespace antichain::likelihood
