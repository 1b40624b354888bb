// Convolution as matrix products by OpenBLAS: the elements under each window become a column.
// Threads share the examples, each calls a BLAS that has one thread.
#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "library.h"

namespace libraries {

std::string title() { return "columns and OpenBLAS"; }

void set_threads(int threads) {
  openblas_set_num_threads(1);
  omp_set_num_threads(threads);
}

namespace {

// Calls f(position in x, position in the columns) for all elements that are not padding.
template <class F>
void for_each_element(const Convolution& conv, F&& f) {
  const std::int64_t size = conv.image, pad = conv.padding();
  std::int64_t row = 0;
  for (std::int64_t channel = 0; channel < conv.in; ++channel) {
    for (std::int64_t i = 0; i < conv.window; ++i) {
      for (std::int64_t j = 0; j < conv.window; ++j, ++row) {
        const std::int64_t left = std::max<std::int64_t>(pad - j, 0);
        const std::int64_t right = std::min(size, size + pad - j);
        for (std::int64_t y = std::max<std::int64_t>(pad - i, 0);
             y < std::min(size, size + pad - i); ++y) {
          const std::int64_t from = (channel * size + y + i - pad) * size + j - pad;
          for (std::int64_t n = left; n < right; ++n) {
            f(from + n, (row * size + y) * size + n);
          }
        }
      }
    }
  }
}

void gather(const Convolution& conv, const float* x, std::vector<float>& columns) {
  std::fill(columns.begin(), columns.end(), 0.0F);
  for_each_element(conv, [&](std::int64_t from, std::int64_t to) {
    columns[static_cast<std::size_t>(to)] = x[from];
  });
}

}  // namespace

std::function<void()> prepare(const Convolution& conv, Part part, float* x, float* weight,
                              float* output) {
  const int pixels = static_cast<int>(conv.image * conv.image), out = static_cast<int>(conv.out);
  const int rows = static_cast<int>(conv.in * conv.window * conv.window);
  const std::int64_t x_size = conv.in * pixels, output_size = conv.out * pixels;
  return [=] {
    std::vector<float> sums;  // of the weight's gradient, per thread
#pragma omp parallel
    {
      std::vector<float> columns(static_cast<std::size_t>(rows) * static_cast<std::size_t>(pixels));
      const auto weights = static_cast<std::size_t>(rows) * static_cast<std::size_t>(out);
#pragma omp single
      sums.resize(part == Part::weight ? weights * static_cast<std::size_t>(omp_get_num_threads())
                                       : 0);
      float* const sum = sums.data() + weights * static_cast<std::size_t>(omp_get_thread_num());
#pragma omp for schedule(static)
      for (std::int64_t n = 0; n < conv.batch; ++n) {
        float *const xs = x + n * x_size, *const outputs = output + n * output_size;
        if (part == Part::x) {
          cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rows, pixels, out, 1, weight, rows,
                      outputs, pixels, 0, columns.data(), pixels);
          std::fill_n(xs, x_size, 0.0F);
          for_each_element(conv, [&](std::int64_t to, std::int64_t from) {
            xs[to] += columns[static_cast<std::size_t>(from)];
          });
          continue;
        }
        gather(conv, xs, columns);
        if (part == Part::output) {
          cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, out, pixels, rows, 1, weight, rows,
                      columns.data(), pixels, 0, outputs, pixels);
        } else {
          cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, out, rows, pixels, 1, outputs,
                      pixels, columns.data(), pixels, 1, sum, rows);
        }
      }
#pragma omp for schedule(static)
      for (std::size_t i = 0; i < (part == Part::weight ? weights : 0); ++i) {
        float total = 0;
        for (std::size_t at = i; at < sums.size(); at += weights) {
          total += sums[at];
        }
        weight[i] = total;
      }
    }
  };
}

}  // namespace libraries
