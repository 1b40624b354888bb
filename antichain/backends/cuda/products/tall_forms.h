// How products with one long axis are dealt to threads, chosen by estimates of what an H200 needs
// for each of its parts.
//
// Sizes alone decide, never the GPU nor a clock: so do the order of adding and the bits. All is
// constexpr: tests run the kernels of these very forms on the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/device/tall_form.cuh"

namespace antichain::cuda {

using device::kTallBlocks, device::TallProductForm, device::TallReductionForm, device::TallSources;

inline constexpr std::int64_t kLeastTall = 4096;  // of the long axis: else cuBLASLt is fast enough
inline constexpr std::int64_t kMostNarrow = 64;   // of the others: beyond, memory does not bound it

// A multiprocessor issues 4 instructions for a warp each in a clock, and reads 32 numbers of shared
// memory.
constexpr double tall_clocks(std::int64_t instructions, std::int64_t reads) {
  return std::max(static_cast<double>(instructions) / 128, static_cast<double>(reads) / 32);
}

/// Returns the form with threads dealt to its rows and columns.
constexpr TallReductionForm choose_tall_sums(TallReductionForm form) {
  constexpr int kMostSums = 64, kLongest = 12;  // what registers hold
  constexpr int kOverhead = 4;                  // instructions of a step beside reading and adding
  TallReductionForm best = form;
  double fewest = 1e30;
  for (int r = 1; r <= std::min(form.rows(), kLongest); ++r) {
    for (int c = 1; c <= std::min(form.columns(), kLongest) && r * c <= kMostSums; ++c) {
      form.own_rows = r;
      form.own_columns = c;
      form.down = (form.rows() + r - 1) / r;
      form.across = (form.columns() + c - 1) / c;
      if (form.group() > TallReductionForm::kThreads) {
        continue;
      }
      // Of a block that takes a step for each of its groups.
      constexpr int kAll = TallReductionForm::kThreads;
      const double clocks =
          tall_clocks(kAll * (r * c + r + c + kOverhead), kAll * (r + c)) / form.groups();
      if (clocks < fewest) {
        fewest = clocks;
        best = form;
      }
    }
  }
  return best;
}

constexpr TallSources one_source(std::int64_t width) { return {{static_cast<int>(width)}}; }

/// Returns the form of sums over `count` steps of the products of columns.
constexpr TallReductionForm choose_tall_reduction(const TallSources& left, const TallSources& right,
                                                  std::int64_t count, bool along_a, bool along_b) {
  TallReductionForm form = choose_tall_sums({.left = left,
                                             .right = right,
                                             .along_a = along_a,
                                             .along_b = along_b,
                                             .down = 0,
                                             .across = 0,
                                             .own_rows = 0,
                                             .own_columns = 0,
                                             .tile = 0});
  // With those of another block, so many bytes are on their way that the memory is busy. Tiles are
  // smaller where blocks then have equally much to do, and whole turns of all groups; copies of 16
  // bytes want multiples of 4 steps.
  constexpr std::int64_t kTileBytes = 28 * 1024;
  const std::int64_t groups = form.groups();
  const std::int64_t step = groups % 4 == 0 ? groups : groups % 2 == 0 ? 2 * groups : 4 * groups;
  const std::int64_t fitting = kTileBytes / ((form.rows() + form.columns()) * 4);
  const std::int64_t largest = std::max(fitting / step * step, step);
  const std::int64_t turns = divided_up(count, kTallBlocks * largest);
  const std::int64_t equal = divided_up(divided_up(count, kTallBlocks * turns), step) * step;
  form.tile = static_cast<int>(std::min(largest, equal));
  return form;
}

/// What follows a product, and how its small matrix lies.
struct TallProductOptions {
  bool transpose_b = false, bias = false, relu = false;
};

/// Returns the form of out[count, columns] = a[count, inner] b[inner, columns].
constexpr TallProductForm choose_tall_product(std::int64_t count, std::int64_t inner,
                                              std::int64_t columns,
                                              const TallProductOptions& options) {
  constexpr int kMostSums = 56, kMostRows = 8, kMostQuads = 3;  // what registers hold
  constexpr int kTileBytes = 36 * 1024;
  constexpr int kLeastTurns = 4;   // of blocks: tiles are copied while others are multiplied
  constexpr int kLeastAcross = 4;  // 64 bytes that are written one behind the other
  TallProductForm form{.inner = static_cast<int>(inner),
                       .columns = static_cast<int>(columns),
                       .transpose_b = options.transpose_b,
                       .bias = options.bias,
                       .relu = options.relu,
                       .down = 0,
                       .across = 0,
                       .own_rows = 0,
                       .own_quads = 0};
  TallProductForm best = form;
  double fewest = 1e30;
  const int quads = (form.columns + 3) / 4;
  for (int q = 1; q <= kMostQuads; ++q) {
    form.own_quads = q;
    form.across = (quads + q - 1) / q;
    form.down = TallProductForm::kThreads / form.across;
    if (q > 1 && form.across < kLeastAcross) {
      break;
    }
    for (int r = 1; r <= kMostRows && 4 * q * r <= kMostSums; ++r) {
      form.own_rows = r;
      const bool fits = form.tile() * form.inner * 4 <= kTileBytes &&
                        form.tile() * kLeastTurns * kTallBlocks <= count;
      if (r > 1 && !fits) {
        break;
      }
      // Of a tile, for 4 numbers of each row, which are one instruction to read.
      constexpr int kAll = TallProductForm::kThreads;
      const double clocks =
          tall_clocks(kAll * (16 * q * r + 4 * q + r), kAll * (16 * q + 4 * r)) / form.tile();
      if (clocks < fewest) {
        fewest = clocks;
        best = form;
      }
    }
  }
  return best;
}

}  // namespace antichain::cuda
