// The strided copy against Tensor::copy_from, on layouts of every kind.
#include "antichain/backends/cpu/movement/copy_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "antichain/backends/cpu/simd/transpose_loops.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"

namespace antichain::cpu::copy_plan_test {

Tensor plan_and_run(const Tensor& view) {
  const Tensor out = Tensor::zeros(view.dtype(), view.shape());
  CopyPlan(Layout::of(out), Layout::of(view), size_of(view.dtype())).run(out.raw(), view.raw());
  return out;
}

// A view of random values: axes reordered, sliced, reversed or repeated.
Tensor random_view(Draw& draw, std::int64_t max_elements) {
  const std::int64_t rank = draw.between(0, 5);
  Tensor view = draw.values(draw.one_of({i8, bf16, f32, i64, boolean}),
                            draw.shape(rank, max_elements), 0, 100);
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(i) - 1))]);
  }
  view = view.transpose(order);
  for (int axis = 0; axis < view.rank(); ++axis) {
    const std::int64_t size = view.shape()[static_cast<std::size_t>(axis)];
    switch (size == 0 ? 3 : draw.between(0, 5)) {
      case 0: view = view.slice(axis, size - 1, size, -1); break;
      case 1: view = view.slice(axis, 0, (size + 1) / 2, 2); break;
      case 2: {
        Shape repeated = view.shape();
        repeated[static_cast<std::size_t>(axis)] = 3;
        view = view.slice(axis, size / 2, 1).broadcast_to(repeated);
        break;
      }
      default: break;
    }
  }
  return view;
}

TEST(CopyPlan, EveryLevelTransposes) {
  Draw draw(4);
  for (int round = 0; round < 200; ++round) {
    const DType dtype = draw.one_of({i8, bf16, f32, i64});
    const std::int64_t rows = draw.between(0, 70), columns = draw.between(0, 70);
    const auto bytes = static_cast<std::int64_t>(size_of(dtype));
    const Tensor x = draw.values(dtype, {rows, columns}, 0, 100);
    for_each_simd_level([&]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
      if (!cpu_supports(kLevel).yes) {
        return;
      }
      const Tensor out = Tensor::zeros(dtype, {columns, rows});
      transpose_loop<kLevel>(size_of(dtype))(static_cast<std::byte*>(out.raw()),
                                             static_cast<const std::byte*>(x.raw()),
                                             {.size = columns, .to = rows * bytes, .from = bytes},
                                             {.size = rows, .to = bytes, .from = columns * bytes});
      EXPECT_TRUE(bit_equal(out, x.transpose(std::vector<int>{1, 0}).contiguous()))
          << name(kLevel) << ", " << name(dtype) << ", " << rows << " x " << columns;
    });
  }
}

TEST(CopyPlan, CopiesAnyView) {
  Draw draw(1);
  for (int round = 0; round < 400; ++round) {
    const Tensor view = random_view(draw, 20000);
    EXPECT_TRUE(bit_equal(plan_and_run(view), view.contiguous()))
        << "round " << round << ": shape " << to_string(view.shape()) << ", strides "
        << to_string(view.strides());
  }
}

TEST(CopyPlan, WritesAnyWindow) {
  Draw draw(2);
  for (int round = 0; round < 100; ++round) {
    const Tensor source = random_view(draw, 5000);
    Shape around = source.shape();
    for (std::int64_t& size : around) {
      size += 3;
    }
    Tensor got = Tensor::zeros(source.dtype(), around), want = got.clone();
    Tensor window = want;
    for (int axis = 0; axis < source.rank(); ++axis) {
      window = window.slice(axis, 2, source.shape()[static_cast<std::size_t>(axis)]);
    }
    window.copy_from(source);
    CopyPlan(Layout::of(got).window(Shape(around.size(), 2), source.shape()), Layout::of(source),
             size_of(source.dtype()))
        .run(got.raw(), source.raw());
    EXPECT_TRUE(bit_equal(got, want)) << "round " << round;
  }
}

TEST(CopyPlan, LargeCopiesAreTheSameOnAnyNumberOfThreads) {
  const int before = num_threads();
  Draw draw(3);
  const Tensor x = draw.values(f32, {3, 257, 521});
  for (const std::vector<int>& order :
       {std::vector<int>{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    const Tensor view = x.transpose(order);
    for (const int threads : {1, 2, 3, 4, 7}) {
      set_num_threads(threads);
      EXPECT_TRUE(bit_equal(plan_and_run(view), view.contiguous())) << threads << " threads";
    }
  }
  set_num_threads(before);
}

}  // namespace antichain::cpu::copy_plan_test
