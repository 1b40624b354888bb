// Tiles of matrices in shared memory and products of them by tensor cores.
//
// Whoever includes this has included tensor_core.cuh before, or what stands for it on the host.
// A warp computes rows in groups of 16. Of such a group and 8 columns, lane l holds four sums:
// those at row l / 4 and columns 2 (l % 4) and the next, and those 8 rows below.
#pragma once

#include "antichain/backends/cuda/device/attention_form.cuh"

namespace antichain::device {

constexpr int kLanes = 32;

// A value [batch, time, heads, width] of any strides, in elements, but of 1 along the width.
template <class T>
struct HeadView {
  const T* start;
  long long batch, time, head;

  const T* at(long long b, long long h) const { return start + b * batch + h * head; }
};

template <int kWidth>
constexpr int kPitch = pitch_of(kWidth);

// Begins to copy rows [first, first + kRows) of `rows`, which lie `step` elements apart; zeros
// behind the last.
template <int kRows, int kWidth, int kThreads, class T>
void begin_tile(T* tile, const T* from, long long step, int first, int rows) {
  constexpr int kChunks = kWidth / 8;
#pragma unroll
  for (int i = 0; i < (kRows * kChunks + kThreads - 1) / kThreads; ++i) {
    const int chunk = i * kThreads + int(threadIdx.x);
    const int row = chunk / kChunks, column = chunk % kChunks * 8;
    if (kRows * kChunks % kThreads == 0 || chunk < kRows * kChunks) {
      const bool wanted = first + row < rows;
      copy_16_bytes(tile + row * kPitch<kWidth> + column,
                    wanted ? from + (first + row) * step + column : from, wanted);
    }
  }
}

// The rows of a warp, as left factors of products; in registers where there is room for them.
template <class T, int kWidth, int kTiles, bool kHeld>
class RowFactors {
 public:
  // Begins at the first of the warp's rows of a tile that has arrived.
  void take(const T* rows) {
    const int lane = int(threadIdx.x) % kLanes;
    // Matrices 0 and 1 are rows 0 to 15 of columns 0 to 7, 2 and 3 those of columns 8 to 15.
    own_ = rows + lane % 16 * kPitch<kWidth> + lane / 16 * 8;
    if constexpr (kHeld) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int k = 0; k < kWidth / 16; ++k) {
          held_[tile][k] = read(tile, k);
        }
      }
    }
  }
  Quad get(int tile, int k) const {
    if constexpr (kHeld) {
      return held_[tile][k];
    } else {
      return read(tile, k);
    }
  }

 private:
  Quad read(int tile, int k) const {
    return load_matrices(own_ + tile * 16 * kPitch<kWidth> + k * 16);
  }

  const T* own_;
  Quad held_[kHeld ? kTiles : 1][kHeld ? kWidth / 16 : 1];
};

// sums = rows columnsᵀ: products of the warp's rows with the rows of a tile.
template <class T, int kWidth, int kTiles, int kColumns, bool kHeld>
void multiply_by_rows(float (&sums)[kTiles][kColumns / 8][4],
                      const RowFactors<T, kWidth, kTiles, kHeld>& rows, const T* columns) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
      sums[tile][n][0] = sums[tile][n][1] = sums[tile][n][2] = sums[tile][n][3] = 0;
    }
  }
  const int lane = int(threadIdx.x) % kLanes;
  // Matrices 0 and 1 are columns 0 to 7 and 8 to 15 of tile rows 0 to 7, 2 and 3 those of 8 to 15.
  const T* const own = columns + (lane / 16 * 8 + lane % 8) * kPitch<kWidth> + lane / 8 % 2 * 8;
#pragma unroll
  for (int k = 0; k < kWidth / 16; ++k) {
    Quad a[kTiles];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      a[tile] = rows.get(tile, k);
    }
#pragma unroll
    for (int n = 0; n < kColumns / 16; ++n) {
      const Quad b = load_matrices(own + n * 16 * kPitch<kWidth> + k * 16);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        add_product<T>(sums[tile][2 * n], a[tile], b.at[0], b.at[1]);
        add_product<T>(sums[tile][2 * n + 1], a[tile], b.at[2], b.at[3]);
      }
    }
  }
}

// sums += factors tile: the columns of the factors meet the rows of the tile. Factors are sums of
// such products, rounded, in pairs: of 8 columns, those of the upper rows and of the lower ones.
template <class T, int kWidth, int kTiles, int kColumns>
void add_products(float (&sums)[kTiles][kWidth / 8][4],
                  const unsigned (&factors)[kTiles][kColumns / 8][2], const T* tile_rows) {
  const int lane = int(threadIdx.x) % kLanes;
  // Matrices 0 and 1 are tile rows 0 to 7 and 8 to 15 of columns 0 to 7, 2 and 3 of columns 8
  // to 15.
  const T* const own = tile_rows + lane % 16 * kPitch<kWidth> + lane / 16 * 8;
#pragma unroll
  for (int k = 0; k < kColumns / 16; ++k) {
#pragma unroll
    for (int n = 0; n < kWidth / 16; ++n) {
      const Quad b = load_transposed(own + k * 16 * kPitch<kWidth> + n * 16);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const Quad a = {{factors[tile][2 * k][0], factors[tile][2 * k][1],
                         factors[tile][2 * k + 1][0], factors[tile][2 * k + 1][1]}};
        add_product<T>(sums[tile][2 * n], a, b.at[0], b.at[1]);
        add_product<T>(sums[tile][2 * n + 1], a, b.at[2], b.at[3]);
      }
    }
  }
}

// Writes the warp's rows, times a factor for each, to a packed value whose rows lie `step` elements
// apart; by way of the warp's own rows of a tile that nobody else reads, 16 bytes at a time.
template <class T, int kWidth, int kTiles, class Factor>
void store_rows(T* to, long long step, int first, int rows, T* own,
                const float (&sums)[kTiles][kWidth / 8][4], Factor factor) {
  const int lane = int(threadIdx.x) % kLanes;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float scale = factor(tile, half);
      T* const row = own + (tile * 16 + half * 8 + lane / 4) * kPitch<kWidth> + lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n) {
        *(unsigned*)(row + n * 8) =
            paired<T>(sums[tile][n][2 * half] * scale, sums[tile][n][2 * half + 1] * scale);
      }
    }
  }
  __syncwarp();
  constexpr int kChunks = kWidth / 8;
#pragma unroll
  for (int i = 0; i < kTiles * 16 * kChunks / kLanes; ++i) {
    const int chunk = i * kLanes + lane;
    const int row = chunk / kChunks, column = chunk % kChunks * 8;
    if (first + row < rows) {
      *(uint4*)(to + (first + row) * step + column) =
          *(const uint4*)(own + row * kPitch<kWidth> + column);
    }
  }
}

}  // namespace antichain::device
