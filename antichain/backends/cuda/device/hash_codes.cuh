// Codes of vectors (ops/hashing/hash_vector.h), a tile of vectors and functions at a time by a
// block of threads. Sums are those of the reference: in double, in its order, so codes are equal.
// Whoever includes this has included element.cuh before, or what stands for it on the host.
#pragma once

#include "antichain/backends/cuda/device/scan.cuh"
#include "antichain/ops/hashing/code_pieces.h"

namespace antichain::device {

// The numbers of HashFamily and HashTransform.
constexpr int kSimhash = 0, kWta = 1, kDwta = 2;
constexpr int kAsItIs = 0, kNorms = 1, kPowersOfNorms = 2;
constexpr int kNormPowers = 3;
constexpr double kShrink = 0.83;

constexpr int kHashThreads = 256;
constexpr int kHashVectors = 32, kHashFunctions = 64, kHashInner = 16;  // of a tile

// What vectors are hashed with. T is their element type; `extra` is null for queries, and the
// flags and marks are those of rehash_rows, null for others.
template <class T>
struct HashArguments {
  using Element = T;
  long long features, coordinates, tables, pieces, probes, count;
  long long range;  // of codes, which are folded into it; 0: as they are
  const T *vectors, *extra;
  const void* functions;
  const float* largest;
  int* codes;
  const bool *due, *all;
  bool* marks;
};

// What a vector is multiplied by, and its coordinates behind the features.
struct HashedVector {
  double factor, behind[1 + kNormPowers];
};

struct HashRoom {
  CodePiece<double> pieces[kHashVectors][kHashFunctions];
  double vectors[kHashVectors][kHashInner + 1];  // so that columns lie in different banks
  double functions[kHashInner][kHashFunctions];
  HashedVector hashed[kHashVectors];
  int rows[kHashThreads];  // those that are hashed, among as many
  int places[kHashThreads];
  int count;
};

template <int kTransform, class T>
HashedVector transformed(const HashArguments<T>& a, long long row) {
  const bool is_data = a.extra != nullptr;
  const double extra = is_data ? double(load<T>(a.extra[row])) : 1, largest = *a.largest;
  HashedVector result = {1, {extra}};
  if (kTransform == kAsItIs || (kTransform == kNorms && !is_data)) {
    return result;
  }
  double square = extra * extra;
  for (long long i = 0; i < a.features; ++i) {
    const double x = double(load<T>(a.vectors[row * a.features + i]));
    square += x * x;
  }
  if (kTransform == kNorms) {
    const double rest = largest * largest - square;
    result.behind[1] = sqrt(rest > 0 ? rest : 0);
    return result;
  }
  const double norm = is_data ? largest / kShrink : sqrt(square);
  result.factor = norm > 0 ? 1 / norm : 0;
  result.behind[0] *= result.factor;
  double power = square * result.factor * result.factor;
  for (int k = 1; k <= kNormPowers; ++k, power *= power) {
    result.behind[k] = is_data ? power : 0.5;
  }
  return result;
}

template <class T>
double coordinate_of(const HashArguments<T>& a, const HashedVector& hashed, long long row,
                     long long i) {
  return i < a.features ? double(load<T>(a.vectors[row * a.features + i])) * hashed.factor
                        : hashed.behind[i - a.features];
}

// Signs of projections. Lanes take functions beside each other, warps vectors; products with -1, 0
// and 1 are exact.
template <class T>
void project_tile(const HashArguments<T>& a, HashRoom& room, const int* rows, int count,
                  long long first, int width) {
  constexpr int kEach = kHashVectors * 32 / kHashThreads;  // vectors of a warp
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto* const functions = (const float*)a.functions;
  const long long num_functions = a.tables * a.pieces;
  double sums[kEach][2] = {};
  for (long long begin = 0; begin < a.coordinates; begin += kHashInner) {
    __syncthreads();
    for (int e = threadIdx.x; e < kHashVectors * kHashInner; e += kHashThreads) {
      const int v = e / kHashInner, i = e % kHashInner;
      const bool is_there = v < count && begin + i < a.coordinates;
      room.vectors[v][i] = is_there ? coordinate_of(a, room.hashed[v], rows[v], begin + i) : 0;
    }
    for (int e = threadIdx.x; e < kHashInner * kHashFunctions; e += kHashThreads) {
      const int i = e / kHashFunctions, f = e % kHashFunctions;
      const bool is_there = f < width && begin + i < a.coordinates;
      room.functions[i][f] =
          is_there ? double(functions[(begin + i) * num_functions + first + f]) : 0;
    }
    __syncthreads();
    for (int i = 0; i < kHashInner; ++i) {
      for (int f = 0; f < 2; ++f) {
        const double number = room.functions[i][lane + 32 * f];
        for (int v = 0; v < kEach; ++v) {
          sums[v][f] = fma(room.vectors[warp * kEach + v][i], number, sums[v][f]);
        }
      }
    }
  }
  for (int f = 0; f < 2; ++f) {
    for (int v = 0; v < kEach; ++v) {
      room.pieces[warp * kEach + v][lane + 32 * f] = sign_piece(sums[v][f]);
    }
  }
}

template <int kFamily, class T>
void choose_tile(const HashArguments<T>& a, HashRoom& room, const int* rows, int count,
                 long long first, int width) {
  const auto* const functions = (const int*)a.functions;
  for (int e = threadIdx.x; e < count * width; e += kHashThreads) {
    const int v = e % count, f = e / count;
    const auto coordinate = [&](int i) { return coordinate_of(a, room.hashed[v], rows[v], i); };
    room.pieces[v][f] =
        kFamily == kWta
            ? largest_of_bin<double>(coordinate, functions + (first + f) * kHashBin, false)
            : densified_piece<double>(coordinate, functions, a.tables * a.pieces, first + f);
  }
}

inline int tables_of_tile(long long pieces) { return kHashFunctions / int(pieces); }

// Writes the codes of `count` vectors in some tables. write(vector, table) says where those of a
// vector go.
template <int kFamily, class T, class Write>
void hash_tile(const HashArguments<T>& a, HashRoom& room, const int* rows, int count,
               long long first_table, const Write& write) {
  const long long left = a.tables - first_table;
  const int tables = left < tables_of_tile(a.pieces) ? int(left) : tables_of_tile(a.pieces);
  const int width = tables * int(a.pieces);
  const long long first = first_table * a.pieces;
  if constexpr (kFamily == kSimhash) {
    project_tile(a, room, rows, count, first, width);
  } else {
    choose_tile<kFamily>(a, room, rows, count, first, width);
  }
  __syncthreads();
  for (int e = threadIdx.x; e < count * tables; e += kHashThreads) {
    const int v = e % count, table = e / count;
    int* const codes = write(v, first_table + table);
    join_pieces(room.pieces[v] + table * a.pieces, a.pieces, kFamily == kSimhash ? 1 : 3, codes,
                a.probes);
    for (long long probe = 0; a.range > 0 && probe < a.probes; ++probe) {
      codes[probe] = folded_code(codes[probe], a.range);
    }
  }
  __syncthreads();
}

template <int kTransform, class T>
void transform_tile(const HashArguments<T>& a, HashRoom& room, const int* rows, int count) {
  if (int(threadIdx.x) < count) {
    room.hashed[threadIdx.x] = transformed<kTransform>(a, rows[threadIdx.x]);
  }
  __syncthreads();
}

// codes[count, tables, probes]; blocks share vectors and tables.
template <int kFamily, int kTransform, class T>
void hash_queries(const HashArguments<T>& a, HashRoom& room) {
  const long long each = tables_of_tile(a.pieces), groups = (a.tables + each - 1) / each;
  const long long tiles = (a.count + kHashVectors - 1) / kHashVectors;
  for (long long task = blockIdx.x; task < tiles * groups; task += gridDim.x) {
    const long long begin = task / groups * kHashVectors, left = a.count - begin;
    const int count = left < kHashVectors ? int(left) : kHashVectors;
    if (int(threadIdx.x) < count) {
      room.rows[threadIdx.x] = int(begin + threadIdx.x);
    }
    __syncthreads();
    transform_tile<kTransform>(a, room, room.rows, count);
    hash_tile<kFamily>(a, room, room.rows, count, task % groups * each,
                       [&](int v, long long table) {
                         return a.codes + ((begin + v) * a.tables + table) * a.probes;
                       });
  }
}

// codes[tables, count]; of the rows that are marked, where there are marks, which are cleared. A
// block takes the marked ones of as many rows as it has threads.
template <int kFamily, int kTransform, class T>
void hash_data(const HashArguments<T>& a, HashRoom& room) {
  if (a.due != nullptr && !*a.due) {
    return;
  }
  const bool all = a.marks == nullptr || *a.all;
  for (long long begin = (long long)blockIdx.x * kHashThreads; begin < a.count;
       begin += (long long)gridDim.x * kHashThreads) {
    const long long row = begin + threadIdx.x;
    const bool is_chosen = row < a.count && (all || a.marks[row]);
    const int place = sum_before<int>(is_chosen, room.places);
    if (is_chosen) {
      room.rows[place] = int(row);
    }
    if (threadIdx.x == kHashThreads - 1) {
      room.count = place + is_chosen;
    }
    if (a.marks != nullptr && row < a.count) {
      a.marks[row] = false;
    }
    __syncthreads();
    const int chosen = room.count;
    for (int first = 0; first < chosen; first += kHashVectors) {
      const int* const rows = room.rows + first;
      const int count = chosen - first < kHashVectors ? chosen - first : kHashVectors;
      transform_tile<kTransform>(a, room, rows, count);
      for (long long table = 0; table < a.tables; table += tables_of_tile(a.pieces)) {
        hash_tile<kFamily>(a, room, rows, count, table,
                           [&](int v, long long of) { return a.codes + of * a.count + rows[v]; });
      }
    }
    __syncthreads();
  }
}

}  // namespace antichain::device
