#include "antichain/passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "antichain/base/edit_distance.h"
#include "antichain/graph/verify.h"
#include "antichain/passes/chains/recall_steps.h"
#include "antichain/passes/chains/scan_factors.h"
#include "antichain/passes/chains/split_chains.h"
#include "antichain/passes/fusion/batch_casts.h"
#include "antichain/passes/fusion/batch_updates.h"
#include "antichain/passes/fusion/fuse_elementwise.h"
#include "antichain/passes/fusion/fuse_products.h"
#include "antichain/passes/fusion/fuse_row_updates.h"
#include "antichain/passes/layout/choose_layouts.h"
#include "antichain/passes/simplify/clean_casts.h"
#include "antichain/passes/simplify/contract.h"
#include "antichain/passes/simplify/decompose.h"
#include "antichain/passes/simplify/delay_broadcasts.h"
#include "antichain/passes/simplify/fold_constants.h"
#include "antichain/passes/simplify/reassociate.h"
#include "antichain/passes/simplify/release_waits.h"
#include "antichain/passes/simplify/row_gradients.h"
#include "antichain/passes/simplify/simplify.h"
#include "antichain/passes/sums/join_sums.h"
#include "antichain/passes/sums/sum_by_parts.h"

namespace antichain {

namespace {

using Options = CompilerOptions;

constexpr int kHighestLevel = 3;

template <GraphCopy (*kPass)(const GraphCopy&)>
GraphCopy plain(const GraphCopy& source, const Options&) {
  return kPass(source);
}

template <bool (*kFindsWork)(Graph&)>
bool in_graph(Graph& graph, const Options&) {
  return kFindsWork(graph);
}

GraphCopy reassociate_as_allowed(const GraphCopy& source, const Options& options) {
  return reassociate(source, {.floats = options.fast_math});
}

GraphCopy decompose_missing(const GraphCopy& source, const Options& options) {
  return decompose(source, options.is_missing);
}

GraphCopy choose_layouts_by_gain(const GraphCopy& source, const Options& options) {
  return choose_layouts(source, options.layout_gain);
}

GraphCopy fuse_as_wanted(const GraphCopy& source, const Options& options) {
  return options.recompute ? fuse_recomputing(source) : fuse_elementwise(source);
}

constexpr Pass kPasses[] = {
    {"release-waits",
     "drop control edges from a value to a state write whose own effect alone is needed", 1,
     plain<release_waits>, nullptr, in_graph<has_waits>},
    {"row-gradients", "compute gradients of tables on the rows that were looked up", 1,
     plain<row_gradients>, nullptr, in_graph<has_row_readers>},
    {"decompose", "replace ops that the device has no kernel for by what they consist of", 1,
     decompose_missing, [](const Options& options) { return options.is_missing != nullptr; }},
    {"fold-constants", "compute what depends on constants alone", 1, plain<fold_constants>, nullptr,
     in_graph<has_folds>},
    {"simplify", "apply the rewrites of the ops: x * 1, reshapes of reshapes", 1, plain<simplify>},
    {"clean-casts", "take out conversions that change nothing", 1, plain<clean_casts>, nullptr,
     in_graph<has_double_casts>},
    {"delay-broadcasts", "compute before values are repeated", 1, plain<delay_broadcasts>, nullptr,
     in_graph<has_repeated_operands>},
    {"reassociate", "add and multiply in a cheaper order (floats: with fast-math)", 1,
     reassociate_as_allowed, nullptr,
     [](Graph& graph, const Options& options) {
       return has_free_order(graph, {.floats = options.fast_math});
     }},
    {"split-chains", "compute for all steps at once what no later step of a chain needs", 2,
     plain<split_chains>, [](const Options& options) { return options.split_chains; }},
    {"recall-steps", "read what a chain has returned instead of computing it for all steps", 2,
     plain<recall_steps>, [](const Options& options) { return options.split_chains; }},
    {"scan-factors", "read what a scan has multiplied weights by instead of computing it again", 2,
     plain<scan_factors>, [](const Options& options) { return options.split_chains; }},
    {"sum-by-parts", "sum the rows of concatenations part by part", 2, plain<sum_by_parts>,
     [](const Options& options) { return options.split_chains; }},
    {"join-sums", "sum the rows of several products in one walk over them", 2, plain<join_sums>,
     [](const Options& options) { return options.split_chains; }},
    {"fuse-row-updates", "update rows by sparse products that are not kept", 2,
     plain<fuse_row_updates>, [](const Options& options) { return options.fuse_row_updates; },
     in_graph<has_indexed_rows>},
    {"choose-layouts", "keep channels last around convolutions where that is faster", 3,
     choose_layouts_by_gain},
    {"fuse-elementwise", "compute element-wise ops and reductions of rows together", 2,
     fuse_as_wanted},
    {"fuse-products", "compute what follows a product with it, block by block", 2,
     plain<fuse_products>},
    {"contract", "let a * b + c round once inside of fused ops (with fast-math)", 2,
     plain<contract>, [](const Options& options) { return options.fast_math; }},
    {"batch-casts", "convert small values together where starting a kernel takes longer", 2,
     plain<batch_casts>, [](const Options& options) { return options.batch_updates; }},
    {"batch-updates", "update small parameters together where starting a kernel takes longer", 2,
     plain<batch_updates>, [](const Options& options) { return options.batch_updates; }},
    {kParallelSteps, "run branches at the same time (not with a memory budget)", 2, nullptr},
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

bool is_enabled(std::string_view name, const Options& options) {
  const auto* const pass = std::ranges::find(kPasses, name, &Pass::name);
  ensure(pass != std::ranges::end(kPasses), "there is no pass of this name");
  return pass->level <= options.level && (pass->applies == nullptr || pass->applies(options)) &&
         std::ranges::count(options.disabled, name) == 0;
}

void check(const Options& options) {
  require(options.level >= 0 && options.level <= kHighestLevel,
          "there is no optimisation level {}; there are 0 to {}", options.level, kHighestLevel);
  for (const std::string& name : options.disabled) {
    const auto distance = [&name](const Pass& pass) {
      return std::pair(!pass.name.starts_with(name), edit_distance(name, pass.name));
    };
    const Pass& nearest = *std::ranges::min_element(kPasses, {}, distance);
    require(nearest.name == name, "there is no pass '{}'; did you mean '{}'?", name, nearest.name);
  }
}

GraphCopy run_passes(Graph& source, std::span<const Var> values, std::span<const Op> ops,
                     const Options& options) {
  PassLog log(options.dump_folder);
  GraphCopy copy = run_passes(source, values, ops, options, log);
  log.finish();
  return copy;
}

GraphCopy run_passes(Graph& source, std::span<const Var> values, std::span<const Op> ops,
                     const Options& options, PassLog& log) {
  check(options);
  std::vector<const Pass*> enabled;
  for (const Pass& pass : kPasses) {
    if (pass.run != nullptr && is_enabled(pass.name, options)) {
      enabled.push_back(&pass);
    }
  }
  GraphCopy copy;
  log.time(0, "built", [&] {
    copy = copy_graph(source, values, ops);
    return copy.graph.get();
  });
  for (const Pass* pass : enabled) {
    const auto number = static_cast<std::size_t>(pass - std::begin(kPasses)) + 1;
    const bool has_run = log.time(number, pass->name, [&]() -> Graph* {
      if (pass != enabled.back() && pass->finds_work && !pass->finds_work(*copy.graph, options)) {
        return nullptr;
      }
      copy = pass->run(copy, options);
      return copy.graph.get();
    });
    if (has_run) {
      verify(*copy.graph);
    }
  }
  return copy;
}

}  // namespace antichain
