// Training on a GPU: the losses of the CPU, and errors that arrive.
#include <gtest/gtest.h>

#include "antichain/antichain.h"
#include "tests/backends_cuda/gpu.h"

namespace antichain::training_test {

class CudaTraining : public GpuTest {};

std::vector<float> losses_on(const std::string& device, int steps) {
  Session session({.device = device, .seed = 3});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"batch", 20}), y = graph.input("y", i64, {x.dim(0)});
  const std::vector<std::int64_t> widths = {64, 64, 10};
  const Var logits = nn::mlp(nn::dropout(x, {.rate = 0.1}), widths, {.activation = tanh});
  const Var loss = mean(cross_entropy(logits, y));
  const Executable step = session.compile({loss}, {.updates = optim::adam(loss, {.lr = 0.003})});
  Tensor inputs = Tensor::empty(f32, {50, 20}), labels = Tensor::empty(i64, {50});
  for (std::int64_t i = 0; i < inputs.numel(); ++i) {
    inputs.data<float>()[i] = std::sin(static_cast<float>(i));
  }
  for (std::int64_t i = 0; i < 50; ++i) {
    labels.data<std::int64_t>()[i] = i % 10;
  }
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    losses.push_back(step({{"x", inputs}, {"y", labels}})[0].item<float>());
  }
  return losses;
}

TEST_F(CudaTraining, HasTheLossesOfTheCpu) {
  const std::vector<float> cpu = losses_on("cpu", 100), gpu = losses_on("cuda", 100);
  EXPECT_LT(cpu.back(), 0.7 * cpu.front());
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_NEAR(cpu[i], gpu[i], 2e-3 * cpu[i]) << i;
  }
}

// A table, and what Adam remembers of it, after steps on the rows in use.
std::vector<Tensor> trained_tables(const std::string& device, bool on_rows) {
  Session session({.device = device});
  Graph graph = session.graph();
  const Var ids = graph.input("ids", i64, {64, 3});
  const Var words = parameter("words", full(graph, f32, {5000, 33}, 0.25));
  const Var loss = mean(square(embedding(words, ids) * cast(expand_dims(ids, 2), f32) - 0.5));
  CompilerOptions compiler;
  if (!on_rows) {
    compiler.disabled = {"row-gradients"};
  }
  const optim::StepOptions step{
      .lazy_rows = optim::looked_up(), .clip_norm = 0.05, .accumulate = 2};
  const Executable run = session.compile(
      {loss},
      {.updates = optim::adamw(loss, {.weight_decay = 0.1, .step = step}), .compiler = compiler});
  for (int n = 0; n < 6; ++n) {
    std::vector<std::int64_t> drawn;
    for (std::int64_t k = 0; k < 64 * 3; ++k) {
      drawn.push_back((k * k * 7 + n) % (k % 2 == 0 ? 13 : 5000));
    }
    run({{"ids", Tensor::of<std::int64_t>({64, 3}, drawn)}});
  }
  std::vector<Tensor> tables;
  for (const auto& [name, value] : session.states().all()) {
    if (value.rank() == 2) {
      tables.push_back(value);
    }
  }
  return tables;
}

TEST_F(CudaTraining, StepsOnRowsHaveTheBitsOfStepsOnTheTable) {
  const std::vector<Tensor> on_rows = trained_tables("cuda", true),
                            whole = trained_tables("cuda", false),
                            cpu = trained_tables("cpu", true);
  ASSERT_EQ(on_rows.size(), 4U);  // the table, two moments, the sum of gradients
  for (std::size_t i = 0; i < on_rows.size(); ++i) {
    EXPECT_TRUE(bit_equal(on_rows[i], whole[i])) << i;
    const std::vector<float> a = cpu[i].to_vector<float>(), b = on_rows[i].to_vector<float>();
    for (std::size_t n = 0; n < a.size(); ++n) {
      ASSERT_NEAR(a[n], b[n], 1e-4 * (1e-3 + std::abs(a[n]))) << i << ", element " << n;
    }
  }
}

TEST_F(CudaTraining, AChainStaysOnTheGpu) {
  const auto result = [](const std::string& device) {
    Session session({.device = device});
    Graph graph = session.graph();
    const Var h = graph.input("h", f32, {4, 8}), w = parameter("w", full(graph, f32, {8, 8}, 0.1));
    const Var xs = graph.input("xs", f32, {"t", 4, 8});
    const Var y = sum(chain(h, xs, [&](Var s, Var x) { return tanh(matmul(s, w) + x); }).last);
    const Executable run = session.compile({y, grad(y, w)});
    return run({{"h", Tensor::full(f32, {4, 8}, 0.3)}, {"xs", Tensor::full(f32, {20, 4, 8}, 0.1)}})
        .tensors();
  };
  const std::vector<Tensor> cpu = result("cpu"), gpu = result("cuda");
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const std::vector<float> a = cpu[i].to_vector<float>(), b = gpu[i].to_vector<float>();
    for (std::size_t n = 0; n < a.size(); ++n) {
      EXPECT_NEAR(a[n], b[n], 1e-5 * (1 + std::abs(a[n])));
    }
  }
}

TEST_F(CudaTraining, WrongLabelsAreNamed) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var logits = graph.input("logits", f32, {2, 5}), label = graph.input("label", i64, {2});
  const Var loss = mean(cross_entropy(logits, label));
  for (Var value : {loss, grad(loss, logits)}) {
    const Executable run = session.compile({value});
    const auto with = [&](std::int64_t second) {
      run({{"logits", Tensor::full(f32, {2, 5}, 1)},
           {"label", Tensor::of<std::int64_t>({2}, {4, second})}});
    };
    EXPECT_THROW(with(5), DataError);
    EXPECT_THROW(with(-1), DataError);
    EXPECT_NO_THROW(with(0));
  }
}

// What is left out of a softmax is minus infinity.
TEST_F(CudaTraining, LossesOfInfiniteLogits) {
  const auto losses = [](const std::string& device) {
    Session session({.device = device});
    Graph graph = session.graph();
    const Var logits = graph.input("logits", f32, {2, 3});
    const Executable run = session.compile({cross_entropy(logits, graph.input("label", i64, {2}))});
    const float none = -std::numeric_limits<float>::infinity();
    return run({{"logits", Tensor::of<float>({2, 3}, {1, none, 1, none, 2, none})},
                {"label", Tensor::of<std::int64_t>({2}, {2, 1})}})[0]
        .to_vector<float>();
  };
  const std::vector<float> cpu = losses("cpu"), gpu = losses("cuda");
  EXPECT_NEAR(gpu[0], cpu[0], 1e-6);
  EXPECT_EQ(gpu[1], 0);
}

TEST_F(CudaTraining, WrongIndicesAreNamed) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {5, 3}), at = graph.input("at", i64, {2});
  const Executable run = session.compile({gather(x, at, 0)});
  const Tensor table = Tensor::full(f32, {5, 3}, 1);
  try {
    run({{"x", table}, {"at", Tensor::of<std::int64_t>({2}, {1, 5})}});
    FAIL() << "index 5 of 5 was taken";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("index 5 is outside an axis of size 5"),
              std::string::npos)
        << error.what();
  }
  EXPECT_NO_THROW(run({{"x", table}, {"at", Tensor::of<std::int64_t>({2}, {1, 4})}}));
}

TEST_F(CudaTraining, WrongIndicesAreNamedWhenALateResultIsLookedAt) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {5, 3}), at = graph.input("at", i64, {2});
  const Executable run = session.compile({gather(x, at, 0)});
  Results results;
  run.start_into(results, {{"x", Tensor::full(f32, {5, 3}, 1)},
                           {"at", Tensor::of<std::int64_t>({2}, {1, 5})}});
  EXPECT_THROW(results.wait(), DataError);
}

// Errors belong to the run that made them, and stay with it.
TEST_F(CudaTraining, WrongIndicesAreToldToWhoWaitsForTheirRun) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {5}), at = graph.input("at", i64, {2});
  const Var found = gather(x, at, 0);
  const Executable run = session.compile({sum(found), found});
  const auto feeds = [](std::int64_t last) {
    return Feeds{{"x", Tensor::of<float>({5}, {0, 1, 2, 3, 4})},
                 {"at", Tensor::of<std::int64_t>({2}, {1, last})}};
  };
  for (int round = 0; round < 3; ++round) {  // kernel by kernel, recorded, replayed
    std::vector<Results> all(5);
    for (std::size_t i = 0; i < all.size(); ++i) {
      run.start_into(all[i], feeds(i == 1 ? 5 : i == 3 ? 17 : static_cast<std::int64_t>(i)));
    }
    for (const std::size_t i : {4, 3, 3, 2, 1, 0, 1}) {
      const bool is_wrong = i == 1 || i == 3;
      try {
        EXPECT_EQ(all[i].item(), 1 + static_cast<float>(i));
        EXPECT_EQ(all[i][1].to_vector<float>()[1], static_cast<float>(i));
        EXPECT_FALSE(is_wrong) << i;
      } catch (const DataError& error) {
        EXPECT_TRUE(is_wrong) << i;
        EXPECT_NE(std::string(error.what()).find(i == 1 ? "index 5 is" : "index 17 is"),
                  std::string::npos)
            << error.what();
      }
    }
  }
  EXPECT_EQ(run(feeds(4)).item(), 5);
}

// More runs on their way than there are places for what they note down.
TEST_F(CudaTraining, VeryManyRunsOnTheirWayHaveTheirOwnErrors) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {5}), at = graph.input("at", i64, {1});
  const Executable run = session.compile({gather(x, at, 0)});
  for (int round = 0; round < 3; ++round) {
    std::vector<Results> all(200);
    for (std::size_t i = 0; i < all.size(); ++i) {
      run.start_into(all[i], {{"x", Tensor::full(f32, {5}, 1)},
                              {"at", Tensor::of<std::int64_t>({1}, {i % 50 == 7 ? 9 : 2})}});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % 50 == 7) {
        EXPECT_THROW(all[i].wait(), DataError) << i;
      } else {
        EXPECT_NO_THROW(all[i].wait()) << i;
      }
    }
  }
}

// Results that nobody looks at, as in a burst of steps of which only the last loss is wanted.
TEST_F(CudaTraining, RunsThatNobodyLooksAtLeaveRoomForOthers) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {5}), at = graph.input("at", i64, {1});
  const Executable run = session.compile({gather(x, at, 0)});
  const auto start = [&](Results& results, std::int64_t index) {
    run.start_into(results, {{"x", Tensor::full(f32, {5}, 1)},
                             {"at", Tensor::of<std::int64_t>({1}, {index})}});
  };
  for (int burst = 0; burst < 60; ++burst) {
    Results last, other;
    for (int i = 0; i < 10; ++i) {
      start(last, 2);
    }
    start(other, 3);
    const bool is_wrong = burst % 7 == 5;
    start(last, is_wrong ? 8 : 4);
    EXPECT_NO_THROW(other.wait()) << burst;
    if (is_wrong) {
      EXPECT_THROW(last.wait(), DataError) << burst;
    } else {
      EXPECT_NO_THROW(last.wait()) << burst;
    }
  }
}

TEST_F(CudaTraining, WrongIndicesAreNamedWhereTheResultIsEmptyOrThereIsNone) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {5, "n"}), at = graph.input("at", i64, {2});
  parameter("w", full(graph, f32, {2}, 0));
  const Var table = graph.input("table", f32, {5});
  const Var update = assign(graph, "w", gather(table, at, 0));
  const Executable empty = session.compile({gather(x, at, 0)}, {.updates = {update}});
  const Executable none = session.compile({}, {.updates = {update}});
  // Nothing is read or written where the indices point to.
  const Executable unread = session.compile({gather(x, at, 0)});
  const Var updates = graph.input("updates", f32, {2, x.dim(1)});
  const Executable unwritten = session.compile({scatter_add(x, at, updates, 0)});
  const Tensor wrong = Tensor::of<std::int64_t>({2}, {1, 5}), right = Tensor::zeros(i64, {2});
  const Tensor values = Tensor::zeros(f32, {5}), no_columns = Tensor::zeros(f32, {5, 0});
  for (int round = 0; round < 3; ++round) {
    EXPECT_THROW(empty({{"x", no_columns}, {"at", wrong}, {"table", values}}), DataError);
    EXPECT_NO_THROW(empty({{"x", no_columns}, {"at", right}, {"table", values}}));
    EXPECT_THROW(unread({{"x", no_columns}, {"at", wrong}}), DataError);
    EXPECT_NO_THROW(unread({{"x", no_columns}, {"at", right}}));
    const Tensor none_to_add = Tensor::zeros(f32, {2, 0});
    EXPECT_THROW(unwritten({{"x", no_columns}, {"at", wrong}, {"updates", none_to_add}}),
                 DataError);
    EXPECT_NO_THROW(unwritten({{"x", no_columns}, {"at", right}, {"updates", none_to_add}}));
    EXPECT_THROW(none({{"at", wrong}, {"table", values}}), DataError);
    EXPECT_NO_THROW(none({{"at", right}, {"table", values}}));
  }
}

// Many runs on their way at once, each with feeds of its own that are overwritten meanwhile.
TEST_F(CudaTraining, RunsThatNobodyWaitsForSeeTheirOwnFeeds) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n"});
  const Executable run = session.compile({sum(x), 2 * x});
  constexpr std::int64_t kSize = 100'000;
  Tensor fed = Tensor::empty(f32, {kSize});
  std::vector<Results> all(20);  // more than there are pieces of pinned memory
  for (std::size_t i = 0; i < all.size(); ++i) {
    fed.copy_from(Tensor::full(f32, {kSize}, static_cast<double>(i)));
    run.start_into(all[i], {{"x", fed}});
    EXPECT_TRUE(all[i].is_pending());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].item<float>(), static_cast<float>(i) * kSize);
    EXPECT_TRUE(bit_equal(all[i][1], Tensor::full(f32, {kSize}, 2.0 * static_cast<double>(i))));
  }
}

// Larger than all pinned memory together.
TEST_F(CudaTraining, LargeFeedsArriveWhole) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", i64, {"n"});
  const Executable run = session.compile({x + 1});
  constexpr std::int64_t kSize = 12'345'679;  // 94 MiB
  Tensor fed = Tensor::empty(i64, {kSize}), expected = Tensor::empty(i64, {kSize});
  for (std::int64_t i = 0; i < kSize; ++i) {
    fed.data<std::int64_t>()[i] = i * i;
    expected.data<std::int64_t>()[i] = i * i + 1;
  }
  EXPECT_TRUE(bit_equal(run({{"x", fed}})[0], expected));
}

TEST_F(CudaTraining, Tf32RoundsFactorsAndOnlyWhenAsked) {
  const auto product = [](const std::string& device, bool tf32) {
    Session session({.device = device, .tf32 = tf32});
    Graph graph = session.graph();
    const Var a = graph.input("a", f32, {64, 64});
    const Var image = reshape(a, {1, 4, 32, 32}), weight = reshape(a, {16, 4, 8, 8});
    const Executable run = session.compile({matmul(a, a), conv(image, weight)});
    Tensor values = Tensor::empty(f32, {64, 64});
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      values.data<float>()[i] = 1 + std::sin(static_cast<float>(i)) / 4;
    }
    return run({{"a", values}}).tensors();
  };
  const std::vector<Tensor> cpu = product("cpu", false);
  EXPECT_TRUE(bit_equal(product("cpu", true)[0], cpu[0]));
  for (const bool tf32 : {false, true}) {
    const std::vector<Tensor> gpu = product("cuda", tf32);
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      const std::vector<float> a = cpu[i].to_vector<float>(), b = gpu[i].to_vector<float>();
      float error = 0;
      for (std::size_t n = 0; n < a.size(); ++n) {
        error = std::max(error, std::abs(a[n] - b[n]) / std::abs(a[n]));
      }
      // Factors of 11 bits, and sums of many of which the errors cancel.
      EXPECT_LT(error, tf32 ? 1e-3F : 1e-5F) << i;
      if (tf32 && i == 0) {
        EXPECT_GT(error, 1e-6F);
      }
    }
  }
}

TEST_F(CudaTraining, TooLittleMemoryIsExplained) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"n"});
  const Var table = expand_dims(x, 0) * expand_dims(x, 1);  // n by n
  const Executable run = session.compile({sum(cumsum(cumsum(table, 0), 1))});
  try {
    run({{"x", Tensor::zeros(f32, {1'000'000})}});  // 4 TB
    ADD_FAILURE() << "4 TB were found";
  } catch (const OutOfMemory& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("out of memory on cuda:0"), std::string::npos) << text;
    EXPECT_NE(text.find("the largest are"), std::string::npos) << text;
    EXPECT_NE(text.find("--memory-budget"), std::string::npos) << text;
  }
  EXPECT_EQ(run({{"x", Tensor::zeros(f32, {10})}}).item(), 0);
}

TEST_F(CudaTraining, StatesAreReadOnTheHost) {
  Session session({.device = "cuda"});
  Graph graph = session.graph();
  const Var w = parameter("w", full(graph, f32, {3}, 2));
  const Executable step = session.compile({sum(w)}, {.updates = {add_update(graph, "w", w)}});
  EXPECT_EQ(step({})[0].item<float>(), 6);
  EXPECT_EQ(session.states().get("w").to_vector<float>(), (std::vector<float>{4, 4, 4}));
  session.states().set("w", Tensor::full(f32, {3}, 1));
  EXPECT_EQ(step({})[0].item<float>(), 3);
}

}  // namespace antichain::training_test
