// When joint sums (joint_sum.h) and other ops can run: sums that are computed together wait for the
// matrices of all of them, and their readers with them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "antichain/passes/sums/joint_sum.h"

namespace antichain {

/// What comes next: an op, or the joint sum of this number.
struct JointTurn {
  Op op = {};
  std::size_t joint = 0;  // where there is no op
};

/// Returns an order in which ops can run with joint sums in the place of theirs: that of `ops`
/// where it can be. None where one would wait for itself, or where an effect would have to wait.
std::optional<std::vector<JointTurn>> order_with(std::span<const JointSum> joints,
                                                 std::span<const Op> ops);

}  // namespace antichain
