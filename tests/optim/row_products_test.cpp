// Updates of rows by gradients that are sparse products: the pass fuse-row-updates changes no bit.
#include <gtest/gtest.h>

#include <cstring>

#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/row_updates.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"

namespace antichain::optim::row_products_test {

constexpr std::int64_t kFeatures = 211, kWidth = 37, kExamples = 23, kOfEach = 6;

struct Run {
  DType dtype = f32;
  std::vector<std::string> disabled = {};
  std::optional<double> clip_norm = {};
  int threads = 2;
  bool adds_rows = false;
};

// A table and a bias per feature, of which the sparse examples use some, several of them often.
Var loss_of(Graph& graph, DType dtype, bool adds_rows) {
  const Dim entries = graph.dim("batch") * kOfEach;
  const Csr x{.values = graph.input("values", dtype, {entries}),
              .columns = graph.input("columns", i32, {entries}),
              .row_starts = cast(iota(graph, i64, graph.dim("batch") + 1) * kOfEach, i32),
              .num_columns = kFeatures};
  const Var table = parameter("table", full(graph, dtype, {kFeatures, kWidth}, 0.5));
  const Var bias = parameter("bias", full(graph, dtype, {kFeatures}, 0.25));
  const Var loss =
      mean(square(csr_matmul(x, table) - 1)) + mean(square(gather(bias, x.columns) + x.values));
  if (!adds_rows) {
    return loss;
  }
  const Var some = iota(graph, i64, 9) * 4;  // looked up beside the product
  return loss + mean(square(gather(table, some))) + mean(square(gather(bias, some)));
}

struct Result {
  StateStore::Values states;
  std::size_t products = 0;  // updates that take one
};

Result trained(const Run& options) {
  const int before = cpu::num_threads();
  cpu::set_num_threads(options.threads);
  Session session;
  Graph graph = session.graph();
  const Var loss = loss_of(graph, options.dtype, options.adds_rows);
  const Executable run = session.compile(
      {loss},
      {.updates = adam(
           loss, {.lr = 0.05, .step = {.lazy_rows = looked_up(), .clip_norm = options.clip_norm}}),
       .compiler = {.disabled = options.disabled}});
  Result result;
  for (std::uint32_t id = 0; id < run.graph().num_ops(); ++id) {
    result.products += takes_product(run.graph().op(OpId{id})) ? 1 : 0;
  }
  for (std::int64_t n = 0; n < 4; ++n) {
    const std::int64_t entries = (kExamples - n) * kOfEach;
    std::vector<double> values;
    std::vector<std::int32_t> columns;
    for (std::int64_t k = 0; k < entries; ++k) {
      values.push_back(k % 7 == 0 ? 0 : 0.125 * static_cast<double>(k % 11) - 0.5);
      columns.push_back(static_cast<std::int32_t>(k * k % (k % 3 == 0 ? 5 : kFeatures - n)));
    }
    const Tensor doubles = Tensor::of<double>({entries}, values);
    run({{"values", options.dtype == f64 ? doubles : doubles.cast(f32)},
         {"columns", Tensor::of<std::int32_t>({entries}, columns)}});
  }
  cpu::set_num_threads(before);
  result.states = session.states().all();
  return result;
}

void expect_same_bits(const StateStore::Values& a, const StateStore::Values& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a) {
    const Tensor& other = b.at(name);
    ASSERT_EQ(value.bytes(), other.bytes()) << name;
    EXPECT_EQ(std::memcmp(value.raw(), other.raw(), value.bytes()), 0) << name;
  }
}

TEST(RowProducts, HaveTheBitsOfGradientsThatAreKept) {
  for (const DType dtype : {f32, f64}) {
    const Result fused = trained({.dtype = dtype});
    EXPECT_EQ(fused.products, 2U);
    const Result kept = trained({.dtype = dtype, .disabled = {"fuse-row-updates"}});
    EXPECT_EQ(kept.products, 0U);
    expect_same_bits(fused.states, kept.states);
    expect_same_bits(fused.states, trained({.dtype = dtype, .disabled = {"row-gradients"}}).states);
  }
}

TEST(RowProducts, HaveTheBitsOfGradientsToWhichRowsAreAdded) {
  for (const DType dtype : {f32, f64}) {
    const Result fused = trained({.dtype = dtype, .adds_rows = true});
    EXPECT_EQ(fused.products, 2U);
    const std::vector<std::string> disabled = {"fuse-row-updates"};
    const Result kept = trained({.dtype = dtype, .disabled = disabled, .adds_rows = true});
    EXPECT_EQ(kept.products, 0U);
    expect_same_bits(fused.states, kept.states);
  }
}

TEST(RowProducts, HaveTheSameBitsOnAnyNumberOfThreads) {
  for (const bool adds_rows : {false, true}) {
    const Result alone = trained({.threads = 1, .adds_rows = adds_rows});
    expect_same_bits(alone.states, trained({.threads = 2, .adds_rows = adds_rows}).states);
    expect_same_bits(alone.states, trained({.threads = 5, .adds_rows = adds_rows}).states);
  }
}

// The norm of all gradients reads this one, too, so it is kept.
TEST(RowProducts, AreComputedOnceForEverybodyWhoReadsThem) {
  const Result clipped = trained({.clip_norm = 0.01});
  EXPECT_EQ(clipped.products, 0U);
  expect_same_bits(clipped.states,
                   trained({.disabled = {"fuse-row-updates"}, .clip_norm = 0.01}).states);
}

}  // namespace antichain::optim::row_products_test
