// The kernels of attention, run on the host: every index, every lane, every copy is that of the
// GPU; only the instructions are emulated.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/backends_cuda/emulated_block.h"
//
#include "antichain/backends/cuda/device/attention_backward.cuh"
#include "antichain/ops/products/attention.h"
#include "antichain/session/session.h"

namespace antichain::attention_emulation_test {

using emulated::Arrival;
using emulated::BlockOptions;
using emulated::Schedule;

struct Problem {
  int batches, queries, keys, heads;
  std::vector<std::int64_t> mask = {};  // [batch, keys]; empty: none
};

constexpr int kGuard = 8;  // elements between rows that nobody may use
constexpr float kScale = 0.3F;

// A value [batch, time, heads, width] with rows apart, NaN between and behind them.
template <class T>
struct Strided {
  std::vector<T> elements;
  int times, heads, width;

  Strided(int batches, int time_count, int head_count, int row_width, std::uint64_t seed)
      : times(time_count), heads(head_count), width(row_width) {
    T nan;
    device::round_to(nan, std::numeric_limits<float>::quiet_NaN());
    elements.assign(static_cast<std::size_t>((batches * times + 1) * step()) + kGuard, nan);
    std::mt19937_64 generator(seed);
    std::normal_distribution<float> draw;
    for (int row = 0; row < batches * times; ++row) {
      for (int i = 0; i < heads * width; ++i) {
        device::round_to(start()[row * step() + i], draw(generator));
      }
    }
  }
  int step() const { return heads * width + kGuard; }
  // Aligned as memory of a GPU is.
  T* start() {
    const auto address = reinterpret_cast<std::uintptr_t>(elements.data());
    return elements.data() + (16 - address % 16) % 16 / sizeof(T);
  }
  device::HeadView<T> view() { return {start(), times * step(), step(), width}; }
  Tensor tensor(int batches) {
    std::vector<double> values;
    for (int row = 0; row < batches * times; ++row) {
      for (int i = 0; i < heads * width; ++i) {
        values.push_back(device::value_of(start()[row * step() + i]));
      }
    }
    return Tensor::of<double>({batches, times, heads, width}, values);
  }
};

// A packed result, with a guard behind it.
template <class T>
struct Packed {
  static constexpr unsigned char kUntouched = 0x5a;
  std::size_t count;
  std::vector<uint4> words;

  explicit Packed(std::int64_t elements)
      : count(static_cast<std::size_t>(elements)), words(count * sizeof(T) / 16 + 8) {
    std::memset(words.data(), kUntouched, words.size() * 16);
  }
  T* start() { return reinterpret_cast<T*>(words.data()); }
  std::vector<double> values() {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(words.data());
    for (std::size_t i = count * sizeof(T); i < words.size() * 16; ++i) {
      EXPECT_EQ(bytes[i], kUntouched) << "written behind the end";
    }
    std::vector<double> result;
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        result.push_back(start()[i]);
      } else {
        result.push_back(device::value_of(start()[i]));
      }
    }
    return result;
  }
};

void expect_near(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 0;
  for (const double value : want) {
    largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - want[i]), tolerance * std::max(1.0, largest))
        << what << ", element " << i << ": " << got[i] << " instead of " << want[i];
  }
}

// Runs all blocks of a kernel; shared memory begins as NaN.
template <class Kernel>
void run_blocks(int blocks, int threads, int shared_bytes, Schedule schedule, Arrival arrival,
                Kernel kernel) {
  for (int block = 0; block < blocks; ++block) {
    std::vector<uint4> shared(static_cast<std::size_t>(shared_bytes) / 16 + 1);
    std::memset(shared.data(), 0xff, shared.size() * 16);
    emulated::run_block({.threads = static_cast<unsigned>(threads),
                         .block = static_cast<unsigned>(block),
                         .schedule = schedule,
                         .arrival = arrival},
                        [&] { kernel(shared.data()); });
  }
}

struct Results {
  std::vector<double> output, lse, dq, dk, dv;
};

template <class T, int kWidth, bool kCausal, bool kMasked>
struct Emulation {
  Problem problem;
  Strided<T> q, k, v, grad;
  std::vector<unsigned char> flags;

  explicit Emulation(const Problem& use)
      : problem(use),
        q(use.batches, use.queries, use.heads, kWidth, 1),
        k(use.batches, use.keys, use.heads, kWidth, 2),
        v(use.batches, use.keys, use.heads, kWidth, 3),
        grad(use.batches, use.queries, use.heads, kWidth, 4),
        flags(use.mask.begin(), use.mask.end()) {}

  int sequences() const { return problem.batches * problem.heads; }

  Results run(Schedule schedule, Arrival arrival) {
    const int rows = problem.batches * problem.queries * problem.heads;
    const int key_rows = problem.batches * problem.keys * problem.heads;
    const device::KeyMask mask{flags.data(), problem.keys, 1};
    Packed<T> output(rows * kWidth), dq(rows * kWidth), dk(key_rows * kWidth),
        dv(key_rows * kWidth);
    Packed<float> lse(rows), products(rows);
    const auto blocks_of = [&](int size, int rows_of_block) {
      return (size + rows_of_block - 1) / rows_of_block * sequences();
    };
    const device::AttentionForm form = device::forward_form(kWidth, kMasked);
    const device::ForwardArguments<T> forward{problem.heads,  problem.queries, problem.keys, kScale,
                                              q.view(),       k.view(),        v.view(),     mask,
                                              output.start(), lse.start()};
    run_blocks(blocks_of(problem.queries, form.rows()), form.threads(),
               device::forward_bytes(kWidth, kMasked), schedule, arrival, [&](void* shared) {
                 device::attend<T, kWidth, kCausal, kMasked>(forward, static_cast<T*>(shared));
               });
    const device::HeadView<T> packed{
        output.start(), static_cast<long long>(problem.queries) * problem.heads * kWidth,
        problem.heads * kWidth, kWidth};
    constexpr int kThreads = 64;
    const device::RowProductArguments<T> multiply{problem.heads, problem.queries, rows,
                                                  grad.view(),   packed,          products.start()};
    run_blocks((rows * 8 + kThreads - 1) / kThreads, kThreads, 0, schedule, arrival,
               [&](void*) { device::multiply_rows<T, kWidth>(multiply); });
    const auto backward = [&](auto rows_are_keys, Packed<T>& score_grad, Packed<T>& value_grad) {
      constexpr bool kRowsAreKeys = decltype(rows_are_keys)::value;
      const device::AttentionForm shape = device::backward_form(kWidth, kMasked, kRowsAreKeys);
      const device::BackwardArguments<T> arguments{
          problem.heads,    problem.queries,    problem.keys,      kScale, q.view(),
          k.view(),         v.view(),           grad.view(),       mask,   lse.start(),
          products.start(), score_grad.start(), value_grad.start()};
      run_blocks(blocks_of(kRowsAreKeys ? problem.keys : problem.queries, shape.rows()),
                 shape.threads(), device::backward_bytes(kWidth, kMasked, kRowsAreKeys), schedule,
                 arrival, [&](void* shared) {
                   device::attend_backwards<T, kWidth, kRowsAreKeys, kCausal, kMasked>(
                       arguments, static_cast<T*>(shared));
                 });
    };
    backward(std::true_type(), dk, dv);
    backward(std::false_type(), dq, dv);
    return {output.values(), lse.values(), dq.values(), dk.values(), dv.values()};
  }

  Results reference() {
    Session session;
    Graph graph = session.graph();
    const auto in = [&](const char* name, int times) {
      return graph.input(name, f64, {problem.batches, times, problem.heads, kWidth});
    };
    const Var qs = in("q", problem.queries), ks = in("k", problem.keys), vs = in("v", problem.keys);
    const Var grads = in("grad", problem.queries);
    ScoreOptions options{.scale = kScale, .causal = kCausal};
    Feeds feeds = {{"q", q.tensor(problem.batches)},
                   {"k", k.tensor(problem.batches)},
                   {"v", v.tensor(problem.batches)},
                   {"grad", grad.tensor(problem.batches)}};
    if (kMasked) {
      options.mask = graph.input("mask", boolean, {problem.batches, problem.keys});
      feeds["mask"] = Tensor::of({problem.batches, problem.keys}, problem.mask).cast(boolean);
    }
    const Attended attended = attention(qs, ks, vs, options);
    const AttentionGradient slopes = attention_gradient(grads, qs, ks, vs, attended, options);
    const antichain::Results all =
        session.compile({attended.output, attended.lse, slopes.q, slopes.k, slopes.v},
                        {.compiler = {.level = 0}})(feeds);
    const auto values = [&all](std::size_t i) { return all[i].template to_vector<double>(); };
    return {values(0), values(1), values(2), values(3), values(4)};
  }

  void check() {
    const Results want = reference();
    const Results got = run(Schedule::first_warp_first, Arrival::at_once);
    // A few roundings of weights, sums and gradients to 16 bits.
    const double tolerance = std::is_same_v<T, device::bf16> ? 0.02 : 0.0025;
    expect_near(got.output, want.output, tolerance, "output");
    for (std::size_t i = 0; i < want.lse.size(); ++i) {
      ASSERT_NEAR(got.lse[i] / want.lse[i], 1, 1e-3) << "lse, element " << i;
    }
    expect_near(got.dv, want.dv, tolerance, "gradient of v");
    expect_near(got.dk, want.dk, tolerance, "gradient of k");
    expect_near(got.dq, want.dq, tolerance, "gradient of q");
    const Results other = run(Schedule::last_warp_first, Arrival::when_waited_for);
    EXPECT_EQ(got.output, other.output);
    EXPECT_EQ(got.lse, other.lse);
    EXPECT_EQ(got.dq, other.dq);
    EXPECT_EQ(got.dk, other.dk);
    EXPECT_EQ(got.dv, other.dv);
  }
};

template <class T, int kWidth, bool kCausal = false>
void check(const Problem& problem) {
  Emulation<T, kWidth, kCausal, false>(problem).check();
}
template <class T, int kWidth, bool kCausal = false>
void check_masked(const Problem& problem) {
  Emulation<T, kWidth, kCausal, true>(problem).check();
}

// Every seventh key is hidden, and in the last batch all but the last one.
std::vector<std::int64_t> some_flags(int batches, int keys) {
  std::vector<std::int64_t> flags;
  for (int i = 0; i < batches * keys; ++i) {
    flags.push_back(i < (batches - 1) * keys ? i % 7 != 3 : i == batches * keys - 1);
  }
  return flags;
}

TEST(AttentionEmulation, OneTile) { check<device::bf16, 16>({1, 16, 16, 1}); }
TEST(AttentionEmulation, OneElement) { check<device::bf16, 16>({1, 1, 1, 1}); }
TEST(AttentionEmulation, OddSizes) { check<device::f16, 32>({2, 17, 39, 3}); }
TEST(AttentionEmulation, SeveralBlocks) { check<device::bf16, 64>({1, 150, 200, 1}); }
TEST(AttentionEmulation, WideHeads) { check<device::f16, 128>({1, 70, 100, 1}); }
TEST(AttentionEmulation, UnevenWidths) { check<device::bf16, 80>({1, 33, 65, 2}); }
TEST(AttentionEmulation, Causal) {
  check<device::f16, 32, true>({1, 150, 150, 2});
  check<device::f16, 32, true>({1, 140, 40, 1});
  check<device::f16, 32, true>({1, 20, 170, 1});
}
TEST(AttentionEmulation, CausalWideHeads) { check<device::bf16, 96, true>({1, 130, 130, 1}); }
TEST(AttentionEmulation, Masked) {
  check_masked<device::bf16, 16>({3, 20, 70, 2, some_flags(3, 70)});
}
TEST(AttentionEmulation, CausalAndMasked) {
  check_masked<device::f16, 16, true>({2, 150, 150, 1, some_flags(2, 150)});
}
TEST(AttentionEmulation, NoKeyIsSeen) {
  check_masked<device::f16, 16>({1, 5, 70, 1, std::vector<std::int64_t>(70, 0)});
  check_masked<device::f16, 16, true>({1, 80, 70, 1, std::vector<std::int64_t>(70, 0)});
}

TEST(AttentionEmulation, WithoutKeysIsZero) {
  Emulation<device::bf16, 16, false, false> none({1, 3, 0, 1});
  const Results results = none.run(Schedule::first_warp_first, Arrival::when_waited_for);
  EXPECT_EQ(results.output, std::vector<double>(48, 0));
  EXPECT_EQ(results.dq, std::vector<double>(48, 0));
}

}  // namespace antichain::attention_emulation_test
