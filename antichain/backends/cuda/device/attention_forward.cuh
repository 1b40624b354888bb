// Attention, a block of queries at a time (Dao, 2023: FlashAttention-2, algorithm 1): scores live
// in registers only, and weights are made smaller in retrospect where a larger score comes later.
#pragma once

#include "antichain/backends/cuda/device/attention_tile.cuh"

namespace antichain::device {

constexpr float kLog2E = 1.44269504F, kLn2 = 0.69314718F;
constexpr float kInfinity = std::bit_cast<float>(0x7f800000U);

// The score of a key that is not seen. A power of two: its products with the scale are exact, so
// that a row of such scores has weights of exactly 1 before they are normalised.
constexpr float kHiddenScore = -0x1p100F;
// The log-sum-exp of a query that sees no key (kUnseenScore in antichain/ops/products/attention.h),
// and what tells it from others.
constexpr float kBlindLse = -1e30F, kBlindBelow = -1e29F;

// Which keys are seen at all, with its strides; null: all.
struct KeyMask {
  const unsigned char* start;
  long long batch, key;

  bool sees(long long b, long long k) const { return start[b * batch + k * key] != 0; }
};

template <class T>
struct ForwardArguments {
  long long heads, queries, keys;
  double scale;
  HeadView<T> q, k, v;
  KeyMask mask;
  T* output;
  float* lse;
};

// The largest scores and the sums of the weights of a warp's rows so far.
template <int kTiles>
struct SoftmaxRows {
  float largest[kTiles][2], total[kTiles][2];  // totals of the lane's own columns

  SoftmaxRows() {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      largest[tile][0] = largest[tile][1] = -kInfinity;
      total[tile][0] = total[tile][1] = 0;
    }
  }
};

// Of the four lanes that hold a row.
inline float row_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 2));
}
inline float row_sum(float value) {
  value = value + __shfl_xor_sync(0xffffffffU, value, 1);
  return value + __shfl_xor_sync(0xffffffffU, value, 2);
}

// Makes weights of scores, and makes smaller what was summed up with larger ones.
template <class T, int kWidth, int kTiles, int kColumns>
void weigh(float (&scores)[kTiles][kColumns / 8][4], float (&sums)[kTiles][kWidth / 8][4],
           SoftmaxRows<kTiles>& rows, float scale, unsigned (&weights)[kTiles][kColumns / 8][2]) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = rows.largest[tile][half];
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n) {
        largest = fmaxf(largest, fmaxf(scores[tile][n][2 * half], scores[tile][n][2 * half + 1]));
      }
      largest = row_max(largest);
      const float shrink = fast_exp2((rows.largest[tile][half] - largest) * scale);
      const float shift = -(largest * scale);
      float total = 0;
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n) {
        const float first = fast_exp2(__fmaf_rn(scores[tile][n][2 * half], scale, shift));
        const float second = fast_exp2(__fmaf_rn(scores[tile][n][2 * half + 1], scale, shift));
        total += first + second;
        weights[tile][n][half] = paired<T>(first, second);
      }
      rows.largest[tile][half] = largest;
      rows.total[tile][half] = __fmaf_rn(rows.total[tile][half], shrink, total);
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n) {
        sums[tile][n][2 * half] *= shrink;
        sums[tile][n][2 * half + 1] *= shrink;
      }
    }
  }
}

template <class T, int kWidth, bool kCausal, bool kMasked>
void attend(const ForwardArguments<T>& a, T* shared) {
  constexpr AttentionForm kForm = forward_form(kWidth, kMasked);
  constexpr int kTiles = kForm.tiles, kColumns = kForm.columns, kRows = kForm.rows();
  constexpr int kTile = tile_elements(kColumns, kWidth);
  T* const query_tile = shared;
  T* const stages = shared + tile_elements(kRows, kWidth);  // keys and values, twice
  const int queries = int(a.queries), keys = int(a.keys);
  const int blocks = (queries + kRows - 1) / kRows;
  const long long sequence = blockIdx.x / blocks;
  const long long batch = sequence / a.heads, head = sequence % a.heads;
  // Blocks with the most work begin first.
  const int block = int(blockIdx.x % blocks);
  const int first = (kCausal ? blocks - 1 - block : block) * kRows;
  const T *const k = a.k.at(batch, head), *const v = a.v.at(batch, head);
  const int warp = int(threadIdx.x) / kLanes, lane = int(threadIdx.x) % kLanes;
  const int first_own = first + warp * kTiles * 16;

  // Keys that come later than all queries need not be looked at, but for queries that see no key
  // and so weigh all of them. There are none if the first key is seen.
  const bool ends_early = kCausal && (!kMasked || keys == 0 || a.mask.sees(batch, 0));
  const int end = ends_early && first + kRows < keys ? first + kRows : keys;
  const int steps = (end + kColumns - 1) / kColumns;
  const auto begin_step = [&](int step) {
    T* const stage = stages + step % 2 * 2 * kTile;
    begin_tile<kColumns, kWidth, kForm.threads()>(stage, k, a.k.time, step * kColumns, keys);
    begin_tile<kColumns, kWidth, kForm.threads()>(stage + kTile, v, a.v.time, step * kColumns,
                                                  keys);
  };

  begin_tile<kRows, kWidth, kForm.threads()>(query_tile, a.q.at(batch, head), a.q.time, first,
                                             queries);
  if (steps > 0) {
    begin_step(0);
  }
  T* const own_rows = query_tile + warp * kTiles * 16 * kPitch<kWidth>;
  RowFactors<T, kWidth, kTiles, kForm.held> rows;
  const float scale = float(a.scale) * kLog2E;
  SoftmaxRows<kTiles> softmax;
  float sums[kTiles][kWidth / 8][4] = {};
  for (int step = 0; step < steps; ++step) {
    wait_for_own_copies();
    __syncthreads();  // this step has arrived, and nobody needs the one before
    if (step == 0) {
      rows.take(own_rows);
    }
    if (step + 1 < steps) {
      begin_step(step + 1);
    }
    const T* const stage = stages + step % 2 * 2 * kTile;
    float scores[kTiles][kColumns / 8][4];
    multiply_by_rows<T, kWidth, kTiles, kColumns>(scores, rows, stage);
    const int first_key = step * kColumns;
    if (kMasked || first_key + kColumns > keys || (kCausal && first_key + kColumns > first_own)) {
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int key = first_key + n * 8 + lane % 4 * 2 + i;
          const bool seen = key < keys && (!kMasked || a.mask.sees(batch, key));
          const float otherwise = key < keys ? kHiddenScore : -kInfinity;
#pragma unroll
          for (int row = 0; row < kTiles * 2; ++row) {
            const int query = first_own + row * 8 + lane / 4;
            float& score = scores[row / 2][n][row % 2 * 2 + i];
            score = seen && (!kCausal || key <= query) ? score : otherwise;
          }
        }
      }
    }
    unsigned weights[kTiles][kColumns / 8][2];
    weigh<T, kWidth, kTiles, kColumns>(scores, sums, softmax, scale, weights);
    add_products<T, kWidth, kTiles, kColumns>(sums, weights, stage + kTile);
  }
  wait_for_own_copies();  // of queries, where there are no keys
  __syncthreads();

  float inverse[kTiles][2];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float total = row_sum(softmax.total[tile][half]);
      const float largest = softmax.largest[tile][half];
      inverse[tile][half] = total == 0 ? 0 : 1 / total;
      const int query = first_own + tile * 16 + half * 8 + lane / 4;
      if (lane % 4 == 0 && query < queries) {
        a.lse[sequence * queries + query] =
            largest <= kHiddenScore ? kBlindLse : (largest * scale + log2f(total)) * kLn2;
      }
    }
  }
  T* const output = a.output + (batch * queries * a.heads + head) * kWidth;
  store_rows<T, kWidth, kTiles>(output, a.heads * kWidth, first_own, queries, own_rows, sums,
                                [&](int tile, int half) { return inverse[tile][half]; });
}

}  // namespace antichain::device
