#include "antichain/ops/scans/affine_scan.h"

#include <algorithm>
#include <array>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/scans/weighted_scan.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

void require_algorithm(const InferContext& context) {
  static constexpr std::array kNames = {kScanSerial, kScanBlelloch, kScanHybrid, kScanChunked};
  const auto& algorithm = context.attrs().get<std::string>("algorithm");
  const auto chunk = context.attrs().get<std::int64_t>("chunk");
  require(algorithm.empty() || std::ranges::find(kNames, algorithm) != kNames.end(),
          "affine_scan: there is no algorithm '{}'; there are serial, blelloch, hybrid and chunked",
          algorithm);
  require(chunk >= 0, "affine_scan: a chunk must have a step or more, got {}", chunk);
  require(chunk == 0 || algorithm == kScanHybrid || algorithm == kScanChunked,
          "affine_scan: only the algorithms hybrid and chunked have a chunk");
  require(algorithm != kScanHybrid || (chunk & (chunk - 1)) == 0,
          "affine_scan: the chunk of algorithm hybrid must be a power of two, got {}", chunk);
}

std::vector<VarType> infer_affine_scan(InferContext& context) {
  context.require_inputs(3);
  context.require_dtype(0, kFloats);
  const DType dtype = context.require_same_dtype();
  context.require_min_rank(1, 1);
  const Dims &a = context.shape(0), &b = context.shape(1);
  context.require_rank(2, context.rank(1) - 1);
  context.unify(Dims(b.begin() + 1, b.end()), context.shape(2),
                "shapes of a step of b and of initial");
  if (a.size() == b.size()) {
    context.unify(a, b, "shapes of a and b");
    require(!context.attrs().get<bool>("transposed"),
            "affine_scan: a of shape {} holds diagonals, which cannot be transposed", to_string(a));
  } else {
    context.require_min_rank(1, 2);
    context.require_rank(0, context.rank(1) + 1);
    context.unify(Dims(a.begin(), a.end() - 1), b, "shapes of the rows of a and of b");
    context.unify(a[a.size() - 2], a.back(), "rows and columns of a matrix");
  }
  require_algorithm(context);
  return {{dtype, b}, {dtype, context.shape(2)}};
}

// A state gets its gradient g[t] from its place among the states, and what the step after it has
// makes the rest: m[t] = a[t]ᵀ m[t + 1] + g[t], where m[T] is the gradient of the last state. That
// is a scan in the other direction, whose states before each step are the gradients of b, and whose
// last state is that of the initial value.
std::vector<Var> affine_scan_vjp(VjpContext& context) {
  const Attrs& attrs = context.attrs();
  const bool dense = has_matrices(context.op()), transposed = attrs.get<bool>("transposed");
  const AffineScan back = affine_scan(context.input(0), context.grad(0), context.grad(1),
                                      {.reverse = !attrs.get<bool>("reverse"),
                                       .transposed = dense && !transposed,
                                       .algorithm = attrs.get<std::string>("algorithm"),
                                       .chunk = attrs.get<std::int64_t>("chunk")});
  Var grad_a;
  if (context.needs(0)) {
    const Var state = context.output(0);
    const Var left = transposed ? state : back.before, right = transposed ? back.before : state;
    grad_a = dense ? expand_dims(left, -1) * expand_dims(right, -2) : left * right;
  }
  return {grad_a, back.before, back.last};
}

// Copies are more places, which have the axis behind the steps.
std::optional<std::vector<Var>> vmap_affine_scan(VmapContext& context) {
  const Var a = move_axis(context.repeated(0), 0, 1), b = move_axis(context.repeated(1), 0, 1);
  const Vars found = context.same_op({a, b, context.repeated(2)}, context.attrs());
  return Vars{move_axis(found[0], 1, 0), found[1]};
}

// Step by step, for backends without a kernel: a chain that they may compute as one.
std::vector<Var> decompose_affine_scan(Op op) {
  const bool dense = has_matrices(op), transposed = op.attrs().get<bool>("transposed");
  const auto step = [&](Var, const Vars& s, const Vars& x) -> StepResult {
    const Var moved =
        dense ? squeeze(matmul(x[0], expand_dims(s[0], -1), {.transpose_a = transposed}), -1)
              : x[0] * s[0];
    return {{moved + x[1]}};
  };
  const ChainResult found = chain({op.input(2)}, {op.input(0), op.input(1)}, step,
                                  {.reverse = op.attrs().get<bool>("reverse")}, op.location());
  return {found.before[0], found.last[0]};
}

// s := op(matrix) s + b
void dense_step(const double* matrix, const double* b, bool transposed, std::vector<double>& s) {
  const std::size_t n = s.size();
  std::vector<double> next(b, b + n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      next[i] += matrix[transposed ? j * n + i : i * n + j] * s[j];
    }
  }
  s = next;
}

void affine_scan_reference(KernelContext& context) {
  const std::vector<double> a = load<double>(context.in(0)), b = load<double>(context.in(1)),
                            initial = load<double>(context.in(2));
  const bool dense = context.in(0).rank() > context.in(1).rank(),
             transposed = context.attr<bool>("transposed"), reverse = context.attr<bool>("reverse");
  const Shape& shape = context.out().shape();
  const std::int64_t steps = shape[0], size = dense ? shape.back() : 1;
  const auto width = static_cast<std::int64_t>(initial.size());
  std::vector<double> before(b.size()), last(initial.size()), state(static_cast<std::size_t>(size));
  for (std::int64_t first = 0; first < width; first += size) {
    std::copy_n(initial.begin() + first, size, state.begin());
    for (std::int64_t n = 0; n < steps; ++n) {
      const std::int64_t at = (reverse ? steps - 1 - n : n) * width + first;
      std::ranges::copy(state, before.begin() + at);
      dense_step(a.data() + at * size, b.data() + at, transposed, state);
    }
    std::ranges::copy(state, last.begin() + first);
  }
  store(before, context.out(0));
  store(last, context.out(1));
}

std::vector<Sample> affine_scan_samples() {
  const auto with = [](const AffineScanOptions& options) {
    return [options](Graph&, Inputs in) -> Vars {
      const AffineScan found = affine_scan(in[0], in[1], in[2], options);
      return {found.before, found.last};
    };
  };
  const auto diagonal = [](std::int64_t steps) -> std::vector<SampleInput> {
    return {{{steps, 3}, -1, 1}, {{steps, 3}, -1, 1}, {{3}, -1, 1}};
  };
  const auto dense = [](std::int64_t steps) -> std::vector<SampleInput> {
    return {{{steps, 2, 3, 3}, -1, 1}, {{steps, 2, 3}, -1, 1}, {{2, 3}, -1, 1}};
  };
  return {
      {"diagonal", diagonal(5), with({})},
      {"diagonal, reverse", diagonal(5), with({.reverse = true})},
      {"one number", {{{4}, -1, 1}, {{4}, -1, 1}, {{}, -1, 1}}, with({})},
      {"dense", dense(4), with({})},
      {"dense, reverse", dense(3), with({.reverse = true})},
      {"transposed", dense(3), with({.transposed = true})},
      {"transposed, reverse", dense(4), with({.reverse = true, .transposed = true})},
      {"one step", dense(1), with({})},
      {"no step", diagonal(0), with({})},
      {"no step of matrices", dense(0), with({.reverse = true})},
      {"serial", dense(5), with({.algorithm = kScanSerial})},
      {"tree", dense(5), with({.algorithm = kScanBlelloch})},
      {"tree, reverse", diagonal(7), with({.reverse = true, .algorithm = kScanBlelloch})},
      {"trees of blocks", dense(5), with({.algorithm = kScanHybrid, .chunk = 2})},
      {"chunks", dense(5), with({.reverse = true, .algorithm = kScanChunked, .chunk = 2})},
      {"chunks of diagonals", diagonal(7), with({.algorithm = kScanChunked, .chunk = 3})},
  };
}

}  // namespace

bool has_matrices(Op affine_scan) {
  return affine_scan.input(0).rank() > affine_scan.input(1).rank();
}

const OpDef& affine_scan_def() {
  static const OpDef def{
      .name = "affine_scan",
      .doc =
          "The states of s := a[t] s + b[t] before each step, and the last; a holds matrices or "
          "diagonals.",
      .attributes = {{"reverse", "from the last step to the first", {false}},
                     {"transposed", "use the matrices transposed", {false}},
                     {"algorithm",
                      "serial, blelloch, hybrid or chunked; empty: chosen by sizes",
                      {std::string()}},
                     {"chunk",
                      "steps that belong together; 0: chosen by sizes",
                      {std::int64_t{0}}}},
      .infer = infer_affine_scan,
      .vjp = affine_scan_vjp,
      .vmap = vmap_affine_scan,
      .decompose = decompose_affine_scan,
      .reference = affine_scan_reference,
      .samples = affine_scan_samples,
  };
  return def;
}

AffineScan affine_scan(const Operand& a, const Operand& b, const Operand& initial,
                       const AffineScanOptions& options) {
  const std::vector<Var> found = apply_all(affine_scan_def(), {a, b, initial},
                                           {{"reverse", options.reverse},
                                            {"transposed", options.transposed},
                                            {"algorithm", options.algorithm},
                                            {"chunk", options.chunk}});
  return {found[0], found[1]};
}

std::vector<const OpDef*> scan_family() { return {&affine_scan_def(), &weighted_scan_def()}; }

}  // namespace antichain
