// What each library under test provides, and the cases that all of them are measured on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace libraries {

/// Returns the library's name and version.
std::string title();
/// Sets how many threads the library uses.
void set_threads(int threads);

/// out[rows, columns] = a[rows, inner] b[inner, columns], in f32; a transposed operand is stored
/// with its axes swapped.
struct Product {
  std::int64_t rows, columns, inner;
  bool transpose_a = false, transpose_b = false;
};
/// Prepares a product for the number of threads that is set; nothing when the library lacks it.
std::function<void()> prepare(const Product& product, const float* a, const float* b, float* out);

/// A convolution of stride 1 that keeps the image's size, channels first, in f32.
struct Convolution {
  std::int64_t batch, in, out, image, window;
  std::int64_t padding() const { return window / 2; }
};
enum class Part { output, x, weight };
/// Prepares the computation of one of the three from the two others.
std::function<void()> prepare(const Convolution& convolution, Part part, float* x, float* weight,
                              float* output);

}  // namespace libraries
