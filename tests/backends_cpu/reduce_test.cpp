// Reductions on random shapes and axes: every kernel close to the reference, the same bits on any
// number of threads.
#include "antichain/ops/rows/reduce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "antichain/ops/shape/shape_ops.h"
#include "antichain/session/session.h"
#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"

namespace antichain::cpu::reduce_test {

class Reductions : public testing::TestWithParam<const OpDef*> {};

TEST_P(Reductions, AgreeOnRandomShapes) {
  const OpDef& def = *GetParam();
  const bool chooses = &def == &reduce_min_def() || &def == &reduce_max_def();
  const bool product = &def == &prod_def();
  Draw draw(21);
  int checked = 0;
  for (int round = 0; round < 80; ++round) {
    // Now and then large enough to be cut into chunks.
    const Shape shape =
        round % 8 == 0
            ? draw.one_of<Shape>(
                  {{300007}, {100003, 3}, {3, 100003}, {7, 64, 513}, {33, 3, 2003}, {5, 40009}})
            : draw.shape(draw.between(0, 5), 20000);
    Ints axes;
    std::int64_t count = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (draw.between(0, 1) == 0) {
        axes.push_back(static_cast<std::int64_t>(axis));
      }
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool reduced = axes.empty() || std::find(axes.begin(), axes.end(), axis) != axes.end();
      count *= reduced ? shape[axis] : 1;
    }
    if (count == 0 && (chooses || &def == &logsumexp_def())) {
      continue;
    }
    const bool floats_only = !def.dtypes.contains(i32);
    const DType dtype = floats_only ? draw.one_of({f32, f64, bf16, f16})
                                    : draw.one_of({f32, f32, f64, bf16, f16, i8, i32, i64, u8});
    // Products stay near 1; other values have a mean, as activations do.
    const Tensor x = product && is_float(dtype) ? draw.values(dtype, shape, 0.999, 1.001)
                                                : draw.values(dtype, shape, -1, 4);
    const bool keep = draw.between(0, 1) == 0;
    checked += expect_kernels_agree(
        {def,
         {x},
         [&](Graph& graph, std::span<const Var> in) {
           return graph.add(def, {in[0]}, {{"axes", axes}, {"keep_dims", keep}}).outputs();
         }},
        // A product of n numbers rounds n times in any type.
        tolerance_of(dtype, count),
        def.name + " of " + to_string(shape) + " over " + to_string(axes));
  }
  EXPECT_GE(checked, 80);
}

INSTANTIATE_TEST_SUITE_P(Ops, Reductions,
                         testing::Values(&sum_def(), &prod_def(), &mean_def(), &reduce_min_def(),
                                         &reduce_max_def(), &variance_def(), &logsumexp_def()),
                         [](const auto& test) { return test.param->name; });

TEST(ReductionCases, SumToAgreesOnRandomShapes) {
  Draw draw(22);
  int checked = 0;
  for (int round = 0; round < 80; ++round) {
    const Shape shape = draw.shape(draw.between(1, 5), 20000);
    Shape target(shape.begin() + draw.between(0, static_cast<std::int64_t>(shape.size())),
                 shape.end());
    for (std::int64_t& size : target) {
      size = draw.between(0, 1) == 0 ? 1 : size;
    }
    const DType dtype = draw.one_of({f32, f64, bf16, f16, i32});
    checked += expect_kernels_agree({sum_to_def(),
                                     {draw.values(dtype, shape, -1, 4)},
                                     [&](Graph&, std::span<const Var> in) {
                                       return std::vector<Var>{sum_to(in[0], to_dims(target))};
                                     }},
                                    tolerance_of(dtype, numel(shape)),
                                    "sum_to of " + to_string(shape) + " to " + to_string(target));
  }
  EXPECT_GE(checked, 80);
}

double reduced(Var (*reduce)(const Operand&, const Ints&, bool), const Tensor& x) {
  Session session;
  Graph graph = session.graph();
  const std::vector<DimSpec> shape(x.shape().begin(), x.shape().end());
  const Var input = graph.input("x", x.dtype(), shape);
  return session.compile({reduce(input, {}, false)})({{"x", x}}).item<double>();
}

TEST(ReductionCases, SumOf16MiFloatsIsAsExactAsInDouble) {
  const std::int64_t size = 16 << 20;
  std::vector<float> values(static_cast<std::size_t>(size));
  double exact = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.1F + 1e-4F * static_cast<float>(i % 1000);
    exact += values[i];
  }
  const double got = reduced(sum, Tensor::of<float>({size}, values));
  // Sums of four are rounded to float, the rest is exact; most roundings cancel.
  EXPECT_NEAR(got, exact, exact * 0x1p-24);
}

TEST(ReductionCases, NotANumberWinsWhereverItStands) {
  for (const std::int64_t size : {1, 2, 7, 64, 100, 5000}) {
    for (std::int64_t at = 0; at < size; at += 1 + size / 13) {
      std::vector<float> values(static_cast<std::size_t>(size), 1);
      values[static_cast<std::size_t>(at)] = NAN;
      const Tensor x = Tensor::of<float>({size}, values);
      EXPECT_TRUE(std::isnan(reduced(min, x))) << at << " of " << size;
      EXPECT_TRUE(std::isnan(reduced(max, x))) << at << " of " << size;
      EXPECT_TRUE(std::isnan(reduced(logsumexp, x))) << at << " of " << size;
    }
  }
}

TEST(ReductionCases, NotANumberStaysInItsRowAndColumn) {
  Session session;
  Graph graph = session.graph();
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 33}, {3, 1}, {8, 64}, {13, 70}, {21, 200}, {40, 3}}) {
    for (const DType dtype : {f32, f64, bf16, f16}) {
      const std::string name = fmt::format("{}x{}{}", rows, columns, antichain::name(dtype));
      const Var x = graph.input(name, dtype, {rows, columns});
      const auto extremes = session.compile({max(x, {0}), max(x, {1}), min(x, {0}), min(x, {1})});
      for (std::int64_t at = 0; at < rows * columns; at += 1 + rows * columns / 37) {
        Tensor values = Tensor::zeros(f32, {rows, columns});
        values.data<float>()[at] = -NAN;
        const Results results = extremes({{name, values.cast(dtype)}});
        for (std::size_t n = 0; n < 4; ++n) {
          const Tensor got = results[n].cast(f32);
          for (std::int64_t i = 0; i < got.numel(); ++i) {
            EXPECT_EQ(std::isnan(got.data<float>()[i]),
                      i == (n % 2 == 0 ? at % columns : at / columns))
                << name << " at " << at << ", result " << n << ", element " << i;
          }
        }
      }
    }
  }
}

TEST(ReductionCases, LogsumexpOfInfinities) {
  const auto infinity = static_cast<float>(INFINITY);
  EXPECT_EQ(reduced(logsumexp, Tensor::of<float>({3}, {1.F, infinity, 2.F})), INFINITY);
  EXPECT_EQ(reduced(logsumexp, Tensor::of<float>({2}, {-infinity, -infinity})), -INFINITY);
  EXPECT_EQ(reduced(logsumexp, Tensor::of<float>({2}, {-infinity, 3.F})), 3);
}

}  // namespace antichain::cpu::reduce_test
