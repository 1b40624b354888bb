// Many sequence lengths through one executable: compiled once, made ready for each length, with
// bounded memory.
#include <gtest/gtest.h>

#include "antichain/antichain.h"

namespace antichain::dynamic_shapes_test {

constexpr std::int64_t kLengths = 200, kKept = 16;

struct Model {
  std::string name;
  Var (*build)(Graph& graph);  // the loss of "x"[length, 3, 8]
};

const std::vector<Model>& models() {
  static const std::vector<Model> kAll = {
      {"gru",
       [](Graph& graph) {
         const Var xs = graph.input("x", f32, {"length", 3, 8});
         return mean(square(nn::linear(index(nn::gru(xs, 8).last, 0, 0), 4)));
       }},
      {"transformer",
       [](Graph& graph) {
         const Var x = graph.input("x", f32, {"length", 3, 8});
         return mean(square(nn::transformer_block(transpose(x, {1, 0, 2}), {.heads = 2})));
       }},
  };
  return kAll;
}

class DynamicShapes : public ::testing::TestWithParam<Model> {
 protected:
  Session session;
  Graph graph = session.graph();
  Var loss = GetParam().build(graph);

  Executable gradients() {
    std::vector<Var> outputs = grad(loss, parameters(graph));
    outputs.push_back(loss);
    return session.compile(outputs);
  }
  static Feeds of_length(std::int64_t length) {
    Tensor x = Tensor::empty(f32, {length, 3, 8});
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      x.data<float>()[i] = static_cast<float>(i * 37 % 101) / 101 - 0.5F;
    }
    return {{"x", x}};
  }
};

TEST_P(DynamicShapes, ManyLengthsKeepFewFrames) {
  const Executable run = gradients();
  std::size_t largest = 0;
  for (std::int64_t length = 1; length <= kLengths; ++length) {
    run(of_length(length));
    largest = std::max(largest, run.memory_report(of_length(length)).peak_bytes);
    EXPECT_EQ(run.memory_bytes(), largest) << "one piece of memory, as large as the largest length";
  }
  EXPECT_EQ(run.statistics().frames_made, static_cast<std::size_t>(kLengths));
  EXPECT_EQ(run.statistics().frames_kept, static_cast<std::size_t>(kKept));
  EXPECT_GT(run.statistics().frame_seconds, 0);
}

TEST_P(DynamicShapes, LengthsThatComeBackNeedNoNewFrame) {
  const Executable run = gradients();
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t length = 1; length <= kKept; ++length) {
      run(of_length(length));
    }
  }
  EXPECT_EQ(run.statistics().frames_made, static_cast<std::size_t>(kKept));
}

TEST_P(DynamicShapes, WhatRanBeforeChangesNothing) {
  const Executable run = gradients();
  for (std::int64_t length : {200, 1, 77, 200, 3}) {
    const Results seen = run(of_length(length)), alone = gradients()(of_length(length));
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_TRUE(bit_equal(seen[i], alone[i])) << "length " << length << ", result " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DynamicShapes, ::testing::ValuesIn(models()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace antichain::dynamic_shapes_test
