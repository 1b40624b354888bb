// Element-wise kernels: views and broadcasting, in place, on any number of threads.
#include "antichain/backends/cpu/elementwise/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/elementwise/elementwise.h"

namespace antichain::cpu::elementwise_test {

std::vector<const OpDef*> all_elementwise() {
  std::vector<const OpDef*> all;
  for (const auto& family : {elementwise_unary_family(), elementwise_binary_family(),
                             elementwise_gradient_family(), elementwise_other_family()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

const OpDef& find_def(std::string_view name) {
  for (const OpDef* def : all_elementwise()) {
    if (def->name == name) {
      return *def;
    }
  }
  ADD_FAILURE() << "no op " << name;
  return add_def();
}

// Values that differ from their neighbours, some of them halves, both signs.
Tensor values(DType dtype, const Shape& shape) {
  Tensor result = Tensor::empty(f64, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<double>()[i] = static_cast<double>(i * 7 % 23 - 11) / 2;
  }
  return result.cast(dtype);
}

struct UsableKernel : Kernel {
  const OpDef* def;
};

// The kernels of an op that this CPU can run.
std::vector<UsableKernel> usable_kernels(const OpDef& def) {
  KernelTable table;
  register_elementwise(table);
  std::vector<UsableKernel> usable;
  std::size_t n = 0;
  for_each_simd_level([&](auto level) {
    const Kernel& kernel = table.candidates(def)[n++];
    EXPECT_EQ(kernel.name, std::string(name(level)) + " elementwise");
    if (cpu_supports(level).yes) {
      usable.push_back({kernel, &def});
    }
  });
  return usable;
}

// Calls f with the context that a kernel sees.
template <class F>
void with_context(const OpDef& def, std::span<const Tensor> inputs, Tensor& out, const Attrs& attrs,
                  F&& f) {
  Graph graph;
  std::vector<const Tensor*> pointers;
  std::vector<Var> values;
  for (const Tensor& input : inputs) {
    const Dims shape = to_dims(input.shape());
    values.push_back(
        graph.input(std::to_string(values.size()), input.dtype(), {shape.begin(), shape.end()}));
    pointers.push_back(&input);
  }
  Tensor* const outputs[] = {&out};
  const std::uint8_t wanted[] = {1};
  KernelContext context;
  context.op = graph.add(def, values, attrs);
  context.inputs = pointers;
  context.outputs = outputs;
  context.attrs = &attrs;
  context.wanted = wanted;
  f(context);
}

Tensor run(const UsableKernel& kernel, const std::vector<Tensor>& inputs, Tensor out,
           const Attrs& attrs = {}) {
  with_context(*kernel.def, inputs, out, attrs,
               [&](KernelContext& context) { kernel.plan(context)(context); });
  return out;
}

Tensor reference(const OpDef& def, std::vector<Tensor> inputs, DType dtype, const Shape& shape) {
  for (Tensor& input : inputs) {
    input = input.contiguous();
  }
  Tensor out = Tensor::empty(dtype, shape);
  with_context(def, inputs, out, {}, def.reference);
  return out;
}

void expect_like_reference(const std::string& op, const std::vector<Tensor>& inputs, DType dtype,
                           const Shape& shape) {
  const OpDef& def = find_def(op);
  const Tensor want = reference(def, inputs, dtype, shape);
  for (const UsableKernel& kernel : usable_kernels(def)) {
    EXPECT_TRUE(bit_equal(run(kernel, inputs, Tensor::empty(dtype, shape)), want))
        << kernel.name << " of " << op << " to " << to_string(shape);
  }
}

TEST(Elementwise, EveryOpHasAKernelPerLevel) {
  KernelTable table;
  register_elementwise(table);
  std::size_t levels = 0;
  for_each_simd_level([&](auto) { ++levels; });
  for (const OpDef* def : all_elementwise()) {
    EXPECT_EQ(table.candidates(*def).size(), levels) << def->name;
  }
}

TEST(Elementwise, BroadcastsAlongAnyAxes) {
  const std::vector<std::vector<Shape>> cases = {
      {{5}, {5}},
      {{}, {}},
      {{3, 1, 2}, {5, 1}},
      {{1000, 3}, {3}},
      {{700, 3}, {700, 1}},
      {{40, 100}, {40, 1}},
      {{40, 2000}, {40, 1}},
      {{40, 2000}, {2000}},
      {{3, 700}, {1, 700}},
      {{6, 1, 70}, {1, 9, 1}},
      {{4, 5, 6, 7}, {5, 1, 7}},
      {{2000}, {1}},
      {{0, 3}, {3}},
      {{50000}, {}},
      {{300, 200}, {200}},
      {{300, 200}, {300, 1}},
  };
  for (const std::vector<Shape>& shapes : cases) {
    for (DType dtype : {f32, f64, bf16, i8}) {
      const Tensor a = values(dtype, shapes[0]), b = values(dtype, shapes[1]);
      Shape shape(std::max(a.shape().size(), b.shape().size()), 1);
      for (const Shape& one : shapes) {
        for (std::size_t i = 0; i < one.size(); ++i) {
          std::int64_t& size = shape[shape.size() - one.size() + i];
          size = one[i] == 1 ? size : one[i];
        }
      }
      expect_like_reference("subtract", {a, b}, dtype, shape);
      expect_like_reference("subtract", {b, a}, dtype, shape);
      expect_like_reference("less", {a, b}, boolean, shape);
      expect_like_reference("select", {values(boolean, shapes[1]), a, b}, dtype, shape);
    }
  }
}

TEST(Elementwise, TakesViewsOfAnyStrides) {
  const int swap[] = {1, 0}, turn[] = {2, 0, 1};
  for (DType dtype : {f32, bf16, f64, u8}) {
    const Tensor square = values(dtype, {90, 90}), block = values(dtype, {11, 13, 75});
    const Tensor transposed = square.transpose(swap);
    expect_like_reference("add", {square, transposed}, dtype, {90, 90});
    expect_like_reference("add", {transposed, transposed}, dtype, {90, 90});
    const Tensor flipped = square.slice(1, 89, 90, -1).slice(0, 89, 90, -1);
    expect_like_reference("subtract", {flipped, square}, dtype, {90, 90});
    const Tensor strided = block.slice(2, 3, 30, 2).slice(1, 12, 6, -2);
    expect_like_reference("negate", {strided}, dtype, {11, 6, 30});
    expect_like_reference("multiply", {block.transpose(turn), block.transpose(turn).slice(0, 4, 1)},
                          dtype, {75, 11, 13});
    expect_like_reference("square", {values(dtype, {1, 80}).broadcast_to({70, 80})}, dtype,
                          {70, 80});
  }
}

TEST(Elementwise, WritesOverAnInput) {
  for (DType dtype : {f32, f64, bf16, f16, i32}) {
    const Tensor a = values(dtype, {40007}), b = values(dtype, {1});
    for (const UsableKernel& kernel : usable_kernels(find_def("subtract"))) {
      const Tensor want = run(kernel, {a, b}, Tensor::empty(dtype, {40007}));
      const Tensor both = a.clone();
      EXPECT_TRUE(bit_equal(run(kernel, {both, b}, both), want)) << kernel.name;
    }
  }
  for (const char* op : {"sin", "exp", "gelu"}) {
    const Tensor x = values(f32, {40007});
    x.data<float>()[5] = 1e30F;
    for (const UsableKernel& kernel : usable_kernels(find_def(op))) {
      const Tensor want = run(kernel, {x}, Tensor::empty(f32, {40007}));
      const Tensor both = x.clone();
      EXPECT_TRUE(bit_equal(run(kernel, {both}, both), want)) << kernel.name << " of " << op;
    }
  }
}

TEST(Elementwise, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int threads_before = num_threads();
  for (DType dtype : {f32, bf16, f16}) {
    const Tensor a = values(dtype, {331, 313}), row = values(dtype, {313}),
                 column = values(dtype, {331, 1});
    for (const char* op : {"divide", "pow", "modulo"}) {
      for (const UsableKernel& kernel : usable_kernels(find_def(op))) {
        for (const Tensor& b : {a, row, column}) {
          set_num_threads(1);
          const Tensor want = run(kernel, {a, b}, Tensor::empty(dtype, {331, 313}));
          for (int threads : {2, 3, 4, 7}) {
            set_num_threads(threads);
            const Tensor got = run(kernel, {a, b}, Tensor::empty(dtype, {331, 313}));
            EXPECT_TRUE(bit_equal(got, want)) << kernel.name << " of " << op;
          }
        }
      }
    }
    for (const char* op : {"exp", "gelu", "sin", "log"}) {
      for (const UsableKernel& kernel : usable_kernels(find_def(op))) {
        set_num_threads(1);
        const Tensor want = run(kernel, {a}, Tensor::empty(dtype, {331, 313}));
        for (int threads : {2, 3, 4, 7}) {
          set_num_threads(threads);
          EXPECT_TRUE(bit_equal(run(kernel, {a}, Tensor::empty(dtype, {331, 313})), want))
              << kernel.name << " of " << op;
        }
      }
    }
  }
  set_num_threads(threads_before);
}

// An element's value depends on that element alone, not on where it stands.
TEST(Elementwise, AnElementDoesNotDependOnItsPosition) {
  const Tensor x = values(f32, {533});
  for (const OpDef* def : elementwise_unary_family()) {
    for (const UsableKernel& kernel : usable_kernels(*def)) {
      const DType dtype = def->name == "logical_not" || def->name == "is_finite" ? boolean : f32;
      const Tensor all = run(kernel, {x}, Tensor::empty(dtype, {533}));
      for (std::int64_t i = 0; i < 533; i += 41) {
        const Tensor alone = run(kernel, {x.slice(0, i, 1)}, Tensor::empty(dtype, {1}));
        EXPECT_TRUE(bit_equal(alone, all.slice(0, i, 1).clone()))
            << kernel.name << " " << def->name;
      }
    }
  }
}

Tensor run_cast(const UsableKernel& kernel, const Tensor& input, DType to) {
  return run(kernel, {input}, Tensor::empty(to, input.shape()), Attrs({{"dtype", to}}));
}

TEST(Elementwise, CastsAsTensorsDo) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor wide = Tensor::of<double>({33}, {0.0,
                                                -0.0,
                                                1,
                                                -1,
                                                0.5,
                                                -0.5,
                                                1.5,
                                                127,
                                                127.5,
                                                128,
                                                -128,
                                                -128.5,
                                                -129,
                                                255,
                                                255.99,
                                                256,
                                                300,
                                                65504,
                                                65520,
                                                1e5,
                                                2147483647,
                                                2147483648.0,
                                                -2147483648.0,
                                                -2147483649.0,
                                                9223372036854775807.0,
                                                -9223372036854775808.0,
                                                1e19,
                                                -1e19,
                                                1e300,
                                                6e-8,
                                                1e-40,
                                                inf,
                                                -inf});
  for (DType from : kAnyDType.members()) {
    std::vector<double> elements = wide.cast(from).to_vector<double>();
    if (is_float(from)) {
      elements.push_back(std::nan(""));
    }
    const Tensor input =
        Tensor::of<double>({static_cast<std::int64_t>(elements.size())}, elements).cast(from);
    for (DType to : kAnyDType.members()) {
      for (const UsableKernel& kernel : usable_kernels(cast_def())) {
        EXPECT_TRUE(bit_equal(run_cast(kernel, input, to), input.cast(to).clone()))
            << kernel.name << " from " << name(from) << " to " << name(to);
      }
    }
  }
}

TEST(Elementwise, CastsEveryHalf) {
  const Tensor halves = Tensor::empty(f16, {1 << 16});
  for (int i = 0; i < 1 << 16; ++i) {
    halves.data<float16>()[i].bits = static_cast<std::uint16_t>(i);
  }
  for (const UsableKernel& kernel : usable_kernels(cast_def())) {
    const Tensor wide = run_cast(kernel, halves, f32);
    const std::vector<float> got = wide.to_vector<float>(), want = halves.to_vector<float>();
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])));
    }
    for (DType to : {f16, bf16}) {
      EXPECT_TRUE(bit_equal(run_cast(kernel, wide, to), wide.cast(to))) << kernel.name;
    }
  }
}

}  // namespace antichain::cpu::elementwise_test
