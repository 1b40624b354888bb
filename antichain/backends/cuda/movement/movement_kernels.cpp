#include "antichain/backends/cuda/movement/movement_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/convolution/border_windows.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/movement/strided_copy.h"
#include "antichain/ops/shape/moves.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::cuda {

namespace {

// Which output and input of an op a part is copied between; kFilling: what is no input.
struct PartOf {
  int output, input;
};
constexpr int kFilling = -1;

// Copies of an op, enqueued together.
class OpCopies {
 public:
  OpCopies(const Context& device, std::vector<CopyPart> parts, std::vector<PartOf> parts_of,
           std::shared_ptr<Buffer> filling = nullptr)
      : copies_(device, std::move(parts)),
        parts_of_(std::move(parts_of)),
        filling_(std::move(filling)) {}

  void run(KernelContext& run) {
    std::vector<CopyEnds> ends;
    ends.reserve(parts_of_.size());
    for (const PartOf& part : parts_of_) {
      ends.push_back({run.out(part.output).raw(),
                      part.input == kFilling ? filling_->data() : run.in(part.input).raw()});
    }
    copies_.run(ends);
  }

 private:
  StridedCopies copies_;
  std::vector<PartOf> parts_of_;
  std::shared_ptr<Buffer> filling_;
};

KernelFunction run_all(std::vector<OpCopies> copies) {
  const auto shared = std::make_shared<std::vector<OpCopies>>(std::move(copies));
  return [shared](KernelContext& run) {
    for (OpCopies& each : *shared) {
      each.run(run);
    }
  };
}

KernelFunction plan_moves(const KernelContext& context, const Context& device) {
  const std::size_t bytes = size_of(context.in(0).dtype());
  std::vector<CopyPart> parts;
  std::vector<PartOf> parts_of;
  for (const Move& move : moves_of(context)) {
    parts.emplace_back(move.to, move.from, bytes);
    parts_of.push_back({move.output, move.input});
  }
  return run_all({OpCopies(device, std::move(parts), std::move(parts_of))});
}

// The input into a window of the output, and one number around it.
KernelFunction plan_pad(const KernelContext& context, const Context& device) {
  const Tensor &x = context.in(0), &out = context.out();
  const std::size_t bytes = size_of(out.dtype());
  const Layout all = Layout::packed(out.shape());
  const Window inside{context.sizes("before"), x.shape()};
  std::vector<CopyPart> parts = {
      CopyPart(all.window(inside.starts, inside.lengths), Layout::of(x), bytes)};
  for (const Window& border : border_windows(out.shape(), inside)) {
    parts.push_back(CopyPart::fill(all.window(border.starts, border.lengths), bytes));
  }
  std::vector<PartOf> parts_of(parts.size(), {0, kFilling});
  parts_of[0].input = 0;
  const Tensor numbers = Tensor::full(out.dtype(), {kWidestUnit / static_cast<std::int64_t>(bytes)},
                                      context.attr<double>("value"));
  const std::shared_ptr<Buffer> filling = DeviceContext::allocate(device, kWidestUnit);
  device->copy(filling->data(), numbers.raw(), kWidestUnit, cudaMemcpyHostToDevice);
  return run_all({OpCopies(device, std::move(parts), std::move(parts_of), filling)});
}

// The update into a window of the output, and what was there before around it.
KernelFunction plan_set_slice(const KernelContext& context, const Context& device) {
  const Tensor &x = context.in(0), &update = context.in(1), &out = context.out();
  const std::size_t bytes = size_of(out.dtype());
  const Layout all = Layout::packed(out.shape()), before = Layout::of(x);
  const Window inside{context.sizes("starts"), update.shape()};
  Layout window = all;
  bool has_gaps = false;
  for (std::size_t axis = 0; axis < inside.starts.size(); ++axis) {
    const std::int64_t step = context.attr<Ints>("steps")[axis];
    window = window.slice(axis, inside.starts[axis], inside.lengths[axis], step);
    has_gaps = has_gaps || (step != 1 && inside.lengths[axis] > 1);
  }
  const CopyPart updated(window, Layout::of(update), bytes);
  if (has_gaps) {
    return run_all({OpCopies(device, {CopyPart(all, before, bytes)}, {{0, 0}}),
                    OpCopies(device, {updated}, {{0, 1}})});
  }
  std::vector<CopyPart> parts = {updated};
  for (const Window& border : border_windows(out.shape(), inside)) {
    parts.emplace_back(all.window(border.starts, border.lengths),
                       before.window(border.starts, border.lengths), bytes);
  }
  std::vector<PartOf> parts_of(parts.size(), {0, 0});
  parts_of[0].input = 1;
  return run_all({OpCopies(device, std::move(parts), std::move(parts_of))});
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
