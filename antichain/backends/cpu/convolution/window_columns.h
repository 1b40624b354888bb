// Convolution as a matrix product, im2col (Chellapilla, Puri and Simard 2006): the elements under
// each window become a column, columns[in * window, windows].
#pragma once

#include <cstdint>
#include <vector>

#include "antichain/backends/cpu/convolution/conv_plan.h"
#include "antichain/backends/cpu/products/matmul_plan.h"

namespace antichain::cpu {

class WindowColumns {
 public:
  explicit WindowColumns(const ConvSizes& sizes);

  /// Returns whether the columns of x are x itself, as they are for windows of one element.
  bool are_x() const { return are_x_; }
  std::int64_t rows() const { return channels_ * window_; }
  std::int64_t count() const { return windows_; }
  /// Returns the distances between the rows and between the columns.
  MatrixStrides strides() const {
    return are_x_ ? MatrixStrides{x_.channel, x_.position} : MatrixStrides{windows_, 1};
  }

  /// Writes the columns of one group of one example.
  template <class T>
  void gather(const T* x, T* columns) const;
  /// Sets x to the sums of what columns hold for its elements.
  template <class T>
  void scatter(const T* columns, T* x) const;

 private:
  static constexpr std::int32_t kPadding = -1;

  std::int64_t channels_, input_, window_, windows_;
  ConvSteps x_;
  bool are_x_;
  std::vector<std::int32_t> positions_;  // [window, windows]: where the element is in its channel
};

template <class T>
void WindowColumns::gather(const T* x, T* columns) const {
  for (std::int64_t channel = 0; channel < channels_; ++channel, x += x_.channel) {
    for (const std::int32_t position : positions_) {
      *columns++ = position == kPadding ? T(0) : x[position * x_.position];
    }
  }
}

template <class T>
void WindowColumns::scatter(const T* columns, T* x) const {
  for (std::int64_t channel = 0; channel < channels_; ++channel, x += x_.channel) {
    for (std::int64_t position = 0; position < input_; ++position) {
      x[position * x_.position] = T(0);
    }
    for (const std::int32_t position : positions_) {
      if (position != kPadding) {
        x[position * x_.position] += *columns;
      }
      ++columns;
    }
  }
}

}  // namespace antichain::cpu
