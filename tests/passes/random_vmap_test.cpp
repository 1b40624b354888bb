// Computes random graphs for several copies of their inputs at once, and expects what a run with
// the inputs of each copy gives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "antichain/autodiff/outline.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/ops/vmap/vmap_region.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"
#include "tests/passes/random_graph.h"

namespace antichain::random_vmap_test {

constexpr std::int64_t kCopies = 3;

// The value, its negative (or complement), and a half of it, the other way round.
Tensor copy_of(const Tensor& value, std::int64_t copy) {
  std::vector<double> numbers = value.to_vector<double>();
  for (double& number : numbers) {
    if (value.dtype() == boolean) {
      number = copy % 2 == 0 ? number : 1 - number;
    } else {
      number *= copy == 0 ? 1 : copy == 1 ? -1 : 0.5;
    }
  }
  if (copy == 2) {
    std::ranges::reverse(numbers);
  }
  return Tensor::of<double>(value.shape(), numbers).cast(value.dtype());
}

Feeds feeds_of_copy(const Feeds& feeds, std::int64_t copy) {
  Feeds own;
  for (const auto& [name, value] : feeds) {
    own[name] = copy_of(value, copy);
  }
  return own;
}

// Returns how many values were compared.
int check(std::uint32_t seed) {
  Session session;
  Graph graph = session.graph();
  const RandomGraph drawn = random_graph(graph, seed, 25);
  std::vector<Var> in, outputs;
  std::vector<double> tolerances;
  std::set<VarId> seen;
  for (Op input : graph.inputs()) {
    in.push_back(input.output());
  }
  for (const DrawnValue& output : drawn.outputs) {
    const bool is_state = &output.var.producer().def() == &state_read_def();
    if (!is_state && seen.insert(output.var.id()).second) {
      outputs.push_back(output.var);
      tolerances.push_back(output.tolerance);
    }
  }
  const Op whole = outline(outputs, in, "");
  const RegionId region = whole.regions()[0];
  if (!why_not_vmap(graph, region).empty()) {
    return 0;
  }
  std::vector<Mapped> arguments;
  for (int i = 0; i < whole.num_inputs(); ++i) {
    const Var input = whole.input(i);
    if (i >= static_cast<int>(in.size())) {
      arguments.push_back({input, false});
      continue;
    }
    std::vector<DimSpec> shape(input.shape().begin(), input.shape().end());
    shape.insert(shape.begin(), "copies");
    arguments.push_back({graph.input("all_" + input.name(), input.dtype(), shape), true});
  }
  const Dim copies = graph.dim("copies");
  std::vector<Var> mapped;
  const std::vector<Mapped> found = vmap_region(graph, region, arguments, copies);
  for (std::size_t i = 0; i < found.size(); ++i) {
    mapped.push_back(with_mapped_axis(found[i], outputs[i].shape(), copies));
  }
  const CompileOptions plain{.compiler = {.level = 0}};
  const Executable all = session.compile(mapped, plain), one = session.compile(outputs, plain);
  const auto same_draws = [&] {
    session.states().set(kRandomState, Tensor::of<std::int64_t>({2}, {1, 7}));
  };
  Feeds together;
  for (const auto& [name, value] : drawn.feeds[0]) {
    Shape shape = value.shape();
    shape.insert(shape.begin(), kCopies);
    const Tensor stacked = Tensor::empty(value.dtype(), shape);
    for (std::int64_t copy = 0; copy < kCopies; ++copy) {
      stacked.select(0, copy).copy_from(copy_of(value, copy));
    }
    together["all_" + name] = stacked;
  }
  same_draws();
  const std::vector<Tensor> got = all(together).tensors();
  for (std::int64_t copy = 0; copy < kCopies; ++copy) {
    same_draws();
    const std::vector<Tensor> want = one(feeds_of_copy(drawn.feeds[0], copy)).tensors();
    for (std::size_t i = 0; i < want.size(); ++i) {
      conformance::expect_close(got[i].select(0, copy), want[i], tolerances[i],
                                fmt::format("seed {}, value {}, copy {}", seed, i, copy));
    }
  }
  return static_cast<int>(outputs.size());
}

TEST(RandomGraph, VmapGivesWhatEachCopyGives) {
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    compared += check(seed);
  }
  std::cout << compared << " values of random graphs for " << kCopies << " copies at once\n";
  EXPECT_GT(compared, 200);
}

}  // namespace antichain::random_vmap_test
