// Which sums over rows are computed together: see join_sums.h.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

/// An op that multiplies left^T by right, or adds up the rows of left, where there is no right.
struct RowSum {
  Op op;
  Var left, right = {};  // values whose last axis are columns, and all others rows
  bool swapped = false;  // the op's result is transposed

  bool is_product() const { return right.valid(); }
};

/// Returns what an op adds up; none where there are not many rows of few f32 columns.
std::optional<RowSum> row_sum_of(Op op);

/// Sums over the same rows that become one op.
class JointSum {
 public:
  explicit JointSum(const RowSum& first) : sums_{first} {}

  /// Adds a sum, if it shares a matrix with another one and that saves more than it computes.
  bool add(RowSum sum);
  void drop_last() { sums_.pop_back(); }

  const std::vector<RowSum>& sums() const { return sums_; }
  /// Returns the matrices of either side, those of which 16 bytes can be copied at once first.
  std::vector<Var> lefts() const;
  std::vector<Var> rights() const;
  bool has_ones() const;

 private:
  bool is_worth_it() const;

  std::vector<RowSum> sums_;
};

/// Returns the sums of a region that are computed together, two or more each, in a way that none of
/// them waits for itself.
std::vector<JointSum> find_joint_sums(std::span<const Op> ops);

}  // namespace antichain
