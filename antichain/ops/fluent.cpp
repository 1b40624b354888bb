// The fluent forms that antichain/graph/var.h declares.
#include "antichain/graph/var.h"
#include "antichain/ops/creation.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/reduce.h"
#include "antichain/ops/shape_ops.h"

namespace antichain {

Var Var::reshape(const Dims& shape) const { return antichain::reshape(*this, shape); }
Var Var::transpose(const Axes& permutation) const {
  return antichain::transpose(*this, permutation);
}
Var Var::cast(DType dtype) const { return antichain::cast(*this, dtype); }
Var Var::sum(const Axes& axes, bool keep_dims) const {
  return antichain::sum(*this, axes, keep_dims);
}
Var Var::mean(const Axes& axes, bool keep_dims) const {
  return antichain::mean(*this, axes, keep_dims);
}
Var Var::max(const Axes& axes, bool keep_dims) const {
  return antichain::max(*this, axes, keep_dims);
}
Var Var::min(const Axes& axes, bool keep_dims) const {
  return antichain::min(*this, axes, keep_dims);
}
Var Var::shape_of() const { return antichain::shape_of(*this); }

}  // namespace antichain
