#include "antichain/passes/sums/joint_sum.h"

#include <algorithm>
#include <unordered_set>

#include "antichain/ops/definition_parts.h"
#include "antichain/ops/products/row_products.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/passes/graph_copy.h"
#include "antichain/passes/sums/joint_order.h"
#include "antichain/passes/sums/row_sums.h"

namespace antichain {

namespace {

// Pairs of columns that are multiplied for each that is wanted: beyond, reading twice is cheaper.
constexpr std::int64_t kMostPairsEach = 3;

// What a matrix is a view of, if that has the same rows and columns.
Var rows_of(Var matrix) {
  while (made_by(matrix, reshape_def()) && is_free(matrix.producer())) {
    const Var whole = matrix.producer().input(0);
    if (whole.rank() < 2 || !(whole.dim(-1) == matrix.dim(-1))) {
      break;
    }
    matrix = whole;
  }
  return matrix;
}

bool is_tall(Var value) {
  return value.rank() > 1 && value.dtype() == f32 && is_few(value.dim(-1)) &&
         is_many(num_rows(value));
}

std::int64_t width(Var value) { return value.dim(-1).constant(); }

void add_once(std::vector<Var>& values, Var value) {
  if (std::ranges::find(values, value) == values.end()) {
    values.push_back(value);
  }
}

std::vector<Var> fours_first(std::vector<Var> values) {
  std::stable_partition(values.begin(), values.end(),
                        [](Var value) { return width(value) % 4 == 0; });
  return values;
}

std::vector<std::int64_t> widths(const std::vector<Var>& values) {
  std::vector<std::int64_t> result;
  std::ranges::transform(values, std::back_inserter(result), width);
  return result;
}

bool contains(const std::vector<Var>& values, Var value) {
  return std::ranges::find(values, value) != values.end();
}

RowSum swapped(const RowSum& sum) { return {sum.op, sum.right, sum.left, !sum.swapped}; }

}  // namespace

std::optional<RowSum> row_sum_of(Op op) {
  if (is_sum_of_rows(op) && is_tall(op.input(0))) {
    return RowSum{op, rows_of(op.input(0))};
  }
  if (is_narrow_product(op) && op.attrs().get<bool>("transpose_a") &&
      !op.attrs().get<bool>("transpose_b") && is_tall(op.input(0)) && is_tall(op.input(1))) {
    const RowSum sum{op, rows_of(op.input(0)), rows_of(op.input(1))};
    return sum.left == sum.right ? std::nullopt : std::optional(sum);
  }
  return std::nullopt;
}

bool JointSum::add(RowSum sum) {
  const std::vector<Var> left = lefts(), right = rights();
  if (sum.is_product() && (contains(left, sum.right) || contains(right, sum.left))) {
    sum = swapped(sum);
  }
  const bool is_shared = contains(left, sum.left) || contains(right, sum.right);
  const bool has_two_sides = contains(right, sum.left) || contains(left, sum.right);
  if (!is_shared || has_two_sides) {
    return false;
  }
  sums_.push_back(sum);
  if (!is_worth_it()) {
    sums_.pop_back();
    return false;
  }
  return true;
}

std::vector<Var> JointSum::lefts() const {
  std::vector<Var> found;
  for (const RowSum& sum : sums_) {
    add_once(found, sum.left);
  }
  return fours_first(std::move(found));
}

std::vector<Var> JointSum::rights() const {
  std::vector<Var> found;
  for (const RowSum& sum : sums_) {
    if (sum.is_product()) {
      add_once(found, sum.right);
    }
  }
  return fours_first(std::move(found));
}

bool JointSum::has_ones() const {
  return std::ranges::any_of(sums_, [](const RowSum& sum) { return !sum.is_product(); });
}

bool JointSum::is_worth_it() const {
  const RowProductWidths sizes{widths(lefts()), widths(rights()), has_ones()};
  std::int64_t down = 0, across = sizes.ones ? 1 : 0, wanted = 0;
  for (const std::int64_t columns : sizes.lefts) {
    down += columns;
  }
  for (const std::int64_t columns : sizes.rights) {
    across += columns;
  }
  for (auto sum = sums_.begin(); sum != sums_.end(); ++sum) {
    const bool is_again = std::any_of(sums_.begin(), sum, [&](const RowSum& other) {
      return other.left == sum->left && other.right == sum->right;
    });
    wanted += is_again ? 0 : width(sum->left) * (sum->is_product() ? width(sum->right) : 1);
  }
  return fits_row_products(sizes) && down * across <= kMostPairsEach * wanted;
}

std::vector<JointSum> find_joint_sums(std::span<const Op> ops) {
  std::unordered_set<OpId> taken;  // or not to be
  for (Op op : ops) {
    for (const ControlEdge& edge : op.control_edges()) {
      taken.insert(edge.before);
    }
  }
  std::vector<RowSum> sums;
  for (Op op : ops) {
    if (const std::optional<RowSum> sum = row_sum_of(op)) {
      sums.push_back(*sum);
    }
  }
  std::vector<JointSum> found;
  for (const RowSum& seed : sums) {
    if (!seed.is_product() || taken.contains(seed.op.id())) {
      continue;
    }
    const auto has_sum = [&sums](Var value) {
      return std::ranges::any_of(
          sums, [value](const RowSum& sum) { return !sum.is_product() && sum.left == value; });
    };
    // Ones stand on the right.
    const bool is_wrong_way = has_sum(seed.right) && !has_sum(seed.left);
    found.emplace_back(is_wrong_way ? swapped(seed) : seed);
    JointSum& joint = found.back();
    std::unordered_set<OpId> inside = {seed.op.id()};
    for (std::size_t before = 0; before < inside.size();) {
      before = inside.size();
      for (const RowSum& sum : sums) {
        const OpId id = sum.op.id();
        if (taken.contains(id) || inside.contains(id) || !joint.add(sum)) {
          continue;
        }
        if (order_with(found, ops)) {
          inside.insert(id);
        } else {
          joint.drop_last();
        }
      }
    }
    if (inside.size() == 1) {
      found.pop_back();
      continue;
    }
    taken.merge(inside);
  }
  return found;
}

}  // namespace antichain
