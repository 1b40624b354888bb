// What the vmap rule of an op sees: many copies of the op at once.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

/// A value of a function that vmap maps, as it is outside: those of all copies along a new first
/// axis, or one that is the same in all of them. Mapped values may have size 1 along axes that
/// they have other sizes along inside ("thin"): they are the same everywhere along them, and stay
/// so as long as they can.
struct Mapped {
  Var value;
  bool is_mapped = false;
};

/// Serves OpDef::vmap: the op as it is for one copy, and its inputs for all of them. At least one
/// input is mapped. New ops go to the graph's current region.
class VmapContext {
 public:
  /// Repeats a value to a shape.
  using Repeat = std::function<Var(Var value, const Dims& shape)>;

  VmapContext(Op op, std::span<const Mapped> inputs, Dim copies, Repeat repeat)
      : op_(op), inputs_(inputs), copies_(copies), repeat_(std::move(repeat)) {}

  /// Returns the op of one copy; its own inputs and outputs only tell types and shapes.
  Op op() const { return op_; }
  Graph& graph() const { return op_.graph(); }
  const Attrs& attrs() const { return op_.attrs(); }
  int num_inputs() const { return op_.num_inputs(); }
  /// Returns the size of the mapped axis.
  Dim copies() const { return copies_; }
  bool is_mapped(int input) const { return given(input).is_mapped; }
  /// Returns an input as it is, which may be thin.
  const Mapped& given(int input) const { return inputs_[static_cast<std::size_t>(input)]; }
  /// Returns whether an input has size 1 where it has another size inside.
  bool is_thin(int input) const;
  /// Returns an input: [copies, shape...] where it is mapped, with all of its shape, or else as it
  /// is.
  Var value(int input) const { return is_thin(input) ? repeated(input) : given(input).value; }
  std::vector<Var> values() const;
  /// Returns an input with the mapped axis, repeated along it where it is the same in all copies.
  Var repeated(int input) const;
  std::vector<Var> all_repeated() const;
  /// Returns a shape of one copy with the mapped axis in front.
  Dims with_copies(const Dims& shape) const;
  /// Adds the same op with other inputs and attributes.
  std::vector<Var> same_op(const std::vector<Var>& inputs, const Attrs& attrs) const {
    return graph().add(op_.def(), inputs, attrs, {}, op_.location()).outputs();
  }

 private:
  Op op_;
  std::span<const Mapped> inputs_;
  Dim copies_;
  Repeat repeat_;
};

}  // namespace antichain
