#include "antichain/backends/cpu/elementwise/random_kernels.h"

#include <type_traits>

#include "antichain/backends/cpu/simd/random_loops.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/state/random.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kWordsPerBlock = 4;
constexpr std::int64_t kTile = 1024;  // words: they stay in the fastest cache
constexpr std::int64_t kTilesPerTask = 16;

// Calls f(words, first, last) for ranges of elements that cover [0, count), with the words of the
// element `first` and of all up to `last`; kWords of them belong to an element.
template <int kWords, class F>
void for_each_word_tile(RandomBlocksLoop blocks, RandomStream stream, std::int64_t count, F f) {
  constexpr std::int64_t kElements = kTile / kWords;
  parallel_ranges(count, kTilesPerTask * kElements, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t words[kTile];
    for (std::int64_t first = begin; first < end; first += kElements) {
      const std::int64_t last = std::min(end, first + kElements);
      const std::int64_t num_words = (last - first) * kWords;
      blocks(stream, first * kWords / kWordsPerBlock,
             (num_words + kWordsPerBlock - 1) / kWordsPerBlock, words);
      f(words, first, last);
    }
  });
}

// Calls f(stream, first, count) for the draw of each key: where it begins, and its elements.
template <class F>
void for_each_draw(const KernelContext& context, F f) {
  const std::int64_t* key = context.in(0).data<std::int64_t>();
  const std::int64_t keys = context.in(0).numel() / 2;
  const std::int64_t count = keys == 0 ? 0 : context.out().numel() / keys;
  for (std::int64_t i = 0; i < keys; ++i) {
    f(RandomStream{key[2 * i], key[2 * i + 1], context.attr<std::int64_t>("stream")}, i * count,
      count);
  }
}

void draw_bernoulli(RandomBlocksLoop blocks, KernelContext& context) {
  const std::uint64_t threshold = bernoulli_threshold(context.attr<double>("probability"));
  for_each_draw(context, [&](RandomStream stream, std::int64_t start, std::int64_t count) {
    bool* const out = context.out().data<bool>() + start;
    for_each_word_tile<1>(blocks, stream, count,
                          [&](const std::uint32_t* words, std::int64_t first, std::int64_t last) {
                            for (std::int64_t i = first; i < last; ++i) {
                              out[i] = words[i - first] < threshold;
                            }
                          });
  });
}

// An element of type T from the words of its tile: `i` counts from the tile's first element.
struct Uniform {
  static float narrow(const std::uint32_t* words, std::int64_t i) { return uniform_of(words[i]); }
  static double wide(const std::uint32_t* words, std::int64_t i) {
    return uniform_of(join_words(words[2 * i], words[2 * i + 1]));
  }
};
struct Normal {
  static float narrow(const std::uint32_t* words, std::int64_t i) {
    const std::uint32_t* const pair = words + i / 2 * 2;
    return normal_of(pair[0], pair[1], i % 2 == 1);
  }
  static double wide(const std::uint32_t* words, std::int64_t i) {
    const std::uint32_t* const four = words + i / 2 * 4;
    return normal_of(join_words(four[0], four[1]), join_words(four[2], four[3]), i % 2 == 1);
  }
};

template <class Distribution>
void draw_floats(RandomBlocksLoop blocks, KernelContext& context) {
  visit_dtype(context.out().dtype(), [&](auto zero) {
    using T = decltype(zero);
    constexpr bool kWide = std::is_same_v<T, double>;
    for_each_draw(context, [&](RandomStream stream, std::int64_t start, std::int64_t count) {
      T* const out = context.out().data<T>() + start;
      for_each_word_tile<kWide ? 2 : 1>(
          blocks, stream, count,
          [&](const std::uint32_t* words, std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
              if constexpr (kWide) {
                out[i] = Distribution::wide(words, i - first);
              } else {
                out[i] = convert<T>(Distribution::narrow(words, i - first));
              }
            }
          });
    });
  });
}

using Draw = void (*)(RandomBlocksLoop, KernelContext&);

}  // namespace

void register_random(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    const auto add = [&kernels](const OpDef& def, Draw draw) {
      kernels.add(
          def,
          {.name = std::string(name(kLevel)) + " draw",
           .supports = [](Op) { return cpu_supports(kLevel); },
           .run = [draw](KernelContext& context) { draw(random_blocks_loop<kLevel>(), context); }});
    };
    add(random_uniform_def(), draw_floats<Uniform>);
    add(random_normal_def(), draw_floats<Normal>);
    add(random_bernoulli_def(), draw_bernoulli);
  });
}

}  // namespace antichain::cpu
