// The gradients of attention (Dao, 2023: FlashAttention-2, algorithm 2), without atomic sums, so
// that every run has the same bits: one kernel goes through all queries for a block of keys,
// another one through all keys for a block of queries. Both are this one, with the two sides
// exchanged:
//   rows       columns    scores     slopes of weights   sums
//   q, grad    k, v       q kᵀ       grad vᵀ             dq = slopes k
//   k, v       q, grad    k qᵀ       v gradᵀ             dk = slopes q, dv = weights grad
#pragma once

#include "antichain/backends/cuda/device/attention_forward.cuh"

namespace antichain::device {

template <class T>
struct RowProductArguments {
  long long heads, queries, count;  // rows of all batches and heads
  HeadView<T> grad, output;
  float* products;  // [batch, heads, queries]
};

// Sums of grad times output, row by row: what slopes of weights are counted from. Eight threads to
// a row.
template <class T, int kWidth>
void multiply_rows(const RowProductArguments<T>& a) {
  constexpr int kThreadsOfRow = 8;
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = thread / kThreadsOfRow;
  if (row >= a.count) {
    return;  // all threads of a row, and whole rows of a warp: masks below name only those
  }
  const long long head = row % a.heads, query = row / a.heads % a.queries;
  const long long batch = row / a.heads / a.queries;
  const T* const grad = a.grad.at(batch, head) + query * a.grad.time;
  const T* const output = a.output.at(batch, head) + query * a.output.time;
  float total = 0;
  for (int i = int(thread % kThreadsOfRow) * 8; i < kWidth; i += kThreadsOfRow * 8) {
    const uint4 x = *(const uint4*)(grad + i), y = *(const uint4*)(output + i);
    const unsigned xs[] = {x.x, x.y, x.z, x.w}, ys[] = {y.x, y.y, y.z, y.w};
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      total = __fmaf_rn(first_of<T>(xs[pair]), first_of<T>(ys[pair]), total);
      total = __fmaf_rn(second_of<T>(xs[pair]), second_of<T>(ys[pair]), total);
    }
  }
  const int lane = int(threadIdx.x) % kLanes;
  const unsigned own = 0xffU << (lane / kThreadsOfRow * kThreadsOfRow);
#pragma unroll
  for (int step = kThreadsOfRow / 2; step > 0; step /= 2) {
    total += __shfl_xor_sync(own, total, step);
  }
  if (lane % kThreadsOfRow == 0) {
    a.products[(batch * a.heads + head) * a.queries + query] = total;
  }
}

template <class T>
struct BackwardArguments {
  long long heads, queries, keys;
  double scale;
  HeadView<T> q, k, v, grad;
  KeyMask mask;
  const float *lse, *products;
  T *score_grad, *value_grad;  // dq; dk and dv
};

// What a column of a step needs beside its element of the tiles.
template <int kColumns>
struct ColumnNumbers {
  float lse[kColumns], product[kColumns];
};

template <class T, int kWidth, bool kRowsAreKeys, bool kCausal, bool kMasked>
void attend_backwards(const BackwardArguments<T>& a, T* shared) {
  constexpr AttentionForm kForm = backward_form(kWidth, kMasked, kRowsAreKeys);
  constexpr int kTiles = kForm.tiles, kColumns = kForm.columns, kRows = kForm.rows();
  constexpr int kTile = tile_elements(kColumns, kWidth);
  using Numbers = ColumnNumbers<kColumns>;
  T* const row_tiles = shared;
  T* const stages = shared + 2 * tile_elements(kRows, kWidth);  // two tiles, twice
  Numbers* const numbers = (Numbers*)(stages + 4 * kTile);      // twice
  const int queries = int(a.queries), keys = int(a.keys);
  const int rows = kRowsAreKeys ? keys : queries, columns = kRowsAreKeys ? queries : keys;
  const int blocks = (rows + kRows - 1) / kRows;
  const long long sequence = blockIdx.x / blocks;
  const long long batch = sequence / a.heads, head = sequence % a.heads;
  // Blocks with the most work begin first: the first keys, the last queries.
  const int block = int(blockIdx.x % blocks);
  const int first = (kCausal && !kRowsAreKeys ? blocks - 1 - block : block) * kRows;
  const HeadView<T>& score_row = kRowsAreKeys ? a.k : a.q;
  const HeadView<T>& slope_row = kRowsAreKeys ? a.v : a.grad;
  const HeadView<T>& score_column = kRowsAreKeys ? a.q : a.k;
  const HeadView<T>& slope_column = kRowsAreKeys ? a.grad : a.v;
  const int warp = int(threadIdx.x) / kLanes, lane = int(threadIdx.x) % kLanes;
  const int first_own = first + warp * kTiles * 16;
  const float* const lse = a.lse + sequence * queries;
  const float* const products = a.products + sequence * queries;

  // Queries before all of these keys do not see them, but those that see no key weigh all of them.
  // There are none if the first key is seen.
  int step = 0, end = (columns + kColumns - 1) / kColumns;
  if (kCausal && kRowsAreKeys && (!kMasked || a.mask.sees(batch, 0))) {
    step = first / kColumns;
  }
  if (kCausal && !kRowsAreKeys && first + kRows < keys) {
    end = (first + kRows + kColumns - 1) / kColumns;
  }
  const T *const score_start = score_column.at(batch, head), *const slope_start =
                                                                 slope_column.at(batch, head);
  const auto begin_step = [&](int number) {
    T* const stage = stages + number % 2 * 2 * kTile;
    const int at = number * kColumns;
    begin_tile<kColumns, kWidth, kForm.threads()>(stage, score_start, score_column.time, at,
                                                  columns);
    begin_tile<kColumns, kWidth, kForm.threads()>(stage + kTile, slope_start, slope_column.time, at,
                                                  columns);
    // Behind the last query there are zeros, whose weights of 1 meet gradients of 0.
    if (kRowsAreKeys && int(threadIdx.x) < kColumns) {
      const int query = at + int(threadIdx.x);
      const bool wanted = query < queries;
      copy_4_bytes(numbers[number % 2].lse + threadIdx.x, wanted ? lse + query : lse, wanted);
      copy_4_bytes(numbers[number % 2].product + threadIdx.x, wanted ? products + query : products,
                   wanted);
    }
  };

  begin_tile<kRows, kWidth, kForm.threads()>(row_tiles, score_row.at(batch, head), score_row.time,
                                             first, rows);
  begin_tile<kRows, kWidth, kForm.threads()>(row_tiles + tile_elements(kRows, kWidth),
                                             slope_row.at(batch, head), slope_row.time, first,
                                             rows);
  if (step < end) {
    begin_step(step);
  }
  T* const own_score_rows = row_tiles + warp * kTiles * 16 * kPitch<kWidth>;
  T* const own_slope_rows = own_score_rows + tile_elements(kRows, kWidth);
  const float scale = float(a.scale) * kLog2E, uniform = 1 / float(keys);
  float row_lse[kTiles][2], row_product[kTiles][2];
  bool row_seen[kTiles][2];
#pragma unroll
  for (int i = 0; i < kTiles * 2; ++i) {
    const int row = first_own + i * 8 + lane / 4;
    if (kRowsAreKeys) {
      row_seen[i / 2][i % 2] = !kMasked || (row < keys && a.mask.sees(batch, row));
    } else {
      // The weights of a query that sees no key do not depend on it: 0, as if its sum were
      // infinite.
      const float sum = row < queries ? lse[row] : kInfinity;
      row_lse[i / 2][i % 2] = (sum < kBlindBelow ? kInfinity : sum) * kLog2E;
      row_product[i / 2][i % 2] = row < queries ? products[row] : 0;
    }
  }

  RowFactors<T, kWidth, kTiles, kForm.held> score_rows, slope_rows;
  float score_sums[kTiles][kWidth / 8][4] = {};
  float value_sums[kRowsAreKeys ? kTiles : 1][kRowsAreKeys ? kWidth / 8 : 1][4] = {};
  bool is_first = true;
  for (; step < end; ++step, is_first = false) {
    wait_for_own_copies();
    __syncthreads();  // this step has arrived, and nobody needs the one before
    if (is_first) {
      score_rows.take(own_score_rows);
      slope_rows.take(own_slope_rows);
    }
    if (step + 1 < end) {
      begin_step(step + 1);
    }
    const T* const stage = stages + step % 2 * 2 * kTile;
    const Numbers& number = numbers[step % 2];
    const int first_column = step * kColumns;

    float weights[kTiles][kColumns / 8][4];
    multiply_by_rows<T, kWidth, kTiles, kColumns>(weights, score_rows, stage);
    unsigned rounded[kTiles][kColumns / 8][2];
    const bool has_hidden = kMasked ||
                            (kCausal && (kRowsAreKeys ? first_own + kTiles * 16 > first_column
                                                      : first_column + kColumns > first_own)) ||
                            (!kRowsAreKeys && first_column + kColumns > keys);
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int in_step = n * 8 + lane % 4 * 2 + i, column = first_column + in_step;
        bool is_blind = false, column_seen = true;
        float column_lse = 0;
        if constexpr (kRowsAreKeys) {
          const float sum = number.lse[in_step];
          is_blind = kMasked && sum < kBlindBelow;
          column_lse = sum * kLog2E;
        } else {
          column_seen = column < keys && (!kMasked || a.mask.sees(batch, column));
        }
#pragma unroll
        for (int at = 0; at < kTiles * 2; ++at) {
          const int row = first_own + at * 8 + lane / 4;
          float& weight = weights[at / 2][n][at % 2 * 2 + i];
          const float sum = kRowsAreKeys ? column_lse : row_lse[at / 2][at % 2];
          weight = fast_exp2(__fmaf_rn(weight, scale, -sum));
          if (has_hidden) {
            const bool seen = (kRowsAreKeys ? row_seen[at / 2][at % 2] : column_seen) &&
                              (!kCausal || (kRowsAreKeys ? row <= column : column <= row));
            weight = seen && !is_blind ? weight : 0;
          }
        }
      }
    }
    if constexpr (kRowsAreKeys) {
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n) {
        float blind[2] = {0, 0};  // what queries that see no key give to every one
        if constexpr (kMasked) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            blind[i] = number.lse[n * 8 + lane % 4 * 2 + i] < kBlindBelow ? uniform : 0;
          }
        }
#pragma unroll
        for (int at = 0; at < kTiles * 2; ++at) {
          const float* const pair = &weights[at / 2][n][at % 2 * 2];
          rounded[at / 2][n][at % 2] = paired<T>(pair[0] + blind[0], pair[1] + blind[1]);
        }
      }
      add_products<T, kWidth, kTiles, kColumns>(value_sums, rounded, stage + kTile);
    }

    float slopes[kTiles][kColumns / 8][4];
    multiply_by_rows<T, kWidth, kTiles, kColumns>(slopes, slope_rows, stage + kTile);
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
      for (int at = 0; at < kTiles * 2; ++at) {
        float product[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if constexpr (kRowsAreKeys) {
            product[i] = number.product[n * 8 + lane % 4 * 2 + i];
          } else {
            product[i] = row_product[at / 2][at % 2];
          }
        }
        const float* const weight = &weights[at / 2][n][at % 2 * 2];
        const float* const slope = &slopes[at / 2][n][at % 2 * 2];
        rounded[at / 2][n][at % 2] =
            paired<T>(weight[0] * (slope[0] - product[0]), weight[1] * (slope[1] - product[1]));
      }
    }
    add_products<T, kWidth, kTiles, kColumns>(score_sums, rounded, stage);
  }
  wait_for_own_copies();  // of rows, where there are no columns
  __syncthreads();

  const long long apart = a.heads * kWidth;
  const long long start = batch * rows * apart + head * kWidth;
  store_rows<T, kWidth, kTiles>(a.score_grad + start, apart, first_own, rows, own_score_rows,
                                score_sums, [&](int, int) { return float(a.scale); });
  if constexpr (kRowsAreKeys) {
    store_rows<T, kWidth, kTiles>(a.value_grad + start, apart, first_own, rows, own_slope_rows,
                                  value_sums, [](int, int) { return 1.F; });
  }
}

}  // namespace antichain::device
