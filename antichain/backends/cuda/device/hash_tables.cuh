// Hash tables (ops/hashing/hash_tables.h) from ids that are sorted by table and code already: a
// warp per bucket.
#pragma once

#include "antichain/backends/cuda/device/scan.cuh"
#include "antichain/ops/hashing/code_pieces.h"

namespace antichain::device {

// Tables from `first` on, which a launch sorts. Sorted keys are table << bits | code, `order` says
// whose they are; `begins` are of all ids of a code, `starts` of those that stay.
struct TableArguments {
  long long tables, first, rows, codes, bits, bucket, reservoir;
  const bool* when;
  const unsigned long long* keys;
  const long long* order;
  int *begins, *starts, *ids;
};

inline bool is_wanted(const TableArguments& a) { return a.when == nullptr || *a.when; }

// begins[table][code]: the first of the table's sorted ids with this code or a later one.
inline void find_begins(const TableArguments& a) {
  if (!is_wanted(a)) {
    return;
  }
  const long long step = (long long)gridDim.x * blockDim.x, of_table = a.codes + 1;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < a.tables * of_table;
       t += step) {
    const long long table = t / of_table, code = t % of_table;
    const unsigned long long* const keys = a.keys + table * a.rows;
    const unsigned long long key = (unsigned long long)(table << a.bits) + code;
    long long low = 0, high = a.rows;
    while (low < high) {
      const long long middle = (low + high) / 2;
      if (keys[middle] < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    a.begins[t] = int(low);
  }
}

// Where the ids that stay start; a block per table. `shared` has a number per thread.
inline void find_table_starts(const TableArguments& a, long long* shared) {
  if (!is_wanted(a)) {
    return;
  }
  const Chunk chunk(a.codes);
  for (long long table = blockIdx.x; table < a.tables; table += gridDim.x) {
    const int* const begins = a.begins + table * (a.codes + 1);
    int* const starts = a.starts + (a.first + table) * (a.codes + 1);
    const auto held = [&](long long code) {
      const long long count = begins[code + 1] - begins[code];
      return count < a.bucket ? count : a.bucket;
    };
    long long own = 0;
    for (long long code = chunk.begin; code < chunk.end; ++code) {
      own += held(code);
    }
    long long before = sum_before(own, shared);
    for (long long code = chunk.begin; code < chunk.end; ++code) {
      starts[code] = int(before);
      before += held(code);
    }
    if (threadIdx.x == blockDim.x - 1) {
      starts[a.codes] = int(before);
    }
  }
}

inline int total_of_warp(int own) {
  for (int half = 16; half > 0; half /= 2) {
    own += __shfl_xor_sync(0xffffffffu, own, half);
  }
  return own;
}

// The rank up to which so many of the ids stay: bit by bit from the highest one on, until all that
// begin with the bits so far stay.
inline unsigned long long last_rank(long long table, const long long* order, long long rows,
                                    int count, int room) {
  const int lane = threadIdx.x % 32;
  unsigned long long prefix = 0;
  for (int bit = 63; bit >= 0; --bit) {
    int own = 0;
    for (int i = lane; i < count; i += 32) {
      own += reservoir_rank(table, order[i] % rows) >> bit == prefix >> bit;
    }
    const int below = total_of_warp(own);
    if (below == room) {
      return prefix | ((1ULL << bit) - 1);
    }
    if (below < room) {
      room -= below;
      prefix |= 1ULL << bit;
    }
  }
  return prefix;
}

// Writes the ids that stay, in rising order, and -1 behind the last bucket of a table.
inline void fill_buckets(const TableArguments& a) {
  if (!is_wanted(a)) {
    return;
  }
  const int lane = threadIdx.x % 32;
  const long long warp = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const long long warps = (long long)gridDim.x * blockDim.x / 32, of_table = a.codes + 1;
  for (long long task = warp; task < a.tables * of_table; task += warps) {
    const long long table = task / of_table, code = task % of_table, number = a.first + table;
    const int* const begins = a.begins + task;
    const int start = a.starts[number * of_table + code];
    int* ids = a.ids + number * a.rows;
    if (code == a.codes) {
      for (long long i = start + lane; i < a.rows; i += 32) {
        ids[i] = -1;
      }
      continue;
    }
    const long long* order = a.order + table * a.rows + begins[0];
    int count = begins[1] - begins[0];
    ids += start;
    const bool is_full = count > a.bucket;
    if (is_full && !a.reservoir) {
      order += count - a.bucket;
      count = int(a.bucket);
    }
    const bool all = !is_full || !a.reservoir;
    const unsigned long long last =
        all ? ~0ULL : last_rank(number, order, a.rows, count, int(a.bucket));
    for (int i = lane; i - lane < count; i += 32) {
      const int id = i < count ? int(order[i] % a.rows) : 0;
      const bool stays = i < count && (all || reservoir_rank(number, id) <= last);
      const unsigned staying = __ballot_sync(0xffffffffu, stays);
      if (stays) {
        ids[__popc(staying & ((1u << lane) - 1))] = id;
      }
      ids += __popc(staying);
    }
  }
}

}  // namespace antichain::device
