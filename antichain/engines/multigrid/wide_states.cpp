#include "antichain/engines/multigrid/wide_states.h"

#include "antichain/ops/elementwise/elementwise.h"

namespace antichain::multigrid {

Vars widened(const Vars& values) {
  Vars wide;
  for (const Var value : values) {
    const bool is_narrow = is_float(value.dtype()) && size_of(value.dtype()) < size_of(f32);
    wide.push_back(is_narrow ? cast(value, f32) : value);
  }
  return wide;
}

Vars as_states(Op chain, const Vars& values) {
  Vars states;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const DType dtype = chain.input(static_cast<int>(i)).dtype();
    states.push_back(values[i].dtype() == dtype ? values[i] : cast(values[i], dtype));
  }
  return states;
}

}  // namespace antichain::multigrid
