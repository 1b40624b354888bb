// Ops that move elements, on random shapes: every kernel gives the reference's bits.
#include <gtest/gtest.h>

#include <numeric>

#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"

namespace antichain::cpu::movement_test {

constexpr int kRounds = 40;                // per op
constexpr std::int64_t kElements = 60000;  // several tasks in the wider types

class Movement : public testing::Test {
 protected:
  Tensor random(std::int64_t least_rank = 0) {
    const Shape shape = draw_.shape(draw_.between(least_rank, 4), kElements);
    return draw_.values(draw_.one_of({f32, f64, bf16, i8, i64, boolean}), shape, 0, 100);
  }
  Ints starts_in(const Shape& shape, const Shape& sizes) {
    Ints starts;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      starts.push_back(draw_.between(0, shape[i] - sizes[i]));
    }
    return starts;
  }
  Shape window_of(const Shape& shape) {
    Shape sizes;
    for (const std::int64_t size : shape) {
      sizes.push_back(draw_.between(draw_.between(0, size), size));
    }
    return sizes;
  }
  // Checks one use, whose first input is x.
  void check(const OpDef& def, std::vector<Tensor> inputs,
             std::function<Var(std::span<const Var>)> build) {
    const std::string what = def.name + " of " + to_string(inputs[0].shape());
    checked_ += expect_kernels_agree(
        {def, std::move(inputs),
         [build](Graph&, std::span<const Var> in) { return std::vector<Var>{build(in)}; }},
        0, what);
  }
  void TearDown() override { EXPECT_GE(checked_, kRounds / 2); }

  Draw draw_{11};
  int checked_ = 0;
};

TEST_F(Movement, Transpose) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor x = random(2);
    Ints order(static_cast<std::size_t>(x.rank()));
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t i = x.rank() - 1; i > 0; --i) {
      std::swap(order[static_cast<std::size_t>(i)],
                order[static_cast<std::size_t>(draw_.between(0, i))]);
    }
    check(transpose_def(), {x}, [order](auto in) { return transpose(in[0], order); });
  }
}

TEST_F(Movement, BroadcastTo) {
  for (int round = 0; round < kRounds; ++round) {
    Tensor x = random();
    Shape shape = x.shape();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (draw_.between(0, 1) == 0 && shape[i] > 0) {
        x = x.slice(static_cast<int>(i), 0, 1);
      }
    }
    shape.insert(shape.begin(), 3);
    check(broadcast_to_def(), {x.contiguous()},
          [shape](auto in) { return broadcast_to(in[0], to_dims(shape)); });
  }
}

TEST_F(Movement, FlipTileReshape) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor x = random(1);
    Ints axes, counts;
    for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
      if (axis == 0 || draw_.between(0, 1) == 0) {
        axes.push_back(axis);
      }
      counts.push_back(draw_.between(0, 3));
    }
    check(flip_def(), {x}, [axes](auto in) { return flip(in[0], axes); });
    check(tile_def(), {x}, [counts](auto in) { return tile(in[0], counts); });
    check(reshape_def(), {x}, [&x](auto in) { return reshape(in[0], {1, x.numel()}); });
  }
}

TEST_F(Movement, SliceAndSetSlice) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor x = random(1);
    std::vector<SliceRange> ranges;
    Shape sizes;
    for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
      const std::int64_t size = x.shape()[static_cast<std::size_t>(axis)];
      const std::int64_t start = draw_.between(0, size), stop = draw_.between(start, size);
      const std::int64_t step = draw_.one_of<std::int64_t>({1, 1, 1, 2, 5});
      ranges.push_back({axis, start, stop, step});
      sizes.push_back((stop - start + step - 1) / step);
    }
    check(slice_def(), {x}, [ranges](auto in) { return slice(in[0], ranges); });
    check(set_slice_def(), {x, draw_.values(x.dtype(), sizes, 0, 100)},
          [ranges](auto in) { return set_slice(in[0], in[1], ranges); });
  }
}

TEST_F(Movement, DynamicSliceAndDynamicSetSlice) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor x = random(1);
    const Shape sizes = window_of(x.shape());
    Ints starts = starts_in(x.shape(), sizes);
    starts[0] += draw_.between(-3, 3);  // clamped
    const Tensor start = Tensor::of<std::int64_t>({x.rank()}, starts);
    check(dynamic_slice_def(), {x, start},
          [sizes](auto in) { return dynamic_slice(in[0], in[1], to_dims(sizes)); });
    check(dynamic_set_slice_def(), {x, draw_.values(x.dtype(), sizes, 0, 100), start},
          [](auto in) { return dynamic_set_slice(in[0], in[1], in[2]); });
  }
}

TEST_F(Movement, Pad) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor x = random();
    Shape before, after;
    for (int axis = 0; axis < x.rank(); ++axis) {
      before.push_back(draw_.between(0, 3));
      after.push_back(draw_.between(0, 3));
    }
    check(pad_def(), {x}, [=](auto in) { return pad(in[0], to_dims(before), to_dims(after), 1); });
  }
}

TEST_F(Movement, ConcatStackSplit) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor x = random(1);
    const std::int64_t axis = draw_.between(0, x.rank() - 1);
    Shape other = x.shape();
    other[static_cast<std::size_t>(axis)] = draw_.between(0, 5);
    check(concat_def(), {x, draw_.values(x.dtype(), other, 0, 100), x}, [axis](auto in) {
      return concat({in[0], in[1], in[2]}, axis);
    });
    check(stack_def(), {x, draw_.values(x.dtype(), x.shape(), 0, 100)}, [axis](auto in) {
      return stack({in[0], in[1]}, axis + 1);
    });
    const std::int64_t size = x.shape()[static_cast<std::size_t>(axis)];
    const std::int64_t cut = draw_.between(0, size);
    check(split_def(), {x}, [=](auto in) {
      const std::vector<Var> parts = split(in[0], {cut, size - cut}, axis);
      return concat({parts[1], parts[0]}, axis);
    });
  }
}

TEST_F(Movement, Iota) {
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t size = draw_.between(0, 100000);
    const DType dtype = draw_.one_of({f32, f64, bf16, f16, i8, i32, i64, u8});
    checked_ += expect_kernels_agree({iota_def(),
                                      {},
                                      [=](Graph& graph, std::span<const Var>) {
                                        return std::vector<Var>{iota(graph, dtype, size)};
                                      }},
                                     0, "iota of " + std::to_string(size));
  }
}

}  // namespace antichain::cpu::movement_test
