#include "antichain/engines/multigrid/step_consistency.h"

#include "antichain/engines/multigrid/body_on_grid.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::multigrid {

namespace {

// The first step of a chain, with other states and strides.
class FirstStep {
 public:
  explicit FirstStep(Op chain) : chain_(chain), layout_(chain) {
    const std::int64_t last = chain.attrs().get<bool>("reverse") ? -1 : 0;
    const Dim length = chain.attrs().get<Dim>("length");
    arguments_ = {last == 0 ? scalar(chain.graph(), i64, 0) : dim_value(chain.graph(), length - 1)};
    for (int i = 0; i < chain.num_inputs(); ++i) {
      const bool is_sequence = i >= layout_.first_x() && i < layout_.first_captured();
      arguments_.push_back(is_sequence ? index(chain.input(i), 0, last) : chain.input(i));
    }
  }

  Vars start() const { return {arguments_.begin() + 1, arguments_.begin() + 1 + layout_.states}; }
  Vars operator()(const Vars& states, const GridOfBody& grid) const {
    Vars arguments = arguments_;
    std::copy(states.begin(), states.end(), arguments.begin() + 1);
    Vars results = inline_body(chain_.graph(), chain_.regions()[0], arguments, grid);
    results.resize(static_cast<std::size_t>(layout_.states));
    return results;
  }
  Vars coarse(const Vars& states, double stride) const {
    return (*this)(states, {.stride = stride, .is_coarse = true});
  }

 private:
  Op chain_;
  ChainLayout layout_;
  Vars arguments_;
};

Var distance_between(const Vars& a, const Vars& b) {
  Var total = scalar(a[0].graph(), f64, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_float(a[i].dtype())) {
      total = total + sum(square(cast(a[i], f64) - cast(b[i], f64)));
    }
  }
  return sqrt(total);
}

}  // namespace

Vars step_consistency(Op chain) {
  const FirstStep step(chain);
  const Vars start = step.start(), fine = step(start, {});
  Vars found = {distance_between(step.coarse(start, 1), fine), distance_between(fine, start)};
  double stride = 1;
  for (int i = 0; i < kTriedStrides; ++i, stride /= 2) {
    const Vars two = step.coarse(step.coarse(start, stride), stride);
    found.push_back(distance_between(step.coarse(start, 2 * stride), two));
  }
  return found;
}

}  // namespace antichain::multigrid
