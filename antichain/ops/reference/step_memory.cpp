#include "antichain/ops/reference/step_memory.h"

#include <algorithm>
#include <numeric>

namespace antichain {

void select_step(Tensor& view, const Tensor& stacked, std::int64_t position) {
  const auto inner = std::span(stacked.shape()).subspan(1);
  const bool had_it = view.numel() > 0 && view.dtype() == stacked.dtype() &&
                      std::ranges::equal(view.shape(), inner);
  if (!had_it) {
    view = stacked.select(0, position);
  } else {
    view.rebase(stacked.buffer(), stacked.offset() + position * stacked.strides()[0]);
  }
}

void StepNumber::set(std::int64_t step, std::int64_t length, const TensorMemory& device) {
  if (device.device() == Device{}) {
    if (!now_.defined()) {
      now_ = Tensor::scalar<std::int64_t>(0);
    }
    *now_.data<std::int64_t>() = step;
    return;
  }
  if (!all_.defined() || all_.numel() != length) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(length));
    std::iota(numbers.begin(), numbers.end(), 0);
    all_ = device.to_device(Tensor::of<std::int64_t>({length}, numbers));
  }
  select_step(now_, all_, step);
}

void Pieces::place(Tensor& view, const Tensor& value) {
  const auto byte = static_cast<std::size_t>(workspace_.offset()) + used_;
  const auto offset = static_cast<std::int64_t>(byte / size_of(value.dtype()));
  used_ += bytes_for(value);
  // A view that never was one has the shape of a number, too, but no element.
  const bool had_it =
      view.numel() > 0 && view.dtype() == value.dtype() && view.shape() == value.shape();
  if (had_it) {
    view.rebase(workspace_.buffer(), offset);
  } else {
    view = Tensor(value.dtype(), value.shape(), contiguous_strides(value.shape()), offset,
                  workspace_.buffer());
  }
}

void drop_memory(std::vector<Tensor>& views) {
  for (Tensor& view : views) {
    view.drop_memory();
  }
}

}  // namespace antichain
