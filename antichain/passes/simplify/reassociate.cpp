#include "antichain/passes/simplify/reassociate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

namespace {

constexpr std::size_t kMaxTerms = 16;  // longer sums stay as they are, so that time stays linear

// A sum of multiples, or a product: what a tree of ops computes, without its order.
struct Flat {
  struct Part {
    Var value;
    double factor = 1;  // of a product: always 1
  };
  std::vector<Part> parts;
  double constant = 0;  // of a product: 1 at first
  std::set<std::uint32_t> ops;
  double work = 0;      // of those ops
  bool merged = false;  // a value was there more than once

  void add(Var value, double factor) {
    for (Part& part : parts) {
      if (part.value == value) {
        part.factor += factor;
        merged = true;
        return;
      }
    }
    parts.push_back({value, factor});
  }
};

// Orders values by size as far as that is known: numbers, then vectors, then the rest.
double size_rank(Var value) {
  double rank = 0;
  for (Dim dim : value.shape()) {
    rank += dim.is_constant() ? std::log2(1.0 + static_cast<double>(dim.constant())) : 10;
  }
  return rank;
}

// What an op costs relative to others: an op on more elements counts more.
double work_of(Var result) { return 1 + size_rank(result); }

std::optional<double> number(Var value) {
  if (!made_by(value, constant_def()) || value.rank() != 0) {
    return std::nullopt;
  }
  return value.producer().attrs().get<Tensor>("value").item<double>();
}

bool named(Var value, std::string_view op) {
  return !value.graph().is_region_param(value) && value.producer().def().name == op;
}

void flatten_sum(Var value, double factor, Flat& flat) {
  if (const auto known = number(value)) {
    flat.constant += factor * *known;
    return;
  }
  const bool is_op = !value.graph().is_region_param(value);
  const Op op = is_op ? value.producer() : Op();
  const auto enter = [&] {
    if (flat.ops.insert(op.id().value).second) {
      flat.work += work_of(value);
    }
  };
  if (flat.ops.size() < kMaxTerms && (named(value, "add") || named(value, "subtract"))) {
    enter();
    flatten_sum(op.input(0), factor, flat);
    flatten_sum(op.input(1), named(value, "add") ? factor : -factor, flat);
  } else if (flat.ops.size() < kMaxTerms && named(value, "negate")) {
    enter();
    flatten_sum(op.input(0), -factor, flat);
  } else if (flat.ops.size() < kMaxTerms && named(value, "multiply") &&
             (number(op.input(0)) || number(op.input(1)))) {
    enter();
    const int side = number(op.input(0)) ? 0 : 1;
    flatten_sum(op.input(1 - side), factor * *number(op.input(side)), flat);
  } else {
    flat.add(value, factor);
  }
}

void flatten_product(Var value, Flat& flat) {
  if (const auto known = number(value)) {
    flat.constant *= *known;
  } else if (flat.ops.size() < kMaxTerms && named(value, "multiply")) {
    const Op op = value.producer();
    if (flat.ops.insert(op.id().value).second) {
      flat.work += work_of(value);
    }
    flatten_product(op.input(0), flat);
    flatten_product(op.input(1), flat);
  } else {
    flat.parts.push_back({value, 1});
  }
}

// Builds values with the small ones first, and counts the work of doing so.
class Builder {
 public:
  explicit Builder(Var like) : graph_(like.graph()), dtype_(like.dtype()) {}

  Var number(double value) { return scalar(graph_, dtype_, value); }
  Var counted(Var result) {
    work_ += work_of(result);
    return result;
  }
  double work() const { return work_; }

 private:
  Graph& graph_;
  DType dtype_;
  double work_ = 0;
};

std::vector<Flat::Part> small_first(std::vector<Flat::Part> parts) {
  std::erase_if(parts, [](const Flat::Part& part) { return part.factor == 0; });
  std::ranges::stable_sort(parts, [](const Flat::Part& a, const Flat::Part& b) {
    return size_rank(a.value) < size_rank(b.value);
  });
  return parts;
}

Var build_sum(const Flat& flat, Builder& builder) {
  Var total;
  bool pending = flat.constant != 0;  // the constant, until there is something to add it to
  for (const Flat::Part& part : small_first(flat.parts)) {
    const double size = std::abs(part.factor);
    const Var term = size == 1 ? part.value : builder.counted(part.value * builder.number(size));
    if (!total.valid()) {
      total = part.factor < 0 ? builder.counted(-term) : term;
    } else {
      total = builder.counted(part.factor < 0 ? total - term : total + term);
    }
    if (pending) {
      total = builder.counted(flat.constant < 0 ? total - builder.number(-flat.constant)
                                                : total + builder.number(flat.constant));
      pending = false;
    }
  }
  return total.valid() ? total : builder.number(flat.constant);
}

Var build_product(const Flat& flat, Builder& builder) {
  Var total = flat.constant == 1 ? Var() : builder.number(flat.constant);
  for (const Flat::Part& part : small_first(flat.parts)) {
    total = total.valid() ? builder.counted(total * part.value) : part.value;
  }
  return total.valid() ? total : builder.number(1);
}

// Whether every number is an integer that double holds without rounding.
bool is_small(const Flat& flat) {
  constexpr double kLimit = 0x1p31;
  return std::abs(flat.constant) < kLimit &&
         std::ranges::all_of(flat.parts,
                             [](const Flat::Part& part) { return std::abs(part.factor) < kLimit; });
}

bool is_exact(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

bool has_free_order(Op op, bool floats) {
  if (op.num_outputs() != 1) {
    return false;
  }
  const Var result = op.output();
  return (is_exact(result.dtype()) || (floats && is_float(result.dtype()))) &&
         (named(result, "add") || named(result, "subtract") || named(result, "multiply"));
}

std::vector<Var> reorder(Op op, bool floats) {
  if (!has_free_order(op, floats)) {
    return op.outputs();
  }
  const Var result = op.output();
  const bool exact = is_exact(result.dtype());
  Flat flat;
  Builder builder(result);
  Var better;
  if (!named(result, "multiply")) {
    flatten_sum(result, 1, flat);
    better = build_sum(flat, builder);
  } else {
    flat.constant = 1;
    flatten_product(result, flat);
    better = build_product(flat, builder);
  }
  if (exact && !is_small(flat)) {
    return op.outputs();
  }
  // Of two forms that cost the same, the one in which a value stands once is the usual one. All
  // terms may have gone, and with them the shape.
  const bool gain = better.valid() && better.shape() == result.shape() &&
                    (builder.work() < flat.work || (flat.merged && builder.work() == flat.work));
  return gain ? std::vector<Var>{better} : op.outputs();
}

}  // namespace

GraphCopy reassociate(const GraphCopy& source, const ReassociateOptions& options) {
  return copy_graph(
      source, replacing_ops([floats = options.floats](Op op) { return reorder(op, floats); }));
}

bool has_free_order(Graph& graph, const ReassociateOptions& options) {
  return has_op(graph, [&](Op op) { return has_free_order(op, options.floats); });
}

}  // namespace antichain
