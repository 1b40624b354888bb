// Softmax, cross-entropy and the norms on random shapes: every kernel close to the reference, the
// same bits on any number of threads.
#include <gtest/gtest.h>

#include "antichain/ops/catalogue.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/normalization_gradients.h"
#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"

namespace antichain::cpu::rowwise_test {

constexpr int kRounds = 60;

class Rowwise : public testing::Test {
 protected:
  DType dtype() { return draw_.one_of({f32, f32, f64, bf16, f16}); }
  // Now and then large enough to be cut into chunks, in few or in many lines.
  Shape shape(std::int64_t least_rank, std::int64_t most_rank) {
    if (draw_.between(0, 9) == 0 && least_rank <= 2) {
      return draw_.one_of<Shape>({{2, 70001}, {70001, 2}, {3, 40009}, {300, 257}});
    }
    return draw_.shape(draw_.between(least_rank, most_rank), 20000);
  }
  // That of the channels: mostly the usual ones, behind the batch or last.
  int axis(const Tensor& x) {
    return static_cast<int>(
        draw_.one_of<std::int64_t>({1, x.rank() - 1, draw_.between(0, x.rank() - 1)}));
  }
  void check(const char* op, const std::vector<Tensor>& inputs,
             std::function<std::vector<Var>(std::span<const Var>)> build) {
    const DType type = inputs[0].dtype();
    checked_ += expect_kernels_agree(
        {find_op(op), inputs, [build](Graph&, std::span<const Var> in) { return build(in); }},
        tolerance_of(type, inputs[0].numel()),
        std::string(op) + " of " + std::string(name(type)) + to_string(inputs[0].shape()));
  }
  void TearDown() override { EXPECT_GE(checked_, kRounds); }

  Draw draw_{31};
  int checked_ = 0;
};

TEST_F(Rowwise, Softmax) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor x = draw_.values(dtype(), shape(1, 4), -8, 8);
    const std::int64_t axis = draw_.between(0, x.rank() - 1);
    check("softmax", {x}, [axis](auto in) { return std::vector<Var>{softmax(in[0], axis)}; });
    check("log_softmax", {x},
          [axis](auto in) { return std::vector<Var>{log_softmax(in[0], axis)}; });
  }
}

TEST_F(Rowwise, CrossEntropy) {
  for (int round = 0; round < kRounds; ++round) {
    Shape logits = shape(1, 3);
    logits.back() = std::max<std::int64_t>(logits.back(), 1);
    const Shape rows(logits.begin(), logits.end() - 1);
    check("cross_entropy",
          {draw_.values(dtype(), logits, -8, 8), draw_.indices(rows, logits.back())},
          [](auto in) { return std::vector<Var>{cross_entropy(in[0], in[1])}; });
  }
}

TEST_F(Rowwise, LayerNorm) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor x = draw_.values(dtype(), shape(1, 4), -1, 3);
    const std::int64_t axes = draw_.between(1, x.rank());
    const Shape normalised(x.shape().end() - axes, x.shape().end());
    check("layer_norm",
          {x, draw_.values(x.dtype(), normalised), draw_.values(x.dtype(), normalised)},
          [axes](auto in) { return std::vector<Var>{layer_norm(in[0], in[1], in[2], axes)}; });
  }
}

TEST_F(Rowwise, BatchNorm) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor x = draw_.values(dtype(), shape(2, 4), -1, 3);
    const int axis = this->axis(x);
    const Shape channels = {x.shape()[static_cast<std::size_t>(axis)]};
    const Tensor scale = draw_.values(x.dtype(), channels),
                 bias = draw_.values(x.dtype(), channels);
    check("batch_norm", {x, scale, bias}, [axis](auto in) {
      const BatchNorm result = batch_norm(in[0], in[1], in[2], 1e-5, axis);
      return std::vector<Var>{result.output, result.mean, result.variance};
    });
    check("batch_norm_inference",
          {x, scale, bias, draw_.values(x.dtype(), channels),
           draw_.values(x.dtype(), channels, 0.5, 2)},
          [axis](auto in) {
            return std::vector<Var>{
                batch_norm_inference(in[0], in[1], in[2], in[3], in[4], 1e-5, axis)};
          });
  }
}

TEST_F(Rowwise, SoftmaxGradient) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor y = draw_.values(dtype(), shape(1, 4), 0, 1);
    check("softmax_gradient", {draw_.values(y.dtype(), y.shape()), y},
          [](auto in) { return std::vector<Var>{softmax_gradient(in[0], in[1])}; });
  }
}

TEST_F(Rowwise, BatchNormGradient) {
  for (int round = 0; round < kRounds; ++round) {
    const Tensor x = draw_.values(dtype(), shape(2, 4), -1, 3);
    const int axis = this->axis(x);
    const Shape channels = {x.shape()[static_cast<std::size_t>(axis)]};
    check("batch_norm_gradient",
          {draw_.values(x.dtype(), x.shape()), x, draw_.values(x.dtype(), channels),
           draw_.values(x.dtype(), channels), draw_.values(x.dtype(), channels, 0.5, 2)},
          [axis](auto in) {
            const BatchNormGradient result =
                batch_norm_gradient(in[0], in[1], in[2], in[3], in[4], 1e-5, axis);
            return std::vector<Var>{result.x, result.scale, result.bias};
          });
  }
}

}  // namespace antichain::cpu::rowwise_test
