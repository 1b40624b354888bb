// The list of passes between the graph that users build and the one that runs.
//
// Every pass copies: sharing of equal ops and dropping of what nobody needs come with each of them.
// One that finds nothing to do is left out, but for the last, which drops what others left behind.
// What depends on sizes (views, results in place, where values lie in memory) is decided later,
// when a frame is made: antichain/runtime/frame.h.
#pragma once

#include <span>
#include <string_view>

#include "antichain/passes/compiler_options.h"
#include "antichain/passes/graph_copy.h"
#include "antichain/passes/pass_log.h"

namespace antichain {

struct Pass {
  std::string_view name;
  std::string_view doc;
  int level;  // the lowest one at which it runs
  // Null for what is done when the program runs: it is on the list to be left out like the others.
  GraphCopy (*run)(const GraphCopy& source, const CompilerOptions& options);
  bool (*applies)(const CompilerOptions& options) = nullptr;  // null: always
  // Whether there is anything to do; if not, a copy would be the same. Null: only a copy can tell.
  bool (*finds_work)(Graph& graph, const CompilerOptions& options) = nullptr;
};

/// Returns the passes in the order in which they run.
std::span<const Pass> passes();

inline constexpr std::string_view kParallelSteps = "parallel-steps";

/// Returns whether the options ask for a pass of the list.
bool is_enabled(std::string_view pass, const CompilerOptions& options);
/// Throws InvalidArgument when there is no such level or pass.
void check(const CompilerOptions& options);

/// Copies what `values` and `ops` need and applies the passes of the level to it, those that find
/// something to do. The verifier looks at what each of them has made.
GraphCopy run_passes(Graph& source, std::span<const Var> values, std::span<const Op> ops,
                     const CompilerOptions& options = {});
/// Does so and lets the log know of every pass.
GraphCopy run_passes(Graph& source, std::span<const Var> values, std::span<const Op> ops,
                     const CompilerOptions& options, PassLog& log);

}  // namespace antichain
