// The kernels of hashing, run on the host, against the ops: codes against the reference in double,
// tables and active units against kernels of the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "tests/backends_cuda/emulated_block.h"
// What stands for element.cuh: elements that are computed as they are.
using std::min;
namespace antichain::device {

template <class T>
T load(T element) {
  return element;
}

}  // namespace antichain::device

#include "antichain/backends/cuda/device/active_units.cuh"
#include "antichain/backends/cuda/device/hash_codes.cuh"
#include "antichain/backends/cuda/device/hash_tables.cuh"
#include "antichain/ops/hashing/active_units.h"
#include "antichain/ops/hashing/hash_codes.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/session/session.h"

namespace antichain::hashing_emulation_test {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::vector<std::int64_t> numbers_of(const Tensor& tensor) {
  return tensor.to_vector<std::int64_t>();
}

// Runs a kernel, block after block.
template <class Kernel>
void launch(unsigned blocks, unsigned threads, const Kernel& kernel) {
  gridDim.x = blocks;
  for (unsigned block = 0; block < blocks; ++block) {
    emulated::run_block({.threads = threads,
                         .block = block,
                         .schedule = block % 2 == 0 ? emulated::Schedule::first_warp_first
                                                    : emulated::Schedule::last_warp_first},
                        kernel);
  }
}

class HashingEmulation : public testing::Test {
 protected:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
  }
  std::vector<double> draw_values(std::int64_t count) {
    std::vector<double> values(at(count));
    for (double& value : values) {  // a few zeros, which dwta skips
      value = between(0, 2) == 0 ? 0 : static_cast<double>(between(-1000, 1000)) / 256;
    }
    return values;
  }
  std::vector<std::int32_t> draw_codes(std::int64_t count, std::int64_t end) {
    std::vector<std::int32_t> codes(at(count));
    for (std::int32_t& code : codes) {  // more of the lower ones
      code = static_cast<std::int32_t>(between(0, between(0, end - 1)));
    }
    return codes;
  }

  template <int kFamily, int kTransform>
  void check_codes(std::int64_t pieces, std::int64_t probes, std::int64_t range = 0);

 private:
  std::mt19937_64 generator_{11};
};

// Vectors in f64 have no kernel on the CPU: these are codes by the reference.
struct CodesByOp {
  Tensor queries, data;
};

CodesByOp codes_by_op(const HashSpec& spec, std::int64_t probes, const Tensor& functions,
                      float largest, const Tensor& vectors, const Tensor& bias) {
  Session session;
  Graph graph = session.graph();
  const HashBy by{spec, constant(graph, functions), scalar(graph, f32, largest)};
  const Var rows = constant(graph, vectors);
  const std::vector<Tensor> codes =
      session
          .compile({hash_queries(rows, by, probes), hash_data(rows, constant(graph, bias), by)})({})
          .tensors();
  return {codes[0], codes[1]};
}

template <int kFamily, int kTransform>
void HashingEmulation::check_codes(std::int64_t pieces, std::int64_t probes, std::int64_t range) {
  constexpr std::int64_t kCount = 270, kFeatures = 21, kTables = 11;
  constexpr float kLargest = 9.5F;
  const HashSpec spec{.family = static_cast<HashFamily>(kFamily),
                      .transform = static_cast<HashTransform>(kTransform),
                      .pieces = pieces,
                      .tables = kTables,
                      .features = kFeatures,
                      .range = range};
  std::vector<float> signs;
  std::vector<std::int32_t> places;
  for (std::int64_t i = 0; i < numel(spec.functions_shape()); ++i) {
    signs.push_back(static_cast<float>(between(-1, 1)));
    places.push_back(static_cast<std::int32_t>(between(0, spec.coordinates() - 1)));
  }
  const bool is_simhash = kFamily == device::kSimhash;
  const Tensor functions = is_simhash ? Tensor::of<float>(spec.functions_shape(), signs)
                                      : Tensor::of<std::int32_t>(spec.functions_shape(), places);
  const std::vector<double> vectors = draw_values(kCount * kFeatures), bias = draw_values(kCount);
  const CodesByOp want = codes_by_op(spec, probes, functions, kLargest,
                                     Tensor::of<double>({kCount, kFeatures}, vectors),
                                     Tensor::of<double>({kCount}, bias));
  std::vector<std::int32_t> codes(at(kCount * kTables * probes), -1);
  device::HashArguments<double> arguments{.features = kFeatures,
                                          .coordinates = spec.coordinates(),
                                          .tables = kTables,
                                          .pieces = pieces,
                                          .probes = probes,
                                          .count = kCount,
                                          .range = spec.folds() ? range : 0,
                                          .vectors = vectors.data(),
                                          .functions = functions.raw(),
                                          .largest = &kLargest,
                                          .codes = codes.data()};
  const auto room = std::make_unique<device::HashRoom>();
  launch(3, device::kHashThreads,
         [&] { device::hash_queries<kFamily, kTransform>(arguments, *room); });
  EXPECT_TRUE(std::ranges::equal(codes, numbers_of(want.queries))) << "queries";
  // Of the marked rows, of all, of none.
  const bool yes = true, no = false;
  arguments.probes = 1;
  arguments.extra = bias.data();
  const std::vector<std::int64_t> wanted = numbers_of(want.data);
  for (const auto& [due, all] : {std::pair{&yes, &no}, {&yes, &yes}, {&no, &yes}}) {
    const auto marks = std::make_unique<bool[]>(at(kCount));
    std::vector<bool> marked;
    for (std::int64_t row = 0; row < kCount; ++row) {
      marked.push_back(between(0, 3) == 0);
      marks[at(row)] = marked.back();
    }
    codes.assign(at(kCount * kTables), -1);
    arguments.codes = codes.data();
    arguments.due = due;
    arguments.all = all;
    arguments.marks = marks.get();
    launch(1, device::kHashThreads,
           [&] { device::hash_data<kFamily, kTransform>(arguments, *room); });
    for (std::int64_t i = 0; i < kCount * kTables; ++i) {
      const bool is_hashed = *due && (*all || marked[at(i % kCount)]);
      ASSERT_EQ(codes[at(i)], is_hashed ? wanted[at(i)] : -1) << i;
      ASSERT_EQ(marks[at(i % kCount)], !*due && marked[at(i % kCount)]) << i;
    }
  }
}

TEST_F(HashingEmulation, CodesOfSigns) {
  check_codes<device::kSimhash, device::kNorms>(13, 1);
  check_codes<device::kSimhash, device::kPowersOfNorms>(7, 4, 50);
  check_codes<device::kSimhash, device::kAsItIs>(30, 2);
}

TEST_F(HashingEmulation, CodesOfLargest) {
  check_codes<device::kWta, device::kAsItIs>(3, 3, 37);
  check_codes<device::kDwta, device::kNorms>(4, 1);
  check_codes<device::kDwta, device::kPowersOfNorms>(2, 3);
}

TEST_F(HashingEmulation, Tables) {
  constexpr std::int64_t kTables = 3, kRows = 500, kCodes = 21, kBits = 5;
  for (const auto& [bucket, policy] : {std::pair{500, BucketPolicy::fifo},
                                       {9, BucketPolicy::fifo},
                                       {9, BucketPolicy::reservoir},
                                       {1, BucketPolicy::reservoir}}) {
    const std::vector<std::int32_t> codes = draw_codes(kTables * kRows, kCodes);
    std::vector<long long> order(codes.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](long long e) {
      return static_cast<unsigned long long>(e / kRows << kBits | codes[at(e)]);
    };
    std::ranges::stable_sort(order, {}, key);
    std::vector<unsigned long long> keys;
    std::ranges::transform(order, std::back_inserter(keys), key);
    std::vector<int> begins(at(kTables * (kCodes + 1))), starts(begins.size(), -2),
        ids(codes.size(), -2);
    const bool now = true, not_now = false;
    device::TableArguments arguments{.tables = kTables,
                                     .first = 0,
                                     .rows = kRows,
                                     .codes = kCodes,
                                     .bits = kBits,
                                     .bucket = bucket,
                                     .reservoir = policy == BucketPolicy::reservoir ? 1 : 0,
                                     .when = &not_now,
                                     .keys = keys.data(),
                                     .order = order.data(),
                                     .begins = begins.data(),
                                     .starts = starts.data(),
                                     .ids = ids.data()};
    const auto run = [&] {
      launch(2, 64, [&] { device::find_begins(arguments); });
      std::vector<long long> shared(64);
      launch(2, 64, [&] { device::find_table_starts(arguments, shared.data()); });
      launch(2, 64, [&] { device::fill_buckets(arguments); });
    };
    run();
    EXPECT_EQ(std::ranges::count(ids, -2), kTables * kRows) << "not now";
    arguments.when = &now;
    run();
    Session session;
    Graph graph = session.graph();
    const HashTables tables =
        hash_tables(constant(graph, Tensor::of<std::int32_t>({kTables, kRows}, codes)),
                    {.num_codes = kCodes, .bucket = bucket, .policy = policy});
    const std::vector<Tensor> want = session.compile({tables.starts, tables.ids})({}).tensors();
    EXPECT_TRUE(std::ranges::equal(starts, numbers_of(want[0])));
    EXPECT_TRUE(std::ranges::equal(ids, numbers_of(want[1])));
  }
}

struct ChoiceCase {
  std::int64_t active, drawn;
  Selection selection;
  std::int64_t most_labels;
  std::int64_t step;
};

TEST_F(HashingEmulation, ActiveUnits) {
  constexpr std::int64_t kUnits = 700, kExamples = 40, kTables = 5, kProbes = 2, kCodes = 16;
  constexpr std::int64_t kParts = 3, kEach = 234;
  using Arguments = device::ActiveArguments<int, long long>;
  std::vector<unsigned> counts(at(kUnits));
  device::ChoiceTotals totals{};
  std::vector<int> ties(kParts), front(kParts), in_part(kParts);
  const auto room = std::make_unique<device::ChoiceRoom>();
  for (const ChoiceCase& test : {ChoiceCase{300, 100, Selection::top, 3, 5},
                                 {300, 0, Selection::vanilla, 0, 1},
                                 {150, 20, Selection::threshold, 2, 77},
                                 {690, 20, Selection::threshold, 2, 3},
                                 {700, 400, Selection::top, 4, 9},
                                 {120, 100, Selection::top, 3, 1234567890123},
                                 {2, 0, Selection::top, 0, 0}}) {
    SCOPED_TRACE(test.active);
    const std::vector<std::int32_t> queries = draw_codes(kExamples * kTables * kProbes, kCodes),
                                    of_units = draw_codes(kTables * kUnits, kCodes);
    std::vector<std::int32_t> labels;
    std::vector<long long> row_starts = {0};
    for (std::int64_t example = 0; example < kExamples; ++example) {
      for (std::int64_t left = between(0, test.most_labels); left > 0; --left) {
        labels.push_back(static_cast<std::int32_t>(between(0, kUnits - 1)));
      }
      row_starts.push_back(static_cast<long long>(labels.size()));
    }
    const auto num_labels = static_cast<std::int64_t>(labels.size());
    const ActiveOptions options{.units = kUnits,
                                .active = test.active,
                                .drawn = test.drawn,
                                .selection = test.selection,
                                .threshold = 3,
                                .shared = true};
    Session session;
    Graph graph = session.graph();
    const HashTables tables =
        hash_tables(constant(graph, Tensor::of<std::int32_t>({kTables, kUnits}, of_units)),
                    {.num_codes = kCodes, .bucket = 60});
    const ActiveUnits units = active_units(
        constant(graph, Tensor::of<std::int32_t>({kExamples, kTables, kProbes}, queries)), tables,
        {constant(graph, Tensor::of<std::int32_t>({num_labels}, labels)),
         constant(graph, Tensor::of<std::int64_t>(
                             {kExamples + 1},
                             std::vector<std::int64_t>(row_starts.begin(), row_starts.end())))},
        scalar(graph, i64, static_cast<double>(test.step)), options);
    const std::vector<Tensor> want =
        session
            .compile({units.common, units.common_correction, units.slots, units.found,
                      tables.starts, tables.ids})({})
            .tensors();
    std::vector<long long> common(at(test.active), -1), slots(at(num_labels), -1);
    std::vector<float> correction(at(test.active), -1);
    long long found = -1;
    const auto step = static_cast<long long>(test.step);
    const Arguments arguments{.units = kUnits,
                              .active = test.active,
                              .drawn = test.drawn,
                              .least = test.selection == Selection::threshold ? 3 : 1,
                              .examples = kExamples,
                              .tables = kTables,
                              .probes = kProbes,
                              .num_starts = kCodes + 1,
                              .table_rows = kUnits,
                              .num_labels = num_labels,
                              .parts = kParts,
                              .each = kEach,
                              .num_digits = 2,
                              .stride = DrawnIds::stride(kUnits),
                              .codes = queries.data(),
                              .starts = want[4].data<std::int32_t>(),
                              .ids = want[5].data<std::int32_t>(),
                              .step = &step,
                              .labels = labels.data(),
                              .row_starts = row_starts.data(),
                              .counts = counts.data(),
                              .totals = &totals,
                              .ties = ties.data(),
                              .front_ties = front.data(),
                              .in_part = in_part.data(),
                              .common = common.data(),
                              .correction = correction.data(),
                              .slots = slots.data(),
                              .found = &found};
    const auto with = [&](unsigned blocks, auto&& kernel) {
      launch(blocks, device::kChoiceThreads, kernel);
    };
    with(2, [&] { device::mark_labels(arguments, [](long long label) { return label; }); });
    with(2, [&] { device::count_found(arguments); });
    for (int level = 0; level < 2; ++level) {
      with(2, [&] { device::count_digits(arguments, level, *room); });
    }
    with(kParts, [&] { device::count_ties(arguments, *room); });
    with(kParts, [&] { device::take_found(arguments, *room); });
    with(1, [&] { device::draw(arguments, *room, [](long long) { FAIL(); }); });
    with(kParts, [&] { device::write_active(arguments, *room); });
    with(2, [&] { device::place_labels(arguments); });
    EXPECT_TRUE(std::ranges::equal(common, numbers_of(want[0])));
    EXPECT_TRUE(std::ranges::equal(correction, want[1].to_vector<float>()));
    EXPECT_TRUE(std::ranges::equal(slots, numbers_of(want[2])));
    EXPECT_EQ(found, want[3].item<std::int64_t>());
    EXPECT_EQ(std::ranges::count(counts, 0U), kUnits) << "the next run begins with zeros";
    EXPECT_EQ(totals.num_labels, 0U);
  }
}

}  // namespace antichain::hashing_emulation_test
