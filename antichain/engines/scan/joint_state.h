// The carried states of a chain as one: what a scan works on.
#pragma once

#include <string>

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::scan {

/// Describes the floating-point states of a chain as one state [batch_axes..., size]: `batch_axes`
/// are the leading ones, which its steps keep apart; at every position of them the rest of all
/// states lies behind each other. A size of 1 makes every Jacobian of a step diagonal.
struct JointState {
  explicit JointState(Op chain);

  struct Part {
    int state;   // among those of the chain
    Dims shape;  // of that state
    Dim offset, size;
  };
  std::vector<Part> parts;
  Dims batch_axes;
  Dim size = 0;  // of all parts

  bool is_diagonal() const { return size == Dim(1); }
  /// Says why the states cannot be one; empty if they can.
  std::string why_not() const;
  /// Joins values [leading..., shape of a part], one per part, to
  /// [leading..., batch_axes..., size].
  Var join(const Vars& values) const;
  /// Cuts one value likewise.
  Vars cut(Var joint) const;

 private:
  bool same_type_ = true;
};

}  // namespace antichain::scan
