// Products of rows by matrices that are larger than what a block can keep of them, or that differ
// from step to step: they pass through shared memory in slabs, copied ahead of where they are used.
// Copies are those of async_copy.cuh, which is included before, or of a test.
#pragma once

#include "antichain/backends/cuda/device/chain_form.cuh"

namespace antichain::device {

template <int kCount>
struct alignas(kCount % 4 == 0 ? 16 : 4 * kCount) Numbers {
  float at[kCount];
};

// Begins to copy pieces of lines: kWidth numbers of each, kStride apart there and kPitch here.
template <int kHeight, int kWidth, int kStride, int kPitch>
void copy_pieces(float* to, const float* from) {
  if constexpr (kWidth % 4 == 0 && kStride % 4 == 0) {
    if ((unsigned long long)from % 16 == 0) {
      constexpr int kVectors = kWidth / 4;
      for (int i = threadIdx.x; i < kHeight * kVectors; i += blockDim.x) {
        const int line = i / kVectors, piece = i % kVectors * 4;
        copy_16_bytes(to + line * kPitch + piece, from + (long long)line * kStride + piece, true);
      }
      return;
    }
  }
  for (int i = threadIdx.x; i < kHeight * kWidth; i += blockDim.x) {
    const int line = i / kWidth, piece = i % kWidth;
    copy_4_bytes(to + line * kPitch + piece, from + (long long)line * kStride + piece, true);
  }
}

// Begins to copy a slab of a matrix.
template <class Form>
void copy_slab(float* to, const float* matrix, int slab) {
  constexpr ProductForm f = Form::kForm;
  constexpr int kDepth = f.depth(), kRest = f.inner % kDepth;
  const int first = slab * kDepth;
  const bool is_whole = first + kDepth <= f.inner;
  if constexpr (f.transposed) {
    if (is_whole) {
      copy_pieces<f.columns, kDepth, f.inner, f.pitch()>(to, matrix + first);
    } else if constexpr (kRest > 0) {
      copy_pieces<f.columns, kRest, f.inner, f.pitch()>(to, matrix + first);
    }
  } else {
    if (is_whole) {
      copy_pieces<kDepth, f.columns, f.columns, f.pitch()>(to, matrix + first * f.columns);
    } else if constexpr (kRest > 0) {
      copy_pieces<kRest, f.columns, f.columns, f.pitch()>(to, matrix + first * f.columns);
    }
  }
}

// The tile of one thread, or its part of the sums.
template <class Form>
class ProductTile {
  static constexpr ProductForm kF = Form::kForm;
  static constexpr int kDown = kF.tile_rows(), kAcross = kF.across();
  static constexpr int kRowPitch = row_pitch(kF.rows, 4), kPitch = kF.pitch();

 public:
  ProductTile() {
    const int tile = threadIdx.x % kF.tiles();
    split_ = threadIdx.x / kF.tiles();
    if constexpr (kF.by_squares()) {
      const int square = tile / 32, lane = tile % 32;
      across_ = square % (kAcross / 8) * 8 + lane % 8;
      row_ = (square / (kAcross / 8) * 4 + lane / 8) * kDown;
    } else {
      across_ = tile % kAcross;
      row_ = tile / kAcross * kDown;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int row = 0; row < kDown; ++row) {
        sums_[j][row] = 0;
      }
    }
  }

  // Adds what a slab gives, whose first line belongs to the first of some columns of `left`.
  void add(const float* left, const float* slab, int count) {
    if (split_ >= kF.splits()) {
      return;
    }
    if constexpr (!kF.transposed) {
#pragma unroll 4
      for (int k = split_; k < count; k += kF.splits()) {
        add_line(left, k, *(const Numbers<4>*)(slab + k * kPitch + 4 * across_));
      }
    } else if constexpr (kF.inner % 4 == 0) {
      for (int k = 4 * split_; k < count; k += 4 * kF.splits()) {
        Numbers<4> columns[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          columns[j] = *(const Numbers<4>*)(slab + (across_ + j * kAcross) * kPitch + k);
        }
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          add_line(left, k + n,
                   {{columns[0].at[n], columns[1].at[n], columns[2].at[n], columns[3].at[n]}});
        }
      }
    } else {
      for (int k = split_; k < count; k += kF.splits()) {
        const float* const column = slab + across_ * kPitch + k;
        constexpr int kNext = kAcross * kPitch;
        add_line(left, k, {{column[0], column[kNext], column[2 * kNext], column[3 * kNext]}});
      }
    }
  }

  // Stores the product; `sums` is for all of them where threads share sums, and then every element
  // is given by give(column, row, sum) to the thread that owns it.
  void store(float* out, float* sums) const {
    float* const to = kF.splits() == 1 ? out : sums + split_ * kF.columns * kRowPitch;
    if (split_ >= kF.splits()) {
      return;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int column = kF.transposed ? across_ + j * kAcross : 4 * across_ + j;
      if (column < kF.columns) {
        constexpr int kVector = kDown % 4 == 0 ? 4 : kDown;
#pragma unroll
        for (int row = 0; row < kDown; row += kVector) {
          Numbers<kVector> some;
#pragma unroll
          for (int n = 0; n < kVector; ++n) {
            some.at[n] = sums_[j][row + n];
          }
          *(Numbers<kVector>*)(to + column * kRowPitch + row_ + row) = some;
        }
      }
    }
  }

 private:
  void add_line(const float* left, int k, const Numbers<4>& factors) {
    constexpr int kVector = kDown % 4 == 0 ? 4 : kDown;
    float rows[kDown];
#pragma unroll
    for (int row = 0; row < kDown; row += kVector) {
      const auto some = *(const Numbers<kVector>*)(left + k * kRowPitch + row_ + row);
#pragma unroll
      for (int n = 0; n < kVector; ++n) {
        rows[row + n] = some.at[n];
      }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int row = 0; row < kDown; ++row) {
        sums_[j][row] = __fmaf_rn(rows[row], factors.at[j], sums_[j][row]);
      }
    }
  }

  int split_, across_, row_;
  float sums_[4][kDown];
};

// out[rows, columns] = left[rows, inner] · matrix, whose slabs arrive in the places of a ring of
// kStages, one after the other from `place` on. `fetch` begins to copy the next one, which takes
// the place that was read last. Threads meet before `left` is read. Elements of the result are
// written by any thread.
template <class Form, int kStages, int kPlaceFloats, class Fetch>
void multiply_by_slabs(float* out, float* sums, const float* left, const float* slabs, int& place,
                       Fetch fetch) {
  constexpr ProductForm f = Form::kForm;
  constexpr int kDepth = f.depth(), kRowPitch = row_pitch(f.rows, 4);
  ProductTile<Form> tile;
#pragma unroll 1
  for (int first = 0; first < f.inner; first += kDepth) {
    wait_for_copies<kStages - 2>();
    __syncthreads();
    fetch();
    const int left_over = f.inner - first;
    tile.add(left + first * kRowPitch, slabs + place * kPlaceFloats,
             left_over < kDepth ? left_over : kDepth);
    place = place + 1 == kStages ? 0 : place + 1;
  }
  tile.store(out, sums);
  if constexpr (f.splits() > 1) {
    __syncthreads();
    constexpr int kElements = f.columns * kRowPitch;
    for (int i = threadIdx.x; i < kElements; i += blockDim.x) {
      float sum = sums[i];
#pragma unroll
      for (int split = 1; split < f.splits(); ++split) {
        sum += sums[split * kElements + i];
      }
      out[i] = sum;
    }
  }
}

}  // namespace antichain::device
