// The view behind every op that cuts or pastes: a range of every axis.
#pragma once

#include "antichain/tensor/tensor.h"

namespace antichain {

/// Returns a view of lengths[i] positions of axis i from starts[i], every steps[i]-th (empty: every
/// one).
inline Tensor window(const Tensor& tensor, const std::vector<std::int64_t>& starts,
                     const Shape& lengths, const std::vector<std::int64_t>& steps = {}) {
  Tensor view = tensor;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    // An empty range may start behind the end of its axis.
    const std::int64_t start = lengths[i] == 0 ? 0 : starts[i];
    view = view.slice(static_cast<int>(i), start, lengths[i], steps.empty() ? 1 : steps[i]);
  }
  return view;
}

}  // namespace antichain
