#include "antichain/backends/cuda/indexing/radix_sort.h"

#include <algorithm>
#include <bit>

namespace antichain::cuda {

namespace {

constexpr int kDigitBits = 8;
constexpr std::int64_t kDigits = 1 << kDigitBits;  // and threads of a block
constexpr std::int64_t kSortTile = 8 * kDigits;    // elements that a block counts and places
constexpr std::int64_t kMostSortBlocks = 1 << 14;

struct SortSlot {
  enum : std::size_t {
    kCount,
    kTiles,
    kShift,
    kKeys,
    kOrder,
    kKeysTo,
    kOrderTo,
    kPlaces,
    kTotals,
    kWhen,
    kNumSlots
  };
};

// Elements of a tile are placed 256 at a time: those of a digit behind each other, first by warps,
// then by lanes.
constexpr const char* kText = R"(#include "antichain/backends/cuda/device/scan.cuh"
using namespace antichain::device;
struct Arguments {
  long long count, tiles, shift;
  const unsigned long long* keys;
  const long long* order;
  unsigned long long* keys_to;
  long long *order_to, *places, *totals;
  const bool* when;
};

bool has_work(const Arguments& a) { return a.when == nullptr || *a.when; }

constexpr int kDigits = 256, kWarps = 8, kRounds = 8;

unsigned digit_of(const Arguments& a, unsigned long long key) {
  return unsigned(key >> a.shift) % kDigits;
}

// places[digit][tile]: how many elements of the digit the tile has
extern "C" __global__ void count_digits(const Arguments a) {
  __shared__ unsigned counts[kDigits];
  if (!has_work(a)) {
    return;
  }
  for (long long tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int round = 0; round < kRounds; ++round) {
      const long long at = (tile * kRounds + round) * kDigits + threadIdx.x;
      if (at < a.count) {
        atomicAdd(&counts[digit_of(a, a.keys[at])], 1u);
      }
    }
    __syncthreads();
    a.places[threadIdx.x * a.tiles + tile] = counts[threadIdx.x];
  }
}

// places[digit][tile]: how many the tiles in front have; a block per digit
extern "C" __global__ void scan_digits(const Arguments a) {
  __shared__ long long shared[kDigits];
  if (!has_work(a)) {
    return;
  }
  long long* const places = a.places + blockIdx.x * a.tiles;
  const Chunk chunk(a.tiles);
  long long own = 0;
  for (long long i = chunk.begin; i < chunk.end; ++i) {
    own += places[i];
  }
  long long before = sum_before(own, shared);
  for (long long i = chunk.begin; i < chunk.end; ++i) {
    const long long count = places[i];
    places[i] = before;
    before += count;
  }
  if (threadIdx.x == blockDim.x - 1) {
    a.totals[blockIdx.x] = before;
  }
}

extern "C" __global__ void place(const Arguments a) {
  __shared__ long long next[kDigits];  // where the next element of a digit goes
  __shared__ unsigned in_warp[kWarps][kDigits];
  if (!has_work(a)) {
    return;
  }
  const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
  const long long smaller = sum_before(a.totals[t], next);
  for (long long tile = blockIdx.x; tile < a.tiles; tile += gridDim.x) {
    next[t] = smaller + a.places[t * a.tiles + tile];
    for (int round = 0; round < kRounds; ++round) {
      for (int w = 0; w < kWarps; ++w) {
        in_warp[w][t] = 0;
      }
      __syncthreads();
      const long long at = (tile * kRounds + round) * kDigits + t;
      const bool is_there = at < a.count;
      const unsigned long long key = is_there ? a.keys[at] : 0;
      const unsigned digit = is_there ? digit_of(a, key) : kDigits;
      const unsigned same = __match_any_sync(0xffffffffu, digit);
      const unsigned rank = __popc(same & ((1u << lane) - 1));
      if (is_there && rank == 0) {
        in_warp[warp][digit] = __popc(same);
      }
      __syncthreads();
      if (is_there) {
        long long to = next[digit] + rank;
        for (unsigned w = 0; w < warp; ++w) {
          to += in_warp[w][digit];
        }
        a.keys_to[to] = key;
        a.order_to[to] = a.order != nullptr ? a.order[at] : at;
      }
      __syncthreads();
      for (int w = 0; w < kWarps; ++w) {
        next[t] += in_warp[w][t];
      }
    }
  }
}
)";

std::int64_t sort_tiles(std::int64_t count) { return (count + kSortTile - 1) / kSortTile; }

std::shared_ptr<Buffer> numbers(const Context& device, std::int64_t count) {
  return DeviceContext::allocate(device, static_cast<std::size_t>(count) * sizeof(std::int64_t));
}

}  // namespace

RadixSort::RadixSort(const Context& device, std::int64_t count)
    : count_(count),
      keys_{numbers(device, count), numbers(device, count)},
      order_{numbers(device, count), numbers(device, count)},
      places_(numbers(device, kDigits * sort_tiles(count))),
      totals_(numbers(device, kDigits)),
      count_digits_(device, kText, "count_digits", std::min(sort_tiles(count), kMostSortBlocks),
                    dim3(kDigits), std::vector<std::int64_t>(SortSlot::kNumSlots)),
      scan_digits_(device, kText, "scan_digits", count > 0 ? kDigits : 0, dim3(kDigits),
                   std::vector<std::int64_t>(SortSlot::kNumSlots)),
      place_(device, kText, "place", std::min(sort_tiles(count), kMostSortBlocks), dim3(kDigits),
             std::vector<std::int64_t>(SortSlot::kNumSlots)) {
  for (Launch* launch : {&count_digits_, &scan_digits_, &place_}) {
    launch->set(SortSlot::kCount, count);
    launch->set(SortSlot::kTiles, sort_tiles(count));
    launch->set(SortSlot::kPlaces, places_->data());
    launch->set(SortSlot::kTotals, totals_->data());
  }
}

void RadixSort::run(int bits, bool goes_on) {
  for (int bit = 0; bit < std::max(bits, 1); bit += kDigitBits) {
    const std::size_t to = 1 - current_;
    for (Launch* launch : {&count_digits_, &scan_digits_, &place_}) {
      launch->set(SortSlot::kShift, bit);
      launch->set(SortSlot::kKeys, keys_[current_]->data());
      launch->set(SortSlot::kOrder, goes_on || bit > 0 ? order_[current_]->data() : nullptr);
      launch->set(SortSlot::kKeysTo, keys_[to]->data());
      launch->set(SortSlot::kOrderTo, order_[to]->data());
      launch->run();
    }
    current_ = to;
  }
}

void RadixSort::run_when(const void* flag) {
  for (Launch* launch : {&count_digits_, &scan_digits_, &place_}) {
    launch->set(SortSlot::kWhen, flag);
  }
}

int bits_for(std::int64_t numbers) {
  return numbers < 2 ? 0
                     : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(numbers - 1)));
}

std::string radix_sort_text() { return kText; }

}  // namespace antichain::cuda
