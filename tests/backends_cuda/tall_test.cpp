// Products with one long axis, by kernels of our own: all layouts and odd sizes, operands that
// begin anywhere, what follows a product, and how exact long sums are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "antichain/antichain.h"
#include "antichain/backends/cuda/cuda_backend.h"
#include "antichain/backends/cuda/products/tall_kernels.h"
#include "antichain/ops/products/row_products.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::tall_test {

class CudaTall : public GpuTest {};

// Quarters between -1.5 and 1.5 without a period: all sums of up to a million of their products are
// exact, in any order.
Tensor quarters(const Shape& shape, std::uint32_t seed) {
  Tensor values = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const std::uint32_t mixed = (static_cast<std::uint32_t>(i) + seed) * 2654435761U;
    values.data<float>()[i] = static_cast<float>(static_cast<int>((mixed >> 12) % 13) - 6) / 4;
  }
  return values;
}

// Strides of a matrix [rows, columns] that may be stored transposed.
struct Matrix {
  const float* at;
  std::int64_t row, column;

  Matrix(const Tensor& values, bool transposed)
      : at(values.data<float>()),
        row(transposed ? 1 : values.shape()[1]),
        column(transposed ? values.shape()[1] : 1) {}
  double operator()(std::int64_t i, std::int64_t j) const {
    return double{at[i * row + j * column]};
  }
};

std::vector<double> multiplied(const Tensor& a, const Tensor& b, const cuda::BlasSizes& s) {
  const Matrix left(a, s.transpose_a), right(b, s.transpose_b);
  std::vector<double> out(static_cast<std::size_t>(s.rows * s.columns));
  for (std::int64_t i = 0; i < s.rows; ++i) {
    for (std::int64_t k = 0; k < s.inner; ++k) {
      const double factor = left(i, k);
      for (std::int64_t j = 0; j < s.columns; ++j) {
        out[static_cast<std::size_t>(i * s.columns + j)] += factor * right(k, j);
      }
    }
  }
  return out;
}

// Operands on the GPU, each of them so many elements behind an address that is a multiple of 16
// bytes, with numbers behind the result that must stay as they are.
class Operands {
 public:
  Operands(const Backend& backend, const cuda::BlasSizes& s, int shift)
      : backend_(backend),
        a(quarters(s.transpose_a ? Shape{s.inner, s.rows} : Shape{s.rows, s.inner}, 1)),
        b(quarters(s.transpose_b ? Shape{s.columns, s.inner} : Shape{s.inner, s.columns}, 2)),
        bias(quarters({s.columns}, 3)),
        a_there(placed(a, shift)),
        b_there(placed(b, shift)),
        bias_there(placed(bias, shift)),
        out_there(placed(filled(s.rows * s.columns + kBehind), shift)) {}

  std::vector<float> result() const { return backend_.to_host(out_there).to_vector<float>(); }

  static constexpr std::int64_t kBehind = 100;
  static constexpr float kUntouched = 12345;

 private:
  static Tensor filled(std::int64_t count) {
    Tensor values = Tensor::empty(f32, {count});
    std::fill_n(values.data<float>(), count, kUntouched);
    return values;
  }
  Tensor placed(const Tensor& values, int shift) const {
    const Tensor all = backend_.allocate(f32, {values.numel() + shift});
    const Tensor view(f32, values.shape(), contiguous_strides(values.shape()), shift, all.buffer());
    backend_.copy(view, values);
    return view;
  }

  const Backend& backend_;

 public:
  const Tensor a, b, bias;  // on the host
  const Tensor a_there, b_there, bias_there, out_there;
};

void expect_exact(const std::vector<float>& found, const std::vector<double>& want) {
  ASSERT_EQ(found.size(), want.size() + Operands::kBehind);
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(double{found[i]}, want[i]) << i;
  }
  for (std::size_t i = want.size(); i < found.size(); ++i) {
    ASSERT_EQ(found[i], Operands::kUntouched) << i;
  }
}

void check_sums(const Backend& backend, const cuda::BlasSizes& s) {
  SCOPED_TRACE(testing::Message() << s.rows << " by " << s.columns << " over " << s.inner << ", "
                                  << s.transpose_a << s.transpose_b);
  ASSERT_TRUE(cuda::TallReduction::fits(s));
  const cuda::Context context = cuda::shared_context(0);
  cuda::TallReduction product(context, s);
  for (const int shift : {0, 1}) {
    const Operands x(backend, s, shift);
    {
      const auto held = context->hold();
      const void *const a = x.a_there.raw(), *const b = x.b_there.raw();
      product.run({&a, 1}, {&b, 1}, x.out_there.raw());
    }
    expect_exact(x.result(), multiplied(x.a, x.b, s));
  }
}

TEST_F(CudaTall, SumsOfAllLayouts) {
  const std::unique_ptr<Backend> backend = make_cuda_backend(0);
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const std::int64_t inner : {4096, 4097, 100'003}) {
        check_sums(*backend, {.dtype = f32,
                              .rows = 20,
                              .columns = 33,
                              .inner = inner,
                              .transpose_a = transpose_a,
                              .transpose_b = transpose_b});
      }
    }
  }
}

// As gradients of weights have them, and the other way round, at sizes that no tile is made for.
TEST_F(CudaTall, SumsOfOddSizes) {
  const std::unique_ptr<Backend> backend = make_cuda_backend(0);
  const std::pair<std::int64_t, std::int64_t> sizes[] = {
      {1, 1},   {1, 20},  {20, 1},  {3, 33},  {33, 3}, {20, 20}, {20, 60},
      {60, 20}, {32, 64}, {64, 33}, {60, 60}, {32, 3}, {64, 64}, {1, 64}};
  for (const auto& [rows, columns] : sizes) {
    const bool along = rows % 2 == 1;
    for (const std::int64_t inner : {along ? 4097 : 4096, 100'003}) {
      check_sums(*backend, {.dtype = f32,
                            .rows = rows,
                            .columns = columns,
                            .inner = inner,
                            .transpose_a = inner != 100'003 || !along,
                            .transpose_b = inner == 100'003 && columns % 2 == 1});
    }
  }
}

// Several matrices at once, aligned or not, with ones.
TEST_F(CudaTall, JointSums) {
  const std::unique_ptr<Backend> backend = make_cuda_backend(0);
  const std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> widths[] = {
      {{20}, {20, 1}},      {{20, 20, 20, 20}, {20, 1}},
      {{3, 4}, {8, 5, 12}}, {{48, 48}, {32, 8, 3}},
      {{20, 3}, {}},        {{12}, {63}}};
  for (const auto& [lefts, rights] : widths) {
    for (const std::int64_t rows : {1, 4097, 160'000}) {
      const auto results = [&](const std::string& device) {
        Session session({.device = device});
        Graph graph = session.graph();
        Feeds feeds;
        const auto matrices = [&](const std::vector<std::int64_t>& side, std::uint32_t seed) {
          Vars found;
          for (const std::int64_t width : side) {
            const std::string name = "m" + std::to_string(++seed);
            const std::int64_t shift = seed % 2;  // of the address, in elements
            feeds[name] = quarters({shift + rows * width}, seed);
            const Var all = graph.input(name, f32, {shift + rows * width});
            found.push_back(reshape(slice(all, {{0, shift, shift + rows * width}}), {rows, width}));
          }
          return found;
        };
        const Vars left = matrices(lefts, 10), right = matrices(rights, 20);
        return session.compile({row_products(left, right, true)})(feeds)[0].to_vector<float>();
      };
      ASSERT_EQ(results("cuda"), results("cpu")) << lefts.size() << " lefts of " << rows;
    }
  }
}

// Errors relative to the sum of positive numbers, where those of sums one by one add up.
TEST_F(CudaTall, LongSumsAreAsExactAsThoseOfTheLibrary) {
  constexpr std::int64_t kCount = 1'000'003, kRows = 20, kColumns = 20;
  const cuda::BlasSizes s{
      .dtype = f32, .rows = kRows, .columns = kColumns, .inner = kCount, .transpose_a = true};
  const std::unique_ptr<Backend> backend = make_cuda_backend(0);
  const auto drawn = [](const Shape& shape, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> draw(0, 1);
    Tensor values = Tensor::empty(f32, shape);
    std::generate_n(values.data<float>(), values.numel(), [&] { return draw(generator); });
    return values;
  };
  const Tensor a = drawn({kCount, kRows}, 1), b = drawn({kCount, kColumns}, 2);
  const Tensor a_there = backend->to_device(a), b_there = backend->to_device(b);
  const Tensor out = backend->allocate(f32, {kRows, kColumns});
  const std::vector<double> want = multiplied(a, b, s);
  const cuda::Context context = cuda::shared_context(0);
  const void *const a_at = a_there.raw(), *const b_at = b_there.raw();
  const auto result = [&](auto run) {
    {
      const auto held = context->hold();
      run();
    }
    return backend->to_host(out).to_vector<float>();
  };
  const auto largest_error = [&](const std::vector<float>& found) {
    double largest = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      largest = std::max(largest, std::abs(double{found[i]} - want[i]) / want[i]);
    }
    return largest;
  };
  cuda::TallReduction ours(context, s);
  const cuda::BlasProduct library(std::make_shared<const cuda::BlasLibrary>(context, false), s);
  const auto by_us = [&] { ours.run({&a_at, 1}, {&b_at, 1}, out.raw()); };
  const auto by_library = [&] { library.run(a_at, b_at, out.raw()); };
  const std::vector<float> found = result(by_us);
  constexpr double kFewRoundings = 1.5e-7;
  EXPECT_LE(largest_error(found), std::max(largest_error(result(by_library)), kFewRoundings));
  for (int again = 0; again < 3; ++again) {
    const std::vector<float> same = result(by_us);
    ASSERT_EQ(std::memcmp(same.data(), found.data(), same.size() * sizeof(float)), 0);
  }
}

void check_product(const Backend& backend, const cuda::BlasSizes& s) {
  SCOPED_TRACE(testing::Message() << s.rows << " rows, " << s.inner << " by " << s.columns);
  ASSERT_TRUE(cuda::TallProduct::fits(s));
  const cuda::Context context = cuda::shared_context(0);
  cuda::TallProduct product(context, s);
  for (const int shift : {0, 1}) {
    const Operands x(backend, s, shift);
    {
      const auto held = context->hold();
      product.run(x.a_there.raw(), x.b_there.raw(), x.out_there.raw(),
                  s.bias ? x.bias_there.raw() : nullptr);
    }
    std::vector<double> want = multiplied(x.a, x.b, s);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const auto column = static_cast<std::int64_t>(i) % s.columns;
      want[i] += s.bias ? double{x.bias.data<float>()[column]} : 0;
      want[i] = s.relu ? std::max(want[i], 0.0) : want[i];
    }
    expect_exact(x.result(), want);
  }
}

TEST_F(CudaTall, ProductsOfOddSizes) {
  const std::unique_ptr<Backend> backend = make_cuda_backend(0);
  const std::pair<std::int64_t, std::int64_t> sizes[] = {
      {1, 1},   {1, 20},  {20, 1},  {3, 33},  {33, 3}, {20, 20}, {20, 60},
      {60, 20}, {32, 64}, {64, 33}, {60, 60}, {32, 3}, {64, 64}, {1, 64}};
  int turn = 0;
  for (const auto& [inner, columns] : sizes) {
    for (const std::int64_t rows : {4096, 4097, 100'003}) {
      check_product(*backend, {.dtype = f32,
                               .rows = rows,
                               .columns = columns,
                               .inner = inner,
                               .transpose_b = turn % 2 == 1,
                               .bias = turn % 3 == 1,
                               .relu = turn % 5 == 1});
      ++turn;
    }
  }
}

// Through graphs: views that begin anywhere or have rows apart, stacks of matrices, what is added
// behind products, and their gradients. All numbers are exact.
TEST_F(CudaTall, GraphsGiveWhatTheHostGives) {
  constexpr std::int64_t kSteps = 50, kBatch = 101, kRows = kSteps * kBatch;
  const auto results = [](const std::string& device) {
    Session session({.device = device});
    Graph graph = session.graph();
    const Var x = graph.input("x", f32, {1 + kRows * 20});
    const Var y = graph.input("y", f32, {kRows, 33});
    const Var w = graph.input("w", f32, {20, 33}), bias = graph.input("bias", f32, {33});
    const Var a = reshape(slice(x, {{0, 1, 1 + kRows * 20}}), {kRows, 20});
    const Var apart = slice(y, {{1, 5, 25}});
    const Var stacked = reshape(a, {kSteps, kBatch, 20});
    const Var loss = sum(matmul(stacked, w) * reshape(y, {kSteps, kBatch, 33}));
    const Executable run =
        session.compile({matmul(a, y, {.transpose_a = true}), matmul(y, a, {.transpose_a = true}),
                         matmul(apart, a, {.transpose_a = true}), matmul(transpose(a), y),
                         matmul(a, w), relu(matmul(a, w) + bias),
                         relu(matmul(apart, w) + bias) * 2 + y, matmul(y, w, {.transpose_b = true}),
                         matmul(stacked, w), grad(loss, w), sum(a, {0}), sum_to(stacked, {20})});
    return run({{"x", quarters({1 + kRows * 20}, 1)},
                {"y", quarters({kRows, 33}, 2)},
                {"w", quarters({20, 33}, 3)},
                {"bias", quarters({33}, 4)}})
        .tensors();
  };
  const std::vector<Tensor> cpu = results("cpu"), gpu = results("cuda");
  ASSERT_EQ(cpu.size(), gpu.size());
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const std::vector<float> want = cpu[i].to_vector<float>(), found = gpu[i].to_vector<float>();
    ASSERT_EQ(want, found) << "result " << i;
  }
}

}  // namespace antichain::tall_test
