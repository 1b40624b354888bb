#include "antichain/backends/cuda/movement_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/element_code.h"
#include "antichain/backends/cuda/strided_copy.h"
#include "antichain/ops/moves.h"
#include "antichain/ops/shape_ops.h"
#include "antichain/ops/slicing.h"

namespace antichain::cuda {

namespace {

struct PlannedMove {
  int output, input;
  StridedCopy copy;
};

KernelFunction plan_moves(const KernelContext& context, const Context& device) {
  const std::size_t bytes = size_of(context.in(0).dtype());
  const auto moves = std::make_shared<std::vector<PlannedMove>>();
  for (const Move& move : moves_of(context)) {
    moves->push_back({move.output, move.input, StridedCopy(device, move.to, move.from, bytes)});
  }
  return [moves](KernelContext& run) {
    for (PlannedMove& move : *moves) {
      move.copy.run(run.out(move.output).raw(), run.in(move.input).raw());
    }
  };
}

// One element to all of the output, and the input into a window of it.
KernelFunction plan_pad(const KernelContext& context, const Context& device) {
  const Tensor &x = context.in(0), &out = context.out();
  const std::size_t bytes = size_of(out.dtype());
  const Layout all = Layout::packed(out.shape());
  const Layout number{out.shape(), Strides(out.shape().size(), 0), 0};
  const auto fill = std::make_shared<StridedCopy>(device, all, number, bytes);
  const auto copy = std::make_shared<StridedCopy>(
      device, all.window(context.sizes("before"), x.shape()), Layout::of(x), bytes);
  const Tensor value = Tensor::full(out.dtype(), {}, context.attr<double>("value"));
  const std::shared_ptr<Buffer> padding = DeviceContext::allocate(device, bytes);
  device->copy(padding->data(), value.raw(), bytes, cudaMemcpyHostToDevice);
  return [fill, copy, padding](KernelContext& run) {
    fill->run(run.out().raw(), padding->data());
    copy->run(run.out().raw(), run.in(0).raw());
  };
}

KernelFunction plan_set_slice(const KernelContext& context, const Context& device) {
  const Tensor &x = context.in(0), &update = context.in(1), &out = context.out();
  const std::size_t bytes = size_of(out.dtype());
  Layout window = Layout::packed(out.shape());
  const std::vector<std::int64_t> starts = context.sizes("starts");
  for (std::size_t axis = 0; axis < starts.size(); ++axis) {
    window =
        window.slice(axis, starts[axis], update.shape()[axis], context.attr<Ints>("steps")[axis]);
  }
  const auto whole =
      std::make_shared<StridedCopy>(device, Layout::packed(out.shape()), Layout::of(x), bytes);
  const auto part = std::make_shared<StridedCopy>(device, window, Layout::of(update), bytes);
  return [whole, part](KernelContext& run) {
    whole->run(run.out().raw(), run.in(0).raw());
    part->run(run.out().raw(), run.in(1).raw());
  };
}

// Copies to or from a window whose start lies on the GPU: it is moved to where it fits.
KernelFunction plan_dynamic(const KernelContext& context, const Context& device, bool sets) {
  const Shape& all = sets ? context.out().shape() : context.in(0).shape();
  const Shape& window = sets ? context.in(1).shape() : context.out().shape();
  const int start_input = sets ? 2 : 1;
  const Strides strides = contiguous_strides(all);
  std::vector<std::int64_t> slots = {numel(window)};
  for (std::size_t axis = 0; axis < all.size(); ++axis) {
    slots.insert(slots.end(), {window[axis], all[axis] - window[axis], strides[axis]});
  }
  const std::string text = dynamic_window_text(all.size(), size_of(context.out().dtype()),
                                               context.in(start_input).dtype(), sets);
  slots.resize(std::max<std::size_t>(slots.size(), 4));
  const std::size_t first = slots.size();
  slots.resize(first + 3);
  const std::int64_t count = numel(window);
  const auto launch =
      std::make_shared<Launch>(device, text, "dynamic_window", count, std::move(slots));
  return [launch, device, first, sets, start_input](KernelContext& run) {
    if (sets) {
      device->copy(run.out().raw(), run.in(0).raw(), run.out().bytes(), cudaMemcpyDeviceToDevice);
    }
    launch->set(first, run.out().raw());
    launch->set(first + 1, run.in(sets ? 1 : 0).raw());
    launch->set(first + 2, run.in(start_input).raw());
    launch->run();
  };
}

}  // namespace

std::string dynamic_window_text(std::size_t rank, std::size_t element_bytes, DType start,
                                bool sets) {
  std::string place = "0", positions = "    long long rest = i;\n";
  for (std::size_t axis = 0; axis < rank; ++axis) {
    place +=
        fmt::format(" + (p{0} + clamped(a.starts[{0}], a.axes[{0}][1])) * a.axes[{0}][2]", axis);
  }
  for (std::size_t axis = rank; axis-- > 0;) {
    positions += fmt::format("    const long long p{0} = rest % a.axes[{0}][0];\n", axis);
    positions += fmt::format("    rest /= a.axes[{}][0];\n", axis);
  }
  return fmt::format(
      R"(struct Arguments {{
  long long count, axes[{0}][3];
  {1}* to;
  const {1}* from;
  const {2}* starts;
}};
inline __device__ long long clamped(long long start, long long last) {{
  return start < 0 ? 0 : start > last ? last : start;
}}
extern "C" __global__ void dynamic_window(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step) {{
{3}    const long long place = {4};
    a.to[{5}] = a.from[{6}];
  }}
}}
)",
      std::max<std::size_t>(rank, 1), word_type(element_bytes), storage_type(start), positions,
      place, sets ? "place" : "i", sets ? "i" : "place");
}

void register_movement(KernelTable& kernels, const Context& context) {
  const auto add = [&kernels](const OpDef& def, auto plan, bool strided) {
    kernels.add(def, {.name = "strided copy",
                      .supports = [](Op) { return Support{}; },
                      .plan = plan,
                      .strided_inputs = strided});
  };
  for (const OpDef* def : moving_ops()) {
    add(
        *def, [context](const KernelContext& seen) { return plan_moves(seen, context); }, true);
  }
  add(
      pad_def(), [context](const KernelContext& seen) { return plan_pad(seen, context); }, true);
  add(
      set_slice_def(),
      [context](const KernelContext& seen) { return plan_set_slice(seen, context); }, true);
  add(
      dynamic_slice_def(),
      [context](const KernelContext& seen) { return plan_dynamic(seen, context, false); }, false);
  add(
      dynamic_set_slice_def(),
      [context](const KernelContext& seen) { return plan_dynamic(seen, context, true); }, false);
}

}  // namespace antichain::cuda
