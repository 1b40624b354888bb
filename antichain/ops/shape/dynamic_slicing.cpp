// dynamic_slice and dynamic_set_slice: windows of a fixed size whose place is computed in the
// graph.
#include <algorithm>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/indexing/indexing_vmap.h"
#include "antichain/ops/reference/window.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/require_size.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain {

namespace {

// Checks that input `start` places a window of `sizes` in input 0.
void require_window(InferContext& context, int start, const Dims& sizes) {
  const Dims& shape = context.shape(0);
  require<ShapeError>(sizes.size() == shape.size(),
                      "{}: a window {} and a value {} have different ranks", context.op_name(),
                      to_string(sizes), to_string(shape));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    require_size(context, sizes[i], "the size of a window");
    require<ShapeError>((shape[i] - sizes[i]).range().max >= 0,
                        "{}: a window of size {} does not fit axis {} of size {}",
                        context.op_name(), sizes[i].str(), i, shape[i].str());
    context.unify(min(sizes[i], shape[i]), sizes[i],
                  "the size of a window and what its axis holds");
  }
  context.require_dtype(start, {DType::i64});
  context.require_rank(start, 1);
  context.unify(context.shape(start)[0], context.rank(0), "the start and the number of axes");
}

std::vector<VarType> infer_dynamic_slice(InferContext& context) {
  context.require_inputs(2);
  const Dims& sizes = context.attrs().get<Dims>("sizes");
  require_window(context, 1, sizes);
  return {{context.dtype(0), sizes}};
}

std::vector<VarType> infer_dynamic_set_slice(InferContext& context) {
  context.require_inputs(3);
  require<TypeError>(context.dtype(0) == context.dtype(1),
                     "{}: the value is {} and the update {}; cast one of them", context.op_name(),
                     name(context.dtype(0)), name(context.dtype(1)));
  require_window(context, 2, context.shape(1));
  return {{context.dtype(0), context.shape(0)}};
}

std::vector<Var> dynamic_slice_vjp(VjpContext& context) {
  const Var x = context.input(0), start = context.input(1);
  return {dynamic_set_slice(zeros_like(x), context.grad(), start), Var{}};
}

std::vector<Var> dynamic_set_slice_vjp(VjpContext& context) {
  const Var grad = context.grad(), update = context.input(1), start = context.input(2);
  Var grad_x, grad_update;
  if (context.needs(0)) {
    grad_x = dynamic_set_slice(grad, zeros_like(update), start);
  }
  if (context.needs(1)) {
    grad_update = dynamic_slice(grad, start, update.shape());
  }
  return {grad_x, grad_update, Var{}};
}

Tensor clamped_window(const Tensor& tensor, const Tensor& start, const Shape& sizes) {
  std::vector<std::int64_t> starts = start.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < starts.size(); ++i) {
    starts[i] = std::clamp<std::int64_t>(starts[i], 0, tensor.shape()[i] - sizes[i]);
  }
  return window(tensor, starts, sizes);
}

void dynamic_slice_reference(KernelContext& context) {
  const Tensor& out = context.out();
  out.copy_from(clamped_window(context.in(0), context.in(1), out.shape()));
}

void dynamic_set_slice_reference(KernelContext& context) {
  const Tensor &out = context.out(), &update = context.in(1);
  out.copy_from(context.in(0));
  clamped_window(out, context.in(2), update.shape()).copy_from(update);
}

struct WindowSample {
  std::string label;
  Shape shape, sizes;
  std::vector<std::int64_t> start;
};

std::vector<WindowSample> window_samples() {
  return {
      {"inside", {7, 3}, {2, 2}, {3, 1}},
      {"clamped below", {5}, {3}, {-4}},
      {"clamped above", {5, 3}, {3, 1}, {100, 2}},
      {"whole", {3, 2}, {3, 2}, {0, 0}},
      {"one element", {1}, {1}, {0}},
      {"empty window", {3, 2}, {0, 2}, {1, 0}},
      {"empty value", {0}, {0}, {0}},
      {"rank 0", {}, {}, {}},
  };
}

SampleInput start_of(const WindowSample& sample) {
  return {.shape = {static_cast<std::int64_t>(sample.start.size())},
          .dtype = DType::i64,
          .values = sample.start};
}

std::vector<Sample> dynamic_slice_samples() {
  std::vector<Sample> samples;
  for (const WindowSample& sample : window_samples()) {
    samples.push_back({sample.label,
                       {SampleInput{sample.shape}, start_of(sample)},
                       [sizes = to_dims(sample.sizes)](Graph&, std::span<const Var> in) {
                         return std::vector<Var>{dynamic_slice(in[0], in[1], sizes)};
                       }});
  }
  return samples;
}

std::vector<Sample> dynamic_set_slice_samples() {
  std::vector<Sample> samples;
  for (const WindowSample& sample : window_samples()) {
    samples.push_back({sample.label,
                       {SampleInput{sample.shape}, SampleInput{sample.sizes}, start_of(sample)},
                       [](Graph&, std::span<const Var> in) {
                         return std::vector<Var>{dynamic_set_slice(in[0], in[1], in[2])};
                       }});
  }
  return samples;
}

}  // namespace

const OpDef& dynamic_slice_def() {
  static const OpDef def{
      .name = "dynamic_slice",
      .doc =
          "Keeps a window of the first input that begins at the second, clamped so that it fits.",
      .attributes = {{"sizes", "size of the window along each axis"}},
      .dtypes = kAnyDType,
      .infer = infer_dynamic_slice,
      .vjp = dynamic_slice_vjp,
      .vmap = vmap_dynamic_slice,
      .reference = dynamic_slice_reference,
      .samples = dynamic_slice_samples,
  };
  return def;
}

const OpDef& dynamic_set_slice_def() {
  static const OpDef def{
      .name = "dynamic_set_slice",
      .doc = "Writes the second input over the first at the third, clamped so that it fits.",
      .dtypes = kAnyDType,
      .infer = infer_dynamic_set_slice,
      .vjp = dynamic_set_slice_vjp,
      .vmap = vmap_dynamic_set_slice,
      .reference = dynamic_set_slice_reference,
      .samples = dynamic_set_slice_samples,
  };
  return def;
}

Var dynamic_slice(const Operand& x, Var start, const Dims& sizes) {
  return apply(dynamic_slice_def(), {x, start}, {{"sizes", sizes}});
}

Var dynamic_set_slice(const Operand& x, const Operand& update, Var start) {
  return apply(dynamic_set_slice_def(), {x, update, start});
}

}  // namespace antichain
