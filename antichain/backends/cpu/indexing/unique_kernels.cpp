// unique_indices: a radix sort, by digits from the lowest. Lists are short, axes may be long: no
// table has the size of the axis.
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "antichain/backends/cpu/indexing/gather_kernels.h"
#include "antichain/backends/cpu/indexing/indices.h"
#include "antichain/ops/indexing/indexing.h"

namespace antichain::cpu {

namespace {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

int bits_of(std::int64_t numbers) {
  return numbers < 2 ? 0
                     : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(numbers - 1)));
}

// Indices with their places in the list, in one word each.
class IndexSort {
 public:
  IndexSort(std::int64_t count, std::int64_t size)
      : place_bits_(bits_of(count)),
        index_bits_(bits_of(size)),
        words_(static_cast<std::size_t>(count)),
        sorted_(words_.size()) {}

  /// Sorts indices that have been checked; equal ones stay in the order of the list.
  void run(const std::int64_t* indices) {
    for (std::size_t k = 0; k < words_.size(); ++k) {
      words_[k] = static_cast<std::uint64_t>(indices[k]) << place_bits_ | k;
    }
    for (int bit = 0; bit < index_bits_; bit += kDigitBits) {
      sort_by_digit(place_bits_ + bit);
    }
  }
  std::size_t count() const { return words_.size(); }
  std::int64_t index(std::size_t rank) const {
    return static_cast<std::int64_t>(words_[rank] >> place_bits_);
  }
  std::size_t place(std::size_t rank) const {
    return words_[rank] & ((std::uint64_t{1} << place_bits_) - 1);
  }
  bool fits() const { return place_bits_ + index_bits_ <= 64; }

 private:
  void sort_by_digit(int shift) {
    const auto digit = [shift](std::uint64_t word) { return (word >> shift) % kDigits; };
    starts_.fill(0);
    for (const std::uint64_t word : words_) {
      ++starts_[digit(word)];
    }
    std::size_t before = 0;
    for (std::size_t& start : starts_) {
      before += std::exchange(start, before);
    }
    for (const std::uint64_t word : words_) {
      sorted_[starts_[digit(word)]++] = word;
    }
    words_.swap(sorted_);
  }

  int place_bits_, index_bits_;
  std::vector<std::uint64_t> words_, sorted_;
  std::array<std::size_t, kDigits> starts_;
};

KernelFunction plan_unique_indices(const KernelContext& context) {
  const std::int64_t size = context.size("size");
  const auto sort = std::make_shared<IndexSort>(context.in(0).numel(), size);
  ensure(sort->fits(), "{}: list and axis are too long together", context.where);
  return [=](KernelContext& run) {
    check_indices(run, 0, size);
    sort->run(run.in(0).data<std::int64_t>());
    std::int64_t* const unique = run.out(0).data<std::int64_t>();
    std::int64_t* const slots = run.out(1).data<std::int64_t>();
    std::int64_t found = 0;
    for (std::size_t rank = 0; rank < sort->count(); ++rank) {
      const std::int64_t index = sort->index(rank);
      if (rank == 0 || index != unique[found - 1]) {
        unique[found++] = index;
      }
      slots[sort->place(rank)] = found - 1;
    }
    std::fill(unique + found, unique + run.out(0).numel(), kNoIndex);
  };
}

}  // namespace

void register_unique_indices(KernelTable& kernels) {
  kernels.add(unique_indices_def(), {.name = "radix sort",
                                     .supports = [](Op) { return Support{}; },
                                     .plan = plan_unique_indices});
}

}  // namespace antichain::cpu
