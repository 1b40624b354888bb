// Which way a GPU computes scans, by sizes.
#include "antichain/backends/cuda/scans/scan_choice.h"

#include <gmock/gmock.h>

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/scans/weighted_scan.h"

namespace antichain::cuda::scan_choice_test {

using testing::MatchesRegex;

TEST(ScanChoice, CutsWhatIsLong) {
  const auto algorithm = [](const AffineSizes& sizes) {
    return choose_affine_scan(sizes, {}).algorithm;
  };
  for (const bool matrices : {false, true}) {
    const std::int64_t size = matrices ? 20 : 1;
    EXPECT_EQ(algorithm({10'000, 16, size, matrices}), kScanChunked);
    EXPECT_EQ(algorithm({1, 16, size, matrices}), kScanSerial);
    EXPECT_EQ(algorithm({8, 16, size, matrices}), kScanSerial);
  }
  EXPECT_EQ(algorithm({10'000, 1, 200, true, DType::f64}), kScanChunked);
  // Where there are enough columns for all of the GPU, cutting them only reads them again.
  EXPECT_EQ(algorithm({1000, 1 << 20, 1, false}), kScanSerial);
}

TEST(ScanChoice, ChunksAreShorterThanTheScan) {
  for (const std::int64_t steps : {2, 9, 17, 100, 1000, 100'000}) {
    for (const std::int64_t size : {1, 4, 32, 100}) {
      const ScanChoice choice = choose_affine_scan({steps, 4, size, true}, {});
      EXPECT_GE(choice.chunk, 1);
      EXPECT_LE(choice.chunk, steps);
      EXPECT_EQ(choice.chunk < steps, choice.algorithm == kScanChunked);
    }
  }
}

TEST(ScanChoice, DoesAsIsAskedFor) {
  const AffineSizes sizes{1000, 16, 20, true};
  const ScanChoice chunked = choose_affine_scan(sizes, {kScanChunked, 7});
  EXPECT_EQ(chunked.algorithm, kScanChunked);
  EXPECT_EQ(chunked.chunk, 7);
  EXPECT_EQ(chunked.reason, "asked for");
  EXPECT_LT(choose_affine_scan(sizes, {kScanChunked, 0}).chunk, 1000);
  EXPECT_EQ(choose_affine_scan(sizes, {kScanSerial, 0}).chunk, 1000);
  // One chunk is no chunk.
  EXPECT_EQ(choose_affine_scan(sizes, {kScanChunked, 5000}).algorithm, kScanSerial);
}

TEST(ScanChoice, IsExplained) {
  Graph graph;
  const Var a = graph.input("a", f32, {"time", 16, 20, 20}),
            b = graph.input("b", f32, {"time", 16, 20}), h = graph.input("h", f32, {16, 20});
  DimEnv sizes;
  sizes.bind(graph.dim("time").symbol(), 1000);
  EXPECT_THAT(explain_scan(affine_scan(a, b, h).last.producer(), sizes),
              MatchesRegex("chunked with chunks of [0-9]+ steps, for 1000 steps of 16 matrices of "
                           "20 x 20 on a GPU: step by step about .* ms, in chunks .* ms"));
  EXPECT_EQ(explain_scan(affine_scan(b, b, h, {.algorithm = kScanSerial}).last.producer(), sizes),
            "serial, for 1000 steps of 320 entries of diagonals on a GPU: asked for");
  const WeightedForm form{1, {0}, {}, {{0, 0}}};
  const Var w = graph.input("w", f32, {1, 20, 20});
  EXPECT_THAT(explain_scan(weighted_scan(form, {w, h, {}, {b}}).last.producer(), sizes),
              MatchesRegex("(serial|chunked with chunks of [0-9]+ steps), for 1000 steps of 16 "
                           "states of 20 with weights of 20 x 20 on a GPU: by estimates of both"));
  EXPECT_THAT(
      explain_scan(weighted_scan(form, {w, h, {}, {b}}, {.algorithm = "chunked", .chunk = 9})
                       .last.producer(),
                   sizes),
      MatchesRegex("chunked with chunks of 9 steps, .*: asked for"));
  EXPECT_EQ(explain_scan(w.producer(), sizes), "");
}

}  // namespace antichain::cuda::scan_choice_test
