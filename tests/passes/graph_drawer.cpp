#include "tests/passes/graph_drawer.h"

#include <algorithm>

#include "antichain/ops/elementwise/elementwise.h"

namespace antichain {

namespace {

constexpr double kTame = 4;            // values beyond are scaled down
constexpr double kMaxElements = 2000;  // keeps a graph cheap

// What a type loses when ops that round are computed in another order or not in between.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-11;
    case DType::f32: return 1e-5;
    case DType::bf16: return 0.1;
    default: return 0;
  }
}

bool may_combine(const Dims& a, const Dims& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const Dim &left = a[a.size() - 1 - i], &right = b[b.size() - 1 - i];
    if (!(left == right) && !(left == Dim(1)) && !(right == Dim(1))) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool is_float(Var var) { return tolerance_of(var.dtype()) > 0; }

GraphDrawer::GraphDrawer(Graph& graph, std::uint32_t seed, std::vector<DimEnv> sizes)
    : graph_(graph), random_(seed), sizes_(std::move(sizes)) {}

std::optional<DrawnValue> GraphDrawer::pick(const Condition& condition) {
  std::vector<const DrawnValue*> fit;
  for (const DrawnValue& value : values_) {
    if (condition(value)) {
      fit.push_back(&value);
    }
  }
  if (fit.empty()) {
    return std::nullopt;
  }
  const std::size_t first = below(fit.size()), second = below(fit.size());
  return *fit[std::max(first, second)];
}

std::optional<DrawnValue> GraphDrawer::pick_float(int min_rank) {
  return pick([min_rank](const DrawnValue& value) {
    return is_float(value.var) && value.var.rank() >= min_rank;
  });
}

std::optional<DrawnValue> GraphDrawer::pick_partner(const DrawnValue& value) {
  return pick([&value](const DrawnValue& other) {
    return other.var.dtype() == value.var.dtype() &&
           may_combine(other.var.shape(), value.var.shape());
  });
}

void GraphDrawer::keep(Var var, double bound, const std::vector<DrawnValue>& from, bool exact) {
  if (largest(var.shape()) > kMaxElements) {
    return;
  }
  double tolerance = 0;
  for (const DrawnValue& value : from) {
    tolerance = std::max(tolerance, value.tolerance);
  }
  if (!exact || tolerance > 0) {
    tolerance = std::max(tolerance, tolerance_of(var.dtype()));
  }
  if (is_float(var) && bound > kTame) {
    var = var * (kTame / bound);
    tolerance = std::max(tolerance, tolerance_of(var.dtype()));
    bound = kTame;
  } else if (var.dtype() == i64 && bound > 100) {
    var = modulo(var, 11);
    bound = 11;
  }
  values_.push_back({var, bound, tolerance});
}

double GraphDrawer::largest(const Dims& shape) const {
  double most = 0;
  for (const DimEnv& env : sizes_) {
    double elements = 1;
    for (std::int64_t size : evaluate(shape, env)) {
      elements *= static_cast<double>(size);
    }
    most = std::max(most, elements);
  }
  return most;
}

bool GraphDrawer::has_size(Var var, int axis, std::int64_t size) const {
  return std::all_of(sizes_.begin(), sizes_.end(),
                     [&](const DimEnv& env) { return var.dim(axis).evaluate(env) >= size; });
}

GraphDrawer::Body::Body(GraphDrawer& drawer, const std::vector<DrawnValue>& params)
    : drawer_(drawer), outside_(drawer.values_) {
  std::vector<DrawnValue> inside;
  for (int i = 0; i < 3; ++i) {
    inside.push_back(outside_[drawer.below(outside_.size())]);
    inside.back().var = drawer.graph().capture(inside.back().var);
  }
  inside.insert(inside.end(), params.begin(), params.end());
  drawer_.values_ = std::move(inside);
}

void draw_op(GraphDrawer& drawer, const std::vector<DrawFamily>& families) {
  std::size_t total = 0;
  for (const DrawFamily& family : families) {
    total += family.weight;
  }
  for (;;) {
    std::size_t ticket = drawer.below(total);
    auto family = families.begin();
    while (ticket >= family->weight) {
      ticket -= family->weight;
      ++family;
    }
    if (family->draw(drawer)) {
      return;
    }
  }
}

}  // namespace antichain
