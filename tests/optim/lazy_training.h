// Tables trained on the rows that are looked up, for the tests of lazy rows.
#pragma once

#include <functional>
#include <vector>

#include "antichain/optim/step_options.h"
#include "antichain/passes/compiler_options.h"
#include "antichain/session/session.h"

namespace antichain::optim::lazy_rows_test {

inline constexpr std::int64_t kRows = 101, kWidth = 19, kBatch = 7, kTimes = 3;

using Optimiser = std::function<std::vector<Var>(Var loss, const StepOptions& step)>;

struct NamedOptimiser {
  const char* name;
  Optimiser build;
};
/// Returns those that can leave rows as they are, set in different ways.
std::vector<NamedOptimiser> lazy_optimisers();
/// Returns ways to go from gradients to a step.
std::vector<StepOptions> step_options();

/// Makes a parameter [kRows, kWidth].
Var table(Graph& graph, DType dtype);

/// Returns the loss of ids [kBatch, kTimes].
using Model = std::function<Var(Var table, Var ids)>;
Var one_lookup(Var table, Var ids);
/// Three lookups, two of them of the same ids, and one by bags.
Var several_lookups(Var table, Var ids);

/// Returns ids of which some come twice, and few in all.
Tensor ids_of_run(int run);

struct Training {
  StepOptions step = {};
  CompilerOptions compiler = {};
  DType dtype = f32;
  Model model = one_lookup;
  bool symbolic = false;  // the batch
};
/// Returns all states after so many runs.
StateStore::Values trained(const Optimiser& optimiser, const Training& training, int runs);

bool same_bits(const Tensor& a, const Tensor& b);
void expect_same_bits(const StateStore::Values& a, const StateStore::Values& b);

}  // namespace antichain::optim::lazy_rows_test
