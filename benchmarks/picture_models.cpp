#include "benchmarks/picture_models.h"

#include "antichain/antichain.h"

namespace antichain::bench {

namespace {

// A convolution that keeps the size, or divides it by the stride, and its norm.
Var conv_norm(Var x, std::int64_t channels, std::int64_t window, std::int64_t stride,
              const std::string& name, std::int64_t groups = 1) {
  const ScopeGuard scope(x.graph(), name);
  const Var y = nn::conv2d(x, channels, {window, window},
                           {.stride = {stride, stride},
                            .padding = {window / 2, window / 2},
                            .groups = groups,
                            .bias = false,
                            .weight = nn::he_normal});
  return nn::batch_norm(y, {.training = true});
}

Var block(Var x, std::int64_t channels, std::int64_t stride, const std::string& name) {
  const ScopeGuard scope(x.graph(), name);
  const Var y = conv_norm(relu(conv_norm(x, channels, 3, stride, "1")), channels, 3, 1, "2");
  const bool same_shape = stride == 1 && x.dim(1) == Dim(channels);
  return relu(y + (same_shape ? x : conv_norm(x, channels, 1, stride, "shortcut")));
}

}  // namespace

Var resnet18(Var x, std::int64_t classes) {
  std::int64_t channels = 64;
  Var y = relu(conv_norm(x, channels, 3, 1, "stem"));
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t stride = stage == 0 ? 1 : 2;
    channels *= stride;
    y = block(y, channels, stride, "stage" + std::to_string(stage) + ".0");
    y = block(y, channels, 1, "stage" + std::to_string(stage) + ".1");
  }
  return nn::linear(nn::global_avg_pool(y), classes);
}

Var mobilenet(Var x, std::int64_t classes) {
  struct Block {
    std::int64_t channels, stride;
  };
  const std::vector<Block> blocks = {{64, 1},  {128, 1},  {128, 1}, {256, 1}, {256, 1},
                                     {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                                     {512, 1}, {1024, 2}, {1024, 1}};
  std::int64_t channels = 32;
  Var y = relu(conv_norm(x, channels, 3, 1, "stem"));
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    const ScopeGuard scope(x.graph(), "block" + std::to_string(n));
    y = relu(conv_norm(y, channels, 3, blocks[n].stride, "depthwise", channels));
    channels = blocks[n].channels;
    y = relu(conv_norm(y, channels, 1, 1, "pointwise"));
  }
  return nn::linear(nn::global_avg_pool(y), classes);
}

}  // namespace antichain::bench
