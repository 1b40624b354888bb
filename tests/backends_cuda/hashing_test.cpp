// The engine hashing on a GPU: codes, tables and active units are those of the CPU, and a training
// has its losses, without anything on the host or anything that is waited for.
#include <gtest/gtest.h>

#include <random>

#include "antichain/antichain.h"
#include "antichain/ops/hashing/active_units.h"
#include "antichain/ops/hashing/hash_codes.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/backends_cuda/replayed_runs.h"
#include "tests/engines/hashing/hashed_training.h"

namespace antichain::cuda_hashing_test {

using hashing_tests::HashedTraining;
using hashing_tests::same_bits;

class CudaHashing : public GpuTest {};

Tensor draw(const Shape& shape, double deviation) {
  std::mt19937_64 generator(static_cast<std::uint64_t>(numel(shape)));
  std::normal_distribution<double> normal(0, deviation);
  std::vector<float> values(static_cast<std::size_t>(numel(shape)));
  std::ranges::generate(values, [&] { return static_cast<float>(normal(generator)); });
  return Tensor::of<float>(shape, values);
}

// On the CPU, vectors in f64 are hashed by the reference: the same sums.
TEST_F(CudaHashing, CodesAreThoseOfTheReference) {
  constexpr std::int64_t kFeatures = 100, kCount = 1500;
  for (const HashFamily family : {HashFamily::simhash, HashFamily::wta, HashFamily::dwta}) {
    for (const HashTransform transform :
         {HashTransform::none, HashTransform::norms, HashTransform::powers}) {
      const HashSpec spec{.family = family,
                          .transform = transform,
                          .pieces = family == HashFamily::simhash ? 13 : 4,
                          .tables = 24,
                          .features = kFeatures,
                          .range = transform == HashTransform::norms ? 1000 : 0};
      const auto codes = [&](const std::string& device) {
        return results_on(device, draw({kCount, kFeatures + 1}, 0.5), [&](Var x) {
          Graph& graph = x.graph();
          const Var numbers = device == "cpu" ? cast(x, f64) : x;
          const Var rows = slice(numbers, {{.axis = 1, .stop = kFeatures}}),
                    bias = reshape(slice(numbers, {{.axis = 1, .start = kFeatures}}), {kCount});
          const HashBy by{spec,
                          draw_hash_functions(
                              graph, spec, constant(graph, Tensor::of<std::int64_t>({2}, {3, 4}))),
                          scalar(graph, f32, 9)};
          return std::vector<Var>{hash_queries(rows, by, 3), hash_data(rows, bias, by)};
        });
      };
      const std::vector<Tensor> want = codes("cpu"), got = codes("cuda");
      EXPECT_TRUE(same_bits(got[0], want[0])) << "queries";
      EXPECT_TRUE(same_bits(got[1], want[1])) << "data";
    }
  }
}

// Codes from skewed numbers: buckets that are empty, and some with thousands of ids.
Var skewed_codes(Var x, std::int64_t num_codes) {
  return cast(clip(floor(square(x) * (static_cast<double>(num_codes) / 8)), 0,
                   static_cast<double>(num_codes - 1)),
              i32);
}

TEST_F(CudaHashing, TablesAreThoseOfTheCpu) {
  constexpr std::int64_t kTables = 7, kRows = 60'000, kCodes = 1 << 11;
  for (const BucketPolicy policy : {BucketPolicy::fifo, BucketPolicy::reservoir}) {
    for (const std::int64_t bucket : {1, 40, 100'000}) {
      const auto tables = [&](const std::string& device) {
        return results_on(device, draw({kTables, kRows}, 1), [&](Var x) {
          const HashTables sorted = hash_tables(
              skewed_codes(x, kCodes), {.num_codes = kCodes, .bucket = bucket, .policy = policy});
          return std::vector<Var>{sorted.starts, sorted.ids};
        });
      };
      const std::vector<Tensor> want = tables("cpu"), got = tables("cuda");
      EXPECT_TRUE(same_bits(got[0], want[0])) << bucket;
      EXPECT_TRUE(same_bits(got[1], want[1])) << bucket;
    }
  }
}

TEST_F(CudaHashing, ActiveUnitsAreThoseOfTheCpu) {
  constexpr std::int64_t kTables = 9, kUnits = 60'000, kCodes = 1 << 10, kExamples = 200;
  for (const Selection selection : {Selection::vanilla, Selection::threshold, Selection::top}) {
    for (const std::int64_t active : {1000, 5000, 59'000}) {
      const auto units = [&](const std::string& device) {
        return results_on(device, draw({kTables, kUnits}, 1), [&](Var x) {
          Graph& graph = x.graph();
          const HashTables sorted =
              hash_tables(skewed_codes(x, kCodes), {.num_codes = kCodes, .bucket = 90});
          const Var queries =
              reshape(skewed_codes(slice(x, {{.axis = 1, .stop = kExamples}}), kCodes),
                      {kExamples, kTables, 1});
          const Var labels = cast(slice(reshape(skewed_codes(x, kUnits), {kTables * kUnits}),
                                        {{.axis = 0, .stop = 600}}),
                                  i64);
          const Var starts = iota(graph, i64, kExamples + 1) * 3;
          const ActiveUnits chosen =
              active_units(queries, sorted, {labels, starts}, scalar(graph, i64, 12345),
                           {.units = kUnits,
                            .active = active,
                            .drawn = 300,
                            .selection = selection,
                            .shared = true});
          return std::vector<Var>{chosen.common, chosen.common_correction, chosen.slots,
                                  chosen.found};
        });
      };
      const std::vector<Tensor> want = units("cpu"), got = units("cuda");
      for (std::size_t i = 0; i < want.size(); ++i) {
        EXPECT_TRUE(same_bits(got[i], want[i])) << active << ", " << i;
      }
    }
  }
}

TEST_F(CudaHashing, TooManyLabelsAreRefused) {
  const auto options = hashing_tests::TrainingOptions{
      .engine = "for=batch,active=20", .examples = 64, .device = "cuda"};
  HashedTraining training(options);
  EXPECT_THROW(training.steps(3), DataError);
}

// Collects what ran on the host, and what asked the device for a value.
class Waits final : public RunObserver {
 public:
  void ran(const OpEvent& event) override {
    const OpDef& def = event.op.def();
    if ((event.kernel.name == kReferenceKernel && !def.on_any_device) || def.reads_values) {
      names.push_back(event.where);
    }
  }
  std::vector<std::string> names;
};

// 50 steps with rows hashed again, by all that can make it due.
void expect_losses_of_the_cpu(const std::string& engine) {
  const auto options = [&](const std::string& device) {
    return hashing_tests::TrainingOptions{.engine = engine, .widths = {600}, .device = device};
  };
  HashedTraining cpu(options("cpu")), gpu(options("cuda"));
  Waits waits;
  cpu.executable()(cpu.batch(0));
  gpu.executable().run(gpu.batch(0), {&waits});
  EXPECT_EQ(waits.names, std::vector<std::string>());
  double first = 0, last = 0;
  for (int step = 0; step < 50; ++step) {
    last = cpu.step();
    first = step == 0 ? last : first;
    // A sum in another order may turn the sign of one that is near 0, and find another unit.
    EXPECT_NEAR(gpu.step(), last, 5e-3 * first) << step;
  }
  EXPECT_LT(last, 0.8 * first);
  for (const char* const state : {"next", "step", "interval"}) {
    EXPECT_TRUE(same_bits(gpu.own_state(state), cpu.own_state(state))) << state;
  }
  const std::vector<std::int64_t> codes = gpu.own_state("codes").to_vector<std::int64_t>(),
                                  want = cpu.own_state("codes").to_vector<std::int64_t>();
  std::int64_t others = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    others += codes[i] != want[i];
  }
  EXPECT_LT(static_cast<double>(others), 0.01 * static_cast<double>(want.size()));
}

TEST_F(CudaHashing, ByBatchHasTheLossesOfTheCpu) {
  expect_losses_of_the_cpu("for=batch,active=400,K=5,rehash=5");
}
TEST_F(CudaHashing, AllRowsHaveTheLossesOfTheCpu) {
  expect_losses_of_the_cpu("for=batch,active=400,K=2,family=dwta,rehash=7,rehash_rows=all");
}
// So little drift that any of the rows that are looked at, others on either device, show it.
TEST_F(CudaHashing, DriftHasTheLossesOfTheCpu) {
  expect_losses_of_the_cpu("for=batch,active=400,K=5,rehash=3,rehash_growth=1,drift=1e-4");
}

// Frames of batches of several sizes sort the same tables in the same memory.
TEST_F(CudaHashing, BatchesOfSeveralSizesInTurn) {
  const auto losses = [](const std::string& device) {
    HashedTraining training(
        {.engine = "for=batch,active=100,K=4,rehash=2,rehash_growth=1", .device = device});
    const Feeds one = {{"x", Tensor::full(f32, {1, 16}, 0.5)},
                       {"labels", Tensor::of<std::int64_t>({2}, {299, 7})},
                       {"starts", Tensor::of<std::int64_t>({2}, {0, 2})}};
    std::vector<double> found;
    for (int round = 0; round < 6; ++round) {
      found.push_back(training.step());
      found.push_back(training.executable()(one)[0].item<float>());
    }
    return found;
  };
  const std::vector<double> cpu = losses("cpu"), gpu = losses("cuda");
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_NEAR(gpu[i], cpu[i], 1e-2 * cpu[0]) << i;
  }
}

TEST_F(CudaHashing, NewFunctionsWaitForNothing) {
  HashedTraining gpu({.engine = "for=batch,active=100,K=4,new_functions=6", .device = "cuda"});
  Waits waits;
  gpu.executable().run(gpu.batch(0), {&waits});
  EXPECT_EQ(waits.names, std::vector<std::string>());
  Tensor functions = gpu.own_state("functions").clone();
  for (int step = 2; step <= 13; ++step) {
    gpu.step();
    EXPECT_EQ(!same_bits(functions, gpu.own_state("functions")), step % 6 == 0) << step;
    functions = gpu.own_state("functions").clone();
  }
}

// What has no kernel stays dense, and says why.
TEST_F(CudaHashing, IsDenseWhereKernelsAreMissing) {
  Session session({.device = "cuda"});
  const auto explained = [&](const std::string& options) {
    Graph graph = session.graph();
    const nn::LabelSets truth{.labels = graph.input("labels", i64, {"entries"}),
                              .row_starts = graph.input("starts", i64, {graph.dim("batch") + 1})};
    const Var losses = nn::wide_losses(graph.input("x", f32, {"batch", 128}), {600'000}, truth,
                                       {.name = "out", .engine = "hashing" + options});
    return session.engines().find("hashing").explain(losses.producer());
  };
  EXPECT_TRUE(explained("").starts_with("hashed: ")) << explained("");
  EXPECT_TRUE(explained(":for=example").starts_with("dense: the device has no kernel for active_"))
      << explained(":for=example");
  EXPECT_TRUE(
      explained(":family=minhash").starts_with("dense: the device has no kernel for hash_"));
}

}  // namespace antichain::cuda_hashing_test
