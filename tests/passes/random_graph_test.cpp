// Compiles random graphs in several ways and expects the same results.
#include "tests/passes/random_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <unordered_map>

#include "antichain/graph/print.h"
#include "antichain/graph/traversal.h"
#include "antichain/graph/verify.h"
#include "antichain/ops/state/random.h"
#include "antichain/passes/graph_copy.h"
#include "antichain/passes/pipeline.h"
#include "antichain/runtime/step_order.h"
#include "antichain/session/session.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/not_owned.h"

namespace antichain::random_graph_test {

struct Setting {
  std::string name;
  CompileOptions options;
  bool same_bits = false;  // it promises the bits of the first setting
};

// The first one is what the others are compared with.
const std::vector<Setting>& settings() {
  static const std::vector<Setting> kAll = {
      {"as it is", {.compiler = {.level = 0}}, true},
      // The reference, which folds constants, rounds once where kernels may round more often.
      {"simplified", {.compiler = {.level = 1, .disabled = {"fold-constants"}}}, true},
      {"fused", {.compiler = {.level = 2, .disabled = {"fold-constants"}}}, true},
      {"recomputed",
       {.compiler = {.level = 2, .disabled = {"fold-constants"}, .recompute = true}},
       true},
      {"level 2", {.compiler = {.level = 2}}},
      {"few kernels",
       {.compiler = {.level = 2, .split_chains = true, .batch_updates = true, .recompute = true}}},
      // There is no convolution, so nothing is worth another layout.
      {"level 3", {.compiler = {.level = 3, .disabled = {"fold-constants"}}}, true},
      {"level 3, fast", {.compiler = {.level = 3, .fast_math = true}}},
  };
  return kAll;
}

using AllResults = std::vector<std::vector<Tensor>>;  // by run, by output

std::vector<Var> outputs_of(const RandomGraph& drawn) {
  std::vector<Var> outputs;
  for (const DrawnValue& output : drawn.outputs) {
    outputs.push_back(output.var);
  }
  return outputs;
}

// Runs at all sizes, twice, and puts the states back.
AllResults run_all(Session& session, const RandomGraph& drawn, const Executable& run) {
  const std::map<std::string, Tensor, std::less<>> before = session.states().all();
  AllResults results;
  for (int round = 0; round < 2; ++round) {
    for (const Feeds& feeds : drawn.feeds) {
      // Session::compile counts the runs, run_by_reference() does not.
      const auto number = static_cast<std::int64_t>(results.size());
      session.states().set(kRandomState, Tensor::of<std::int64_t>({2}, {1, number}));
      results.push_back(run(feeds).tensors());
    }
  }
  for (const auto& [name, value] : before) {
    session.states().set(name, value);
  }
  return results;
}

AllResults run_compiled(Session& session, const RandomGraph& drawn, CompileOptions options) {
  options.updates = drawn.updates;
  return run_all(session, drawn, session.compile(outputs_of(drawn), options));
}

// Every op by its reference, which computes in double and rounds once.
AllResults run_by_reference(Session& session, const RandomGraph& drawn) {
  std::vector<Op> effects;
  for (Var update : drawn.updates) {
    effects.push_back(update.producer());
  }
  GraphCopy copy = copy_graph(drawn.outputs[0].var.graph(), outputs_of(drawn), effects);
  const Executable run(std::move(copy.graph), copy.values, copy.ops, not_owned(session.backend()),
                       KernelTable(), session.logger(), not_owned(session.states()));
  return run_all(session, drawn, run);
}

// Expects all outputs to have the same bits; or those that promise it to have the same values (fast
// math may take -0 for 0), and the others to be close.
void expect_same(const RandomGraph& drawn, const AllResults& got, const AllResults& expected,
                 bool same_bits, const std::string& name) {
  for (std::size_t run = 0; run < expected.size(); ++run) {
    for (std::size_t i = 0; i < drawn.outputs.size(); ++i) {
      const std::string what =
          fmt::format("{}, run {}, output {} ({})", name, run, i, drawn.outputs[i].var.name());
      const double tolerance = drawn.outputs[i].tolerance;
      if (same_bits || !is_float(got[run][i].dtype())) {
        EXPECT_TRUE(bit_equal(got[run][i], expected[run][i]))
            << what << ": " << to_string(got[run][i]) << ", expected "
            << to_string(expected[run][i]);
      } else {
        conformance::expect_close(got[run][i], expected[run][i], tolerance, what);
      }
    }
  }
}

// The generator is believed when it says how large values get.
void expect_tame(const RandomGraph& drawn, const AllResults& results) {
  for (const std::vector<Tensor>& run : results) {
    for (std::size_t i = 0; i < drawn.outputs.size(); ++i) {
      for (double value : run[i].to_vector<double>()) {
        ASSERT_TRUE(std::abs(value) <= 1.05 * drawn.outputs[i].bound)  // bf16 rounds
            << value << " is beyond " << drawn.outputs[i].bound << ": "
            << drawn.outputs[i].var.producer().describe();
      }
    }
  }
}

class RandomGraphs : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  // Stops at the first graph that fails, and prints it.
  void for_each_graph(const std::function<void(Session&, const RandomGraph&)>& check) {
    constexpr std::uint32_t kCount = 100;  // a case has so many, and cases run beside each other
    for (std::uint32_t seed = GetParam() * kCount; seed < (GetParam() + 1) * kCount; ++seed) {
      Session session;
      Graph graph = session.graph();
      const RandomGraph drawn = random_graph(graph, seed, 5 + static_cast<int>(seed % 56));
      check(session, drawn);
      if (HasFailure()) {
        std::cout << "seed " << seed << ":\n" << print_text(graph) << '\n';
        return;
      }
    }
  }
};

TEST_P(RandomGraphs, GiveTheSameHoweverTheyAreCompiled) {
  for_each_graph([](Session& session, const RandomGraph& drawn) {
    verify(drawn.outputs[0].var.graph());
    const AllResults expected = run_compiled(session, drawn, settings()[0].options);
    expect_tame(drawn, expected);
    for (std::size_t s = 1; s < settings().size(); ++s) {
      expect_same(drawn, run_compiled(session, drawn, settings()[s].options), expected,
                  settings()[s].same_bits, settings()[s].name);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, ::testing::Range(0U, 20U));

// Other seeds than above. Shows also that the tolerances are what rounding needs.
using RandomGraphsByReference = RandomGraphs;
TEST_P(RandomGraphsByReference, GiveWhatTheReferenceGives) {
  for_each_graph([](Session& session, const RandomGraph& drawn) {
    const AllResults got = run_compiled(session, drawn, settings()[0].options);
    expect_same(drawn, got, run_by_reference(session, drawn), false, "kernels");
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphsByReference, ::testing::Range(20U, 24U));

TEST(RandomGraph, IsTheSameForTheSameSeed) {
  Session session;
  for (std::uint32_t seed : {0U, 17U, 123U}) {
    Graph first = session.graph(), second = session.graph(), other = session.graph();
    random_graph(first, seed, 30);
    random_graph(second, seed, 30);
    random_graph(other, seed + 1, 30);
    EXPECT_EQ(print_text(first), print_text(second));
    EXPECT_NE(print_text(first), print_text(other));
  }
}

// Such passes are left out, so they must not do what a copy does not.
TEST(RandomGraph, PassesThatFindNoWorkOnlyCopy) {
  std::map<std::string_view, int> left_out, run;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Session session;
    Graph graph = session.graph();
    const RandomGraph drawn = random_graph(graph, seed, 20);
    const GraphCopy copy = copy_graph(graph, outputs_of(drawn), {});
    for (const Pass& pass : passes()) {
      if (!pass.finds_work) {
        continue;
      }
      for (const bool fast : {false, true}) {
        const CompilerOptions options{.fast_math = fast};
        if (pass.finds_work(*copy.graph, options)) {
          ++run[pass.name];
          continue;
        }
        ++left_out[pass.name];
        ASSERT_EQ(print_text(*pass.run(copy, options).graph),
                  print_text(*copy_graph(copy, {}).graph))
            << pass.name << ", seed " << seed;
      }
    }
  }
  EXPECT_EQ(left_out.size(), 7U) << "some graphs have no work for a pass";
  EXPECT_GE(run.size(), 4U) << "some graphs have; waits for writes are made by layers alone";
}

TEST(RandomGraph, StepsRunAfterWhatTheyWaitFor) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Session session;
    Graph graph = session.graph();
    const RandomGraph drawn = random_graph(graph, seed, 40);
    std::vector<Op> effects;
    for (Var update : drawn.updates) {
      effects.push_back(update.producer());
    }
    const std::vector<Op> build_order = schedule(graph, outputs_of(drawn), effects);
    const std::vector<Op> order = order_steps(build_order);
    ASSERT_EQ(order.size(), build_order.size());
    std::unordered_map<OpId, std::size_t> position;
    for (std::size_t n = 0; n < order.size(); ++n) {
      position[order[n].id()] = n;
    }
    ASSERT_EQ(position.size(), order.size()) << "every op once";
    for (std::size_t n = 0; n < order.size(); ++n) {
      for (Var input : order[n].inputs()) {
        EXPECT_LT(position.at(input.producer().id()), n);
      }
      for (const ControlEdge& edge : order[n].control_edges()) {
        EXPECT_TRUE(!position.contains(edge.before) || position.at(edge.before) < n);
      }
    }
  }
}

TEST(RandomGraph, HasOpsOfEveryKind) {
  Session session;
  std::map<std::string, int> runs;
  std::size_t steps = 0;
  constexpr std::uint32_t kGraphs = 200;
  for (std::uint32_t seed = 0; seed < kGraphs; ++seed) {
    Graph graph = session.graph();
    const RandomGraph drawn = random_graph(graph, seed, 40);
    const Executable compiled = session.compile(outputs_of(drawn), {.updates = drawn.updates});
    steps += compiled.num_steps();
    for (std::uint32_t id = 0; id < compiled.graph().num_ops(); ++id) {
      ++runs[std::string(compiled.graph().op(OpId{id}).def().name)];
    }
  }
  EXPECT_GT(steps / kGraphs, 40U) << "what the outputs need is most of what was drawn";
  for (const char* op :
       {"add",        "multiply",       "divide",     "exp",          "select",
        "cast",       "less",           "modulo",     "sum",          "reduce_max",
        "logsumexp",  "cumsum",         "argmax",     "matmul",       "reshape",
        "transpose",  "broadcast_to",   "slice",      "concat",       "pad",
        "gather",     "softmax",        "layer_norm", "batch_norm",   "cross_entropy",
        "chain",      "cond",           "call",       "state_read",   "assign",
        "add_update", "random_uniform", "fused",      "fused_product"}) {
    EXPECT_GT(runs[op], 0) << op;
  }
}

}  // namespace antichain::random_graph_test
