// The fluent forms that antichain/graph/var.h declares.
#include "antichain/graph/var.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

Var Var::reshape(const Dims& shape, Place place) const {
  return antichain::reshape({*this, place}, shape);
}
Var Var::transpose(const Axes& permutation, Place place) const {
  return antichain::transpose({*this, place}, permutation);
}
Var Var::cast(DType dtype, Place place) const { return antichain::cast({*this, place}, dtype); }
Var Var::sum(const Axes& axes, bool keep_dims, Place place) const {
  return antichain::sum(Operand(*this, place), axes, keep_dims);
}
Var Var::sum(std::int64_t axis, Place place) const { return sum(Axes{axis}, false, place); }
Var Var::mean(const Axes& axes, bool keep_dims, Place place) const {
  return antichain::mean(Operand(*this, place), axes, keep_dims);
}
Var Var::mean(std::int64_t axis, Place place) const { return mean(Axes{axis}, false, place); }
Var Var::max(const Axes& axes, bool keep_dims, Place place) const {
  return antichain::max(Operand(*this, place), axes, keep_dims);
}
Var Var::max(std::int64_t axis, Place place) const { return max(Axes{axis}, false, place); }
Var Var::min(const Axes& axes, bool keep_dims, Place place) const {
  return antichain::min(Operand(*this, place), axes, keep_dims);
}
Var Var::min(std::int64_t axis, Place place) const { return min(Axes{axis}, false, place); }
Var Var::shape_of(Place place) const { return antichain::shape_of({*this, place}); }

}  // namespace antichain
