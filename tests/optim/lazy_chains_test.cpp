// What is said about lazy rows of tables that chains use.
#include <gmock/gmock.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/adam.h"
#include "antichain/session/session.h"

namespace antichain::optim::lazy_chains_test {

constexpr std::int64_t kRows = 101, kWidth = 19, kBatch = 7, kTimes = 3;

// The gradient of what a chain looks up otherwise is a state of the chain that walks back.
TEST(LazyRows, OfATableThatAChainUsesAreToldOf) {
  for (const bool inside : {true, false}) {
    std::vector<std::string> lines;
    Session session({.logger = Logger(LogLevel::warning, [&lines](LogLevel, std::string_view line) {
                       lines.emplace_back(line);
                     })});
    Graph graph = session.graph();
    const Var ids = graph.input("ids", i64, {kBatch, kTimes});
    const Var words = parameter("table", zeros(graph, f32, {kRows, kWidth})),
              start = zeros(graph, f32, {kTimes, kWidth});
    const Var looked = embedding(words, ids);
    const Var last = inside ? chain(start, ids,
                                    [&](Var h, Var id) {
                                      return tanh(h + embedding(words, modulo(id + 1, kRows)));
                                    })
                                  .last
                            : chain(start, looked, [](Var h, Var x) { return tanh(h + x); }).last;
    const Var loss = mean(square(last));
    session.compile({loss}, {.updates = adam(loss, {.step = {.lazy_rows = named("table")}})});
    if (inside) {
      ASSERT_EQ(lines.size(), 1U);
      EXPECT_THAT(lines[0], testing::MatchesRegex(
                                "'table' has lazy rows, but its gradient is as long as the table: "
                                "it is used inside of the chain at .*lazy_chains_test.cpp:[0-9]+; "
                                "look its rows up before it"));
    } else {
      EXPECT_THAT(lines, testing::IsEmpty());
    }
  }
}

}  // namespace antichain::optim::lazy_chains_test
