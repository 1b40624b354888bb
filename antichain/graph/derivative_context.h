// What the derivative rules of an op see.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "antichain/graph/op_def.h"
#include "antichain/graph/var.h"

namespace antichain {

/// Walks back from outputs to inputs: returns a gradient per input, none where the outputs do not
/// depend on it.
using WalkBack = std::function<std::vector<Var>(
    std::span<const Var> outputs, std::span<const Var> output_grads, std::span<const Var> inputs)>;
/// Walks forward from inputs to outputs: returns a tangent per output, none where there is no
/// dependence.
using WalkForward = std::function<std::vector<Var>(
    std::span<const Var> inputs, std::span<const Var> tangents, std::span<const Var> outputs)>;
/// Returns zeros of the type and shape of a value.
using MakeZeros = std::function<Var(Var like)>;

/// What both kinds of rule see: the op, and zeros where something is missing. New ops go to the
/// graph's current region.
class RuleContext {
 public:
  Op op() const { return op_; }
  Graph& graph() const { return op_.graph(); }
  const Attrs& attrs() const { return op_.attrs(); }
  int num_inputs() const { return op_.num_inputs(); }
  Var input(int index) const { return op_.input(index); }
  Var output(int index = 0) const { return op_.output(index); }
  Var zeros_like(Var value) const { return make_zeros_(value); }

 protected:
  RuleContext(Op op, MakeZeros make_zeros) : op_(op), make_zeros_(std::move(make_zeros)) {}
  ~RuleContext() = default;

 private:
  Op op_;
  MakeZeros make_zeros_;
};

/// Serves OpDef::vjp: output gradients in, input gradients out. New ops go to the graph's current
/// region.
class VjpContext : public RuleContext {
 public:
  VjpContext(Op op, std::vector<Var> output_grads, std::vector<bool> needed, MakeZeros make_zeros,
             WalkBack walk_back)
      : RuleContext(op, std::move(make_zeros)),
        output_grads_(std::move(output_grads)),
        needed_(std::move(needed)),
        walk_back_(std::move(walk_back)) {}

  bool has_grad(int output) const {
    return output_grads_[static_cast<std::size_t>(output)].valid();
  }
  /// Returns the gradient of the target with respect to an output; zeros when there is none.
  Var grad(int output = 0) const {
    return has_grad(output) ? output_grads_[static_cast<std::size_t>(output)]
                            : zeros_like(op().output(output));
  }
  const std::vector<Var>& grads() const { return output_grads_; }
  /// Returns whether somebody asks for the gradient of this input.
  bool needs(int input) const { return needed_[static_cast<std::size_t>(input)]; }
  /// Differentiates ops that the rule itself has built, e.g. the body of a region.
  std::vector<Var> walk_back(std::span<const Var> outputs, std::span<const Var> output_grads,
                             std::span<const Var> inputs) const {
    return walk_back_(outputs, output_grads, inputs);
  }

 private:
  std::vector<Var> output_grads_;
  std::vector<bool> needed_;
  WalkBack walk_back_;
};

/// Serves OpDef::jvp: input tangents in, output tangents out.
class JvpContext : public RuleContext {
 public:
  JvpContext(Op op, std::vector<Var> tangents, MakeZeros make_zeros, WalkForward walk_forward)
      : RuleContext(op, std::move(make_zeros)),
        tangents_(std::move(tangents)),
        walk_forward_(std::move(walk_forward)) {}

  bool has_tangent(int input) const { return tangents_[static_cast<std::size_t>(input)].valid(); }
  /// Returns the tangent of an input; zeros when there is none.
  Var tangent(int input) const {
    return has_tangent(input) ? tangents_[static_cast<std::size_t>(input)]
                              : zeros_like(op().input(input));
  }
  const std::vector<Var>& tangents() const { return tangents_; }
  std::vector<Var> walk_forward(std::span<const Var> inputs, std::span<const Var> tangents,
                                std::span<const Var> outputs) const {
    return walk_forward_(inputs, tangents, outputs);
  }

 private:
  std::vector<Var> tangents_;
  WalkForward walk_forward_;
};

}  // namespace antichain
