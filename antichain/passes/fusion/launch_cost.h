// What starting a kernel costs beside its work, for passes that let several ops share one.
#pragma once

#include <cstdint>

#include "antichain/graph/var.h"

namespace antichain {

/// Returns whether a GPU computes a value, element by element, in less time than it takes to start
/// a kernel.
inline bool is_shorter_than_a_launch(Var value) {
  constexpr std::int64_t kMostElements = 1 << 20;
  const Dim elements = numel(value.shape());
  return elements.is_constant() && elements.constant() <= kMostElements;
}

}  // namespace antichain
