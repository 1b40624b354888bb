#include "antichain/engines/scan/sweep.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "antichain/base/error.h"
#include "antichain/ops/scans/affine_scan.h"

namespace antichain::scan {

namespace {

constexpr int kIdentity = -1;  // an operand that leaves the other as it is
constexpr int kNothing = -2;   // behind the first stage: never looked at

// Adds steps to a sweep, with the operands of the scan in a list as the algorithms see them:
// the gradient, the Jacobians and nothing.
class SweepBuilder {
 public:
  explicit SweepBuilder(int stages) : items_(static_cast<std::size_t>(stages) + 2) {
    sweep_.stages = stages;
    for (int i = 0; i <= stages; ++i) {
      items_[static_cast<std::size_t>(i)] = i;
    }
    items_.back() = kNothing;
    depths_.resize(static_cast<std::size_t>(stages) + 1);
    vectors_.resize(static_cast<std::size_t>(stages) + 1);
    vectors_[0] = true;
  }

  int size() const { return static_cast<int>(items_.size()); }
  int& item(int index) { return items_[static_cast<std::size_t>(index)]; }

  int multiplied(int left, int right) {
    if (left == kNothing || right == kIdentity) {
      return left;
    }
    const int depth = 1 + std::max(depths_[static_cast<std::size_t>(left)],
                                   depths_[static_cast<std::size_t>(right)]);
    sweep_.steps.push_back({left, right, vectors_[static_cast<std::size_t>(right)], depth});
    depths_.push_back(depth);
    vectors_.push_back(sweep_.steps.back().to_vector);
    return static_cast<int>(depths_.size()) - 1;
  }

  // Pairs of neighbours at one level of the tree: f(left, right) with their places in the list.
  template <class F>
  void for_each_pair(int level, F&& f) const {
    const int half = 1 << level, last = size() - 1;
    for (int first = 0; first + half - 1 < last; first += 2 * half) {
      f(first + half - 1, std::min(first + 2 * half - 1, last));
    }
  }

  // What is left in the list are the products of everything before each place.
  Sweep finished() && {
    sweep_.gradients.assign(items_.begin() + 2, items_.end());
    return std::move(sweep_);
  }

 private:
  Sweep sweep_;
  std::vector<int> items_;
  std::vector<int> depths_;
  std::vector<bool> vectors_;
};

// Up `levels` levels of a tree, along the roots, and down again.
Sweep plan_tree(int stages, int levels) {
  SweepBuilder builder(stages);
  for (int level = 0; level < levels; ++level) {
    builder.for_each_pair(level, [&](int left, int right) {
      builder.item(right) = builder.multiplied(builder.item(right), builder.item(left));
    });
  }
  int before = kIdentity;
  for (int first = 0; first < builder.size(); first += 1 << levels) {
    int& root = builder.item(std::min(first + (1 << levels), builder.size()) - 1);
    const int own = root;
    root = before;
    before = builder.multiplied(own, before);
  }
  for (int level = levels - 1; level >= 0; --level) {
    builder.for_each_pair(level, [&](int left, int right) {
      const int own = builder.item(left), all_before = builder.item(right);
      builder.item(left) = all_before;
      builder.item(right) = builder.multiplied(own, all_before);
    });
  }
  return std::move(builder).finished();
}

// Products of the chunks; chunk after chunk; the stages of every chunk. The first chunk starts at
// the gradient and needs no product, and nobody needs that of the last.
Sweep plan_chunks(int stages, int chunk) {
  SweepBuilder builder(stages);
  std::vector<int> after(static_cast<std::size_t>(stages) + 1);  // the gradient behind each stage
  const auto walk = [&](int first, int last) {
    for (int stage = first; stage <= last; ++stage) {
      after[static_cast<std::size_t>(stage)] =
          builder.multiplied(stage, after[static_cast<std::size_t>(stage) - 1]);
    }
  };
  walk(1, std::min(chunk, stages));
  int first = chunk + 1;
  for (; first + chunk - 1 < stages; first += chunk) {
    int product = first;
    for (int stage = first + 1; stage < first + chunk; ++stage) {
      product = builder.multiplied(stage, product);
    }
    after[static_cast<std::size_t>(first + chunk) - 1] =
        builder.multiplied(product, after[static_cast<std::size_t>(first) - 1]);
    walk(first, first + chunk - 2);
  }
  walk(first, stages);
  for (int stage = 1; stage <= stages; ++stage) {
    builder.item(stage + 1) = after[static_cast<std::size_t>(stage)];
  }
  return std::move(builder).finished();
}

}  // namespace

int Sweep::depth() const {
  int deepest = 0;
  for (const SweepStep& step : steps) {
    deepest = std::max(deepest, step.depth);
  }
  return deepest;
}

Sweep plan_sweep(int stages, const std::string& algorithm, std::int64_t chunk) {
  const auto operands = static_cast<unsigned>(stages) + 2;
  const int root = std::max(1, static_cast<int>(std::sqrt(stages)));
  if (algorithm == kScanSerial) {
    return plan_tree(stages, 0);
  }
  if (algorithm == kScanChunked) {
    return plan_chunks(
        stages, chunk == 0 ? root : static_cast<int>(std::min<std::int64_t>(chunk, stages + 1)));
  }
  // A tree over everything ends with one root.
  const int all_levels = std::bit_width(operands - 1);
  if (algorithm == kScanHybrid) {
    require(std::has_single_bit(static_cast<std::uint64_t>(chunk)) || chunk == 0,
            "the chunk of algorithm hybrid must be a power of two, got {}", chunk);
    const auto block = static_cast<std::uint64_t>(chunk == 0 ? root : chunk);
    return plan_tree(stages, std::min(all_levels, static_cast<int>(std::bit_width(block)) - 1));
  }
  require(algorithm.empty() || algorithm == kScanBlelloch,
          "there is no algorithm '{}' for scans; there are serial, blelloch, hybrid and chunked",
          algorithm);
  return plan_tree(stages, all_levels);
}

SweepCost count_operations(const Sweep& sweep, const std::vector<CsrPattern>& jacobians) {
  ensure(static_cast<int>(jacobians.size()) == sweep.stages, "a sweep over {} stages, but {}",
         sweep.stages, jacobians.size());
  std::vector<CsrPattern> products(sweep.steps.size());
  const auto pattern = [&](int operand) -> const CsrPattern& {
    return operand <= sweep.stages ? jacobians[static_cast<std::size_t>(operand) - 1]
                                   : products[static_cast<std::size_t>(operand - sweep.stages) - 1];
  };
  SweepCost cost;
  std::vector<std::int64_t> done(static_cast<std::size_t>(sweep.stages) + 1);  // by operand
  for (std::size_t k = 0; k < sweep.steps.size(); ++k) {
    const SweepStep& step = sweep.steps[k];
    std::int64_t operations = 0;
    if (step.to_vector) {
      operations = 2 * pattern(step.left).stored();
    } else {
      operations = 2 * count_multiplications(pattern(step.left), pattern(step.right));
      products[k] = product_pattern(pattern(step.left), pattern(step.right));
      cost.stored = std::max(cost.stored, products[k].stored());
    }
    cost.steps.push_back(operations);
    cost.total += operations;
    cost.largest = std::max(cost.largest, operations);
    done.push_back(operations + std::max(done[static_cast<std::size_t>(step.left)],
                                         done[static_cast<std::size_t>(step.right)]));
    cost.critical = std::max(cost.critical, done.back());
  }
  return cost;
}

}  // namespace antichain::scan
