// Gradient engines: ways to differentiate one region of a graph.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "antichain/base/support.h"
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/graph.h"

namespace antichain {

/// What an engine promises of its gradients.
enum class Guarantee {
  exact,      // equal to back-propagation up to rounding
  iterative,  // converges to it with every cycle
  unbiased,   // right on average, with a stated standard error
  sampled,    // right where it looks, which is not everywhere
};
std::string_view name(Guarantee guarantee);

/// Differentiates one region op (call, chain, loop, cond) of a graph. An engine is to a region what
/// OpDef::vjp is to an op: it sees the op with its output gradients and builds the gradients of its
/// inputs as ordinary ops, in the graph's current region. So engines compose: what an engine builds
/// can be differentiated, fused and planned.
class GradientEngine {
 public:
  virtual ~GradientEngine() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;
  virtual Guarantee guarantee() const = 0;
  /// Says whether it can differentiate the op with respect to the inputs marked in `needed`.
  virtual Support supports(Op region_op, const std::vector<bool>& needed) const = 0;
  /// Says how it goes about a region op that it supports, where it has a choice, and why.
  virtual std::string explain(Op region_op) const;
  /// Returns a gradient per input; none for inputs that the context does not need.
  virtual std::vector<Var> differentiate(VjpContext& context) const = 0;
};

/// Holds the engines of a session.
class EngineSet {
 public:
  void add(std::unique_ptr<GradientEngine> engine);
  /// Returns the engine called `name`; throws InvalidArgument that lists the names otherwise.
  const GradientEngine& find(std::string_view name) const;
  const std::vector<std::unique_ptr<GradientEngine>>& all() const { return engines_; }

 private:
  std::vector<std::unique_ptr<GradientEngine>> engines_;
};

/// Names the engine that applies the ops' own rules; it needs no engine set.
inline constexpr std::string_view kBackprop = "backprop";

}  // namespace antichain
