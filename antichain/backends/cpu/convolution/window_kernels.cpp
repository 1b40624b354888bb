// Kernels that write or read a window of a value: pad, set_slice and the dynamic ones.
#include <algorithm>
#include <array>
#include <cstring>

#include "antichain/backends/cpu/movement/copy_plan.h"
#include "antichain/backends/cpu/movement/movement_kernels.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::cpu {

namespace {

// Copies everything outside a window: per axis what is before and behind it, where the axes in
// front of it are inside.
std::vector<CopyPlan> plan_frame(const Layout& to, const Layout& from, const Shape& starts,
                                 const Shape& lengths, std::size_t bytes) {
  std::vector<CopyPlan> frame;
  Shape first(starts.size(), 0), size = to.shape;
  const auto add = [&] {
    if (numel(size) > 0) {
      frame.emplace_back(to.window(first, size), from.window(first, size), bytes);
    }
  };
  for (std::size_t axis = 0; axis < starts.size(); ++axis) {
    const std::int64_t end = starts[axis] + lengths[axis];
    size[axis] = starts[axis];
    add();
    first[axis] = end;
    size[axis] = to.shape[axis] - end;
    add();
    first[axis] = starts[axis];
    size[axis] = lengths[axis];
  }
  return frame;
}

KernelFunction plan_pad(const KernelContext& context) {
  const std::size_t bytes = size_of(context.out().dtype());
  const Layout out = Layout::packed(context.out().shape()), x = Layout::of(context.in(0));
  const std::vector<std::int64_t> before = context.sizes("before");
  std::array<std::byte, 8> value{};
  visit_dtype(context.out().dtype(), [&](auto zero) {
    const auto converted = convert<decltype(zero)>(context.attr<double>("value"));
    std::memcpy(value.data(), &converted, sizeof(converted));
  });
  const Layout same{out.shape, Strides(out.shape.size(), 0), 0};
  return [value, frame = plan_frame(out, same, before, x.shape, bytes),
          inside = CopyPlan(out.window(before, x.shape), x, bytes)](KernelContext& run) {
    for (const CopyPlan& side : frame) {
      side.run(run.out().raw(), value.data());
    }
    inside.run(run.out().raw(), run.in(0).raw());
  };
}

KernelFunction plan_set_slice(const KernelContext& context) {
  const std::size_t bytes = size_of(context.out().dtype());
  const Layout out = Layout::packed(context.out().shape());
  const Layout x = Layout::of(context.in(0)), update = Layout::of(context.in(1));
  const std::vector<std::int64_t> starts = context.sizes("starts");
  const Ints& steps = context.attr<Ints>("steps");
  Layout place = out;
  bool gaps = false;
  for (std::size_t axis = 0; axis < starts.size(); ++axis) {
    place = place.slice(axis, starts[axis], update.shape[axis], steps[axis]);
    gaps = gaps || (steps[axis] > 1 && update.shape[axis] > 1);
  }
  const bool whole = gaps || numel(update.shape) == 0;
  std::vector<CopyPlan> frame;
  if (whole) {
    frame.emplace_back(out, x, bytes);
  } else {
    frame = plan_frame(out, x, starts, update.shape, bytes);
  }
  return [frame = std::move(frame), inside = CopyPlan(place, update, bytes)](KernelContext& run) {
    if (run.out().raw() != run.in(0).raw()) {
      for (const CopyPlan& side : frame) {
        side.run(run.out().raw(), run.in(0).raw());
      }
    }
    if (run.out().raw() != run.in(1).raw()) {
      inside.run(run.out().raw(), run.in(1).raw());
    }
  };
}

// The bytes from the first element of a value to that of a window in it, moved so that it fits.
class ClampedStart {
 public:
  ClampedStart(const Layout& value, const Shape& window, std::size_t bytes) {
    for (std::size_t axis = 0; axis < window.size(); ++axis) {
      axes_.push_back({value.shape[axis] - window[axis],
                       value.strides[axis] * static_cast<std::int64_t>(bytes)});
    }
  }
  std::int64_t offset(const Tensor& start) const {
    const auto* entries = start.data<std::int64_t>();
    std::int64_t total = 0;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      const std::int64_t entry = entries[static_cast<std::int64_t>(axis) * start.strides()[0]];
      total += std::clamp<std::int64_t>(entry, 0, axes_[axis].largest) * axes_[axis].stride;
    }
    return total;
  }

 private:
  struct Axis {
    std::int64_t largest, stride;
  };
  std::vector<Axis> axes_;
};

KernelFunction plan_dynamic_slice(const KernelContext& context) {
  const std::size_t bytes = size_of(context.out().dtype());
  const Layout x = Layout::of(context.in(0)), out = Layout::packed(context.out().shape());
  if (numel(out.shape) == 0) {
    return [](KernelContext&) {};
  }
  const Layout window{out.shape, x.strides, 0};
  return [start = ClampedStart(x, out.shape, bytes),
          copy = CopyPlan(out, window, bytes)](KernelContext& run) {
    copy.run(run.out().raw(),
             static_cast<const std::byte*>(run.in(0).raw()) + start.offset(run.in(1)));
  };
}

KernelFunction plan_dynamic_set_slice(const KernelContext& context) {
  const std::size_t bytes = size_of(context.out().dtype());
  const Layout out = Layout::packed(context.out().shape());
  const Layout x = Layout::of(context.in(0)), update = Layout::of(context.in(1));
  const bool writes = numel(update.shape) > 0, keeps = update.shape != out.shape;
  const Layout window{update.shape, out.strides, 0};
  return
      [writes, keeps, start = ClampedStart(out, update.shape, bytes), all = CopyPlan(out, x, bytes),
       copy = CopyPlan(window, update, bytes)](KernelContext& run) {
        // Read first: the output may take the memory of the start, too.
        const std::int64_t offset = writes ? start.offset(run.in(2)) : 0;
        if (keeps && run.out().raw() != run.in(0).raw()) {
          all.run(run.out().raw(), run.in(0).raw());
        }
        if (writes && run.out().raw() != run.in(1).raw()) {
          copy.run(static_cast<std::byte*>(run.out().raw()) + offset, run.in(1).raw());
        }
      };
}

}  // namespace

void register_windows(KernelTable& kernels) {
  const auto add = [&kernels](const OpDef& def, KernelFunction (*plan)(const KernelContext&),
                              bool in_place) {
    kernels.add(def, {.name = "strided copy",
                      .supports = [](Op) { return Support{}; },
                      .plan = plan,
                      .strided_inputs = true,
                      .in_place = in_place});
  };
  add(pad_def(), plan_pad, false);
  add(dynamic_slice_def(), plan_dynamic_slice, false);
  add(set_slice_def(), plan_set_slice, true);
  add(dynamic_set_slice_def(), plan_dynamic_set_slice, true);
}

}  // namespace antichain::cpu
