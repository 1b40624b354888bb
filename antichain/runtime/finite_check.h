// FiniteCheck: finds the first op that makes a NaN or an infinity.
#pragma once

#include "antichain/runtime/run_observer.h"

namespace antichain {

/// Throws DataError at the first float output with an element that is not finite: names the op,
/// where it was built, the element, and the inputs with their ranges. Ops that are computed
/// together are one op here; what is compiled at level 1 has each by itself.
class FiniteCheck final : public RunObserver {
 public:
  void ran(const OpEvent& event) override;
};

}  // namespace antichain
