#include "antichain/nn/dropout.h"

#include "antichain/nn/layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/state/random.h"

namespace antichain::nn {

Var dropout(Var x, const DropoutOptions& options, Place place) {
  const UserCall call(x, place);
  require(x.valid(), "dropout: there is no x");
  require<TypeError>(is_float(x.dtype()), "dropout: x must be floating-point, it is {}",
                     name(x.dtype()));
  require_fraction("dropout", "rate", options.rate);
  if (!options.training || options.rate == 0) {
    return x;
  }
  const double keep = 1 - options.rate;
  return select(random_bernoulli(x.graph(), keep, x.shape()), x * (1 / keep), 0);
}

}  // namespace antichain::nn
