// Control flow.
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "tests/peer/builders.h"

namespace antichain::peer {

namespace {

Vars build_loop(const Case& c, const Vars& in) {
  const auto limit = c.get<double>("limit");
  return loop(
             {in.at(0)}, [&](const Vars& s) { return less(sum(square(s[0])), limit); },
             [&](const Vars& s) -> Vars { return {in.at(1) * s[0] + sin(s[0])}; })
      .last;
}

Vars build_cond(const Case&, const Vars& in) {
  return cond(
      greater(sum(in.at(0)), 0), [&]() -> Vars { return {in.at(1) * square(in[0])}; },
      [&]() -> Vars { return {exp(in[0])}; });
}

Vars build_chain_without_data(const Case& c, const Vars& in) {
  const auto step = [&](Var, const Vars& states, const Vars&) -> StepResult {
    return {{tanh(matmul(states[0], in.at(1)))}};
  };
  const ChainResult result = chain({in.at(0)}, {}, step, {.length = c.get<std::int64_t>("length")});
  return {result.last[0], result.before[0]};
}

}  // namespace

Builders control_flow_builders() {
  return {
      {"loop", build_loop},
      {"cond", build_cond},
      {"chain_without_data", build_chain_without_data},
  };
}

}  // namespace antichain::peer
