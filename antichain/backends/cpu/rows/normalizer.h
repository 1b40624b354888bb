// Normalising along axes: reduce twice, make numbers of the totals, change every element by them.
#pragma once

#include <vector>

#include "antichain/backends/cpu/rows/reduction.h"
#include "antichain/backends/cpu/simd/apply_loops.h"

namespace antichain::cpu {

/// The loops of one element type at one level.
struct ChangeLoops {
  ApplyLoop by_row, by_column;
};

/// The numbers to change elements by, of consecutive outputs of the reduction.
struct ChangeNumbers {
  double *a, *b, *c;
};

class Normalizer {
 public:
  Normalizer(const Shape& shape, const std::vector<bool>& reduced, std::size_t element_bytes);

  Reduction& reduction() { return reduction_; }
  /// Reduces x as Reduction::run_twice does. `numbers(first, count, totals, shifts, numbers)` makes
  /// the numbers of each output; `scale` and `bias` are per reduced element and only given to loops
  /// by row.
  template <class Numbers>
  void run(const void* x, void* out, const FoldStage& first, FunctionRef<double(double)> shift,
           const FoldStage& second, const Numbers& numbers, const ChangeLoops& loops,
           const double* scale = nullptr, const double* bias = nullptr);
  /// Changes every element by numbers of all outputs.
  void change(const void* x, void* out, const ApplyNumbers& numbers, const ChangeLoops& loops,
              const double* scale = nullptr, const double* bias = nullptr) const;

 private:
  void change_matrix(const void* x, void* out, const ReductionMatrix& matrix,
                     const ApplyNumbers& numbers, const ChangeLoops& loops, const double* scale,
                     const double* bias) const;

  Reduction reduction_;
  std::int64_t element_bytes_;
  std::vector<double> numbers_;  // of all outputs, when there are chunks
};

template <class Numbers>
void Normalizer::run(const void* x, void* out, const FoldStage& first,
                     FunctionRef<double(double)> shift, const FoldStage& second,
                     const Numbers& numbers, const ChangeLoops& loops, const double* scale,
                     const double* bias) {
  const std::int64_t outputs = reduction_.outputs();
  if (reduction_.in_chunks()) {
    double* all = numbers_.data();
    reduction_.run_twice(
        x, first, shift, second,
        [&](std::int64_t begin, std::int64_t count, const double* totals, const double* shifts) {
          numbers(begin, count, totals, shifts,
                  ChangeNumbers{all + begin, all + outputs + begin, all + 2 * outputs + begin});
        });
    change(x, out, {all, all + outputs, all + 2 * outputs}, loops, scale, bias);
    return;
  }
  reduction_.run_twice(
      x, first, shift, second,
      [&](std::int64_t begin, std::int64_t count, const double* totals, const double* shifts) {
        double a[Reduction::kMaxBlock], b[Reduction::kMaxBlock], c[Reduction::kMaxBlock];
        numbers(begin, count, totals, shifts, ChangeNumbers{a, b, c});
        reduction_.for_each_matrix(begin, count, [&](const ReductionMatrix& matrix) {
          change_matrix(x, out, matrix, {a, b, c}, loops, scale, bias);
        });
      });
}

}  // namespace antichain::cpu
