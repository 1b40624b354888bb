// Columns of a convolution: what each window sees, side by side, and back. Tensors are
// [samples, channels, 3 axes].
#pragma once

#include "antichain/backends/cuda/device/division.cuh"
#include "antichain/backends/cuda/device/element.cuh"

namespace antichain::device {

struct WindowAxis {
  long long input, output, window, stride, padding, dilation;
  Reciprocal by_input, by_output, by_window, by_stride;
};

struct ColumnArguments {
  long long count;  // of elements that are written
  long long channels;
  long long samples;  // that lie side by side in a row of columns
  Reciprocal by_channels, by_samples;
  WindowAxis axes[3];
  const void* from;
  void* to;
};

// Takes the position along the innermost axis off an index.
inline __device__ unsigned take(unsigned& index, long long size, Reciprocal of_size) {
  const unsigned rest = quotient(index, size, of_size), position = index - rest * unsigned(size);
  index = rest;
  return position;
}

// Writes columns [parts, channels, windows..., samples, outputs...]: a thread per element.
template <class T>
__device__ void unfold(const ColumnArguments& a) {
  const T* const x = static_cast<const T*>(a.from);
  T* const columns = static_cast<T*>(a.to);
  const unsigned step = gridDim.x * blockDim.x;
  for (unsigned t = blockIdx.x * blockDim.x + threadIdx.x; t < a.count; t += step) {
    unsigned rest = t;
    unsigned at[3];
    for (int axis = 2; axis >= 0; --axis) {
      at[axis] = take(rest, a.axes[axis].output, a.axes[axis].by_output);
    }
    const unsigned sample = take(rest, a.samples, a.by_samples);
    long long place = 0, size = 1;
    bool inside = true;
    for (int axis = 2; axis >= 0; --axis) {
      const WindowAxis& along = a.axes[axis];
      const unsigned window = take(rest, along.window, along.by_window);
      const long long position = at[axis] * along.stride + window * along.dilation - along.padding;
      inside = inside && position >= 0 && position < along.input;
      place += position * size;
      size *= along.input;
    }
    const unsigned channel = take(rest, a.channels, a.by_channels);
    const long long n = rest * a.samples + sample;
    columns[t] = inside ? x[(n * a.channels + channel) * size + place] : T(0);
  }
}

// Sums up [samples, channels, inputs...] what columns [samples, channels, windows..., outputs...]
// have for an element: a thread per element, so that the order of the sum is always the same.
template <class T>
__device__ void fold(const ColumnArguments& a) {
  const T* const columns = static_cast<const T*>(a.from);
  T* const x = static_cast<T*>(a.to);
  const WindowAxis &outer = a.axes[0], &middle = a.axes[1], &inner = a.axes[2];
  const long long outputs = outer.output * middle.output * inner.output;
  // The window's place along an axis that sees a position by its entry `window`, or -1.
  const auto seen_from = [](const WindowAxis& along, unsigned position, long long window) {
    const long long distance = position + along.padding - window * along.dilation;
    if (distance < 0) {
      return -1LL;
    }
    const long long place = quotient(unsigned(distance), along.stride, along.by_stride);
    return place * along.stride == distance && place < along.output ? place : -1LL;
  };
  const unsigned step = gridDim.x * blockDim.x;
  for (unsigned t = blockIdx.x * blockDim.x + threadIdx.x; t < a.count; t += step) {
    unsigned rest = t;
    const unsigned at2 = take(rest, inner.input, inner.by_input);
    const unsigned at1 = take(rest, middle.input, middle.by_input);
    const unsigned at0 = take(rest, outer.input, outer.by_input);
    const long long windows = outer.window * middle.window * inner.window;
    const T* const row = columns + rest * windows * outputs;  // of a sample's channel
    T sum = T(0);
    for (long long w0 = 0; w0 < outer.window; ++w0) {
      const long long o0 = seen_from(outer, at0, w0);
      for (long long w1 = 0; o0 >= 0 && w1 < middle.window; ++w1) {
        const long long o1 = seen_from(middle, at1, w1);
        for (long long w2 = 0; o1 >= 0 && w2 < inner.window; ++w2) {
          const long long o2 = seen_from(inner, at2, w2);
          if (o2 >= 0) {
            sum += row[((w0 * middle.window + w1) * inner.window + w2) * outputs +
                       (o0 * middle.output + o1) * inner.output + o2];
          }
        }
      }
    }
    x[t] = sum;
  }
}

struct PartArguments {
  long long count, parts;
  const void* from;
  void* to;
};

// Sums up [parts, count] over the parts.
template <class T>
__device__ void sum_parts(const PartArguments& a) {
  const T* const parts = static_cast<const T*>(a.from);
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < a.count; t += step) {
    T sum = T(0);
    for (long long part = 0; part < a.parts; ++part) {
      sum += parts[part * a.count + t];
    }
    static_cast<T*>(a.to)[t] = sum;
  }
}

}  // namespace antichain::device
