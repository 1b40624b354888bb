// Stable sorting of unsigned numbers on the GPU, by digits from the lowest, without waiting.
//
// What has to be in the same order in every run is brought there by it: sorted values, the elements
// of a sparse matrix by columns, updates by the element that they are added to.
#pragma once

#include "antichain/backends/cuda/core/launch.h"

namespace antichain::cuda {

class RadixSort {
 public:
  RadixSort(const Context& device, std::int64_t count);

  /// Returns where the keys lie, unsigned long long[count]. Fill them in before run(); afterwards
  /// they are in order.
  void* keys() const { return keys_[current_]->data(); }
  /// Returns the elements in order, long long[count]: where each of them was at first.
  const void* order() const { return order_[current_]->data(); }
  /// Enqueues sorting by the lowest bits of the keys. The first element is number 0 again, unless
  /// it goes on: then the keys are of the elements in the order that they have by now.
  void run(int bits, bool goes_on = false);
  /// Sorts only where this bool of the device is true when the kernels run; null: always.
  void run_when(const void* flag);
  /// Starts anew: says where the keys of the elements in their first order go.
  void* fresh_keys() {
    current_ = 0;
    return keys();
  }

 private:
  std::int64_t count_;
  std::shared_ptr<Buffer> keys_[2], order_[2], places_, totals_;
  std::size_t current_ = 0;
  Launch count_digits_, scan_digits_, place_;
};

/// Returns how many bits tell apart as many numbers.
int bits_for(std::int64_t numbers);

/// Returns the text of its kernels.
std::string radix_sort_text();

}  // namespace antichain::cuda
