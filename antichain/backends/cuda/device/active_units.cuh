// The active units of a batch (ops/hashing/active_units.h), by kernels one after the other:
//   mark_labels     flags the units that are labels
//   count_found     counts how often tables give each unit
//   count_digits    finds, digit by digit from the highest one on, the count from which on units
//                   are taken: how many have each digit; the next kernel looks where that leads
//   count_ties      units with just that count, of which those behind the rotation are first
//   take_found      says which are taken, in the order of their ids
//   draw            walks on until as many are active as have to be, by one block
//   write_active    writes the active ones in rising order and leaves the counts at 0
//   place_labels    looks up where labels stand
// Blocks own parts of the units; what a part needs to know of those in front is added up from a
// number for each. Integers are added up atomically where their order does not show.
#pragma once

#include "antichain/backends/cuda/device/scan.cuh"
#include "antichain/base/philox.h"

namespace antichain::device {

constexpr int kChoiceThreads = 256, kDigits = 256, kDigitBits = 8, kDrawsPerThread = 8;
constexpr unsigned kIsLabel = 1u << 31;         // beside a count
constexpr unsigned kIsKnown = 1, kIsDrawn = 2;  // instead of a count, when it is known

// Numbers that all blocks share.
struct ChoiceTotals {
  unsigned num_labels;
  unsigned digits[4][kDigits];  // how many units have them, behind the digits that lead further
};

template <class Label, class Start>
struct ActiveArguments {
  long long units, active, drawn, least;  // least: tables that have to give a unit
  long long examples, tables, probes, num_starts, table_rows, num_labels;
  long long parts, each, num_digits, stride;
  const int *codes, *starts, *ids;
  const long long* step;
  const Label* labels;
  const Start* row_starts;
  unsigned* counts;  // of every unit
  ChoiceTotals* totals;
  int *ties, *front_ties, *in_part;  // of every part
  long long* common;
  float* correction;
  long long *slots, *found;
};

// What counts decide.
struct Taken {
  long long number;  // of units that are taken
  unsigned least;    // all with a larger count are ...
  long long ties;    // ... and so many with this one
};

// What the threads of a block share.
struct ChoiceRoom {
  int sums[kChoiceThreads];
  unsigned digits[kDigits];
  int digit;
  int above, total;
};

inline long long first_of_all() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
inline long long all_of_grid() { return (long long)gridDim.x * blockDim.x; }

// Returns the sum over the block.
inline int total_of_block(int own, ChoiceRoom& room) {
  const int before = sum_before(own, room.sums);
  if (threadIdx.x == blockDim.x - 1) {
    room.total = before + own;
  }
  __syncthreads();
  const int total = room.total;
  __syncthreads();
  return total;
}

// Returns the sum of the numbers of the parts below `end`.
inline int sum_of_parts(const int* numbers, long long end, ChoiceRoom& room) {
  int own = 0;
  for (long long part = threadIdx.x; part < end; part += blockDim.x) {
    own += numbers[part];
  }
  return total_of_block(own, room);
}

// The rotation of a step, and what its walk begins behind: as DrawnIds.
template <class Arguments>
long long first_of_walk(const Arguments& a) {
  const auto step = (unsigned long long)*a.step;
  const auto block = philox({0, 0}, {(unsigned)step, (unsigned)(step >> 32), 0, 0});
  return (long long)(block[0] % (unsigned long long)a.units);
}

template <class Arguments>
long long room_for_found(const Arguments& a) {
  const long long room = a.active - a.drawn - (long long)a.totals->num_labels;
  return room > 0 ? room : 0;
}

// The count from which on units are taken, as far as the digits up to `levels` say. All threads
// of the block call it.
template <class Arguments>
Taken taken_by(const Arguments& a, int levels, ChoiceRoom& room) {
  const long long wanted = room_for_found(a);
  Taken taken = {0, 0, wanted};
  for (int level = 0; level < levels; ++level) {
    const int digit = kDigits - 1 - int(threadIdx.x);  // the largest ones first
    const int own = int(a.totals->digits[level][digit]);
    const int before = sum_before(own, room.sums);
    if (threadIdx.x == 0) {
      room.digit = -1;
    }
    __syncthreads();
    if (before < taken.ties && before + own >= taken.ties) {
      room.digit = digit;
      room.above = before;
    }
    if (threadIdx.x == kDigits - 1) {
      room.total = before + own;
    }
    __syncthreads();
    const int found = room.digit, above = room.above, total = room.total;
    __syncthreads();
    if (level == 0) {
      taken.number = total < wanted ? total : wanted;
      if (total < wanted) {  // there is room for all
        return {total, 0, 0};
      }
      if (wanted == 0) {
        return {0, ~kIsLabel, 0};
      }
    }
    taken.least = taken.least << kDigitBits | unsigned(found);
    taken.ties -= above;
  }
  return taken;
}

// How units with this entry in the counts stand to what is taken. A label has a place already.
template <class Arguments>
bool is_candidate(const Arguments& a, unsigned count) {
  return (count & kIsLabel) == 0 && count >= a.least;
}

template <class Arguments, class Check>
void mark_labels(const Arguments& a, const Check& check) {
  for (long long k = first_of_all(); k < a.num_labels; k += all_of_grid()) {
    const long long unit = check(a.labels[k]);
    if ((atomicOr(&a.counts[unit], kIsLabel) & kIsLabel) == 0) {
      atomicAdd(&a.totals->num_labels, 1u);
    }
  }
}

// A warp per bucket.
template <class Arguments>
void count_found(const Arguments& a) {
  const int lane = threadIdx.x % 32;
  const long long buckets = a.examples * a.tables * a.probes;
  for (long long b = first_of_all() / 32; b < buckets; b += all_of_grid() / 32) {
    const long long table = b / a.probes % a.tables, code = a.codes[b];
    const int* const starts = a.starts + table * a.num_starts + code;
    const int* const ids = a.ids + table * a.table_rows;
    for (int i = starts[0] + lane; i < starts[1]; i += 32) {
      atomicAdd(&a.counts[ids[i]], 1u);
    }
  }
}

template <class Arguments>
void count_digits(const Arguments& a, int level, ChoiceRoom& room) {
  const Taken so_far = taken_by(a, level, room);
  if (level > 0 && so_far.ties == 0) {
    return;  // nothing is left to decide
  }
  const int shift = kDigitBits * (int(a.num_digits) - 1 - level);
  room.digits[threadIdx.x] = 0;
  __syncthreads();
  for (long long unit = first_of_all(); unit < a.units; unit += all_of_grid()) {
    const unsigned count = a.counts[unit];
    const unsigned higher = shift + kDigitBits < 32 ? count >> (shift + kDigitBits) : 0;
    if (is_candidate(a, count) && higher == so_far.least) {
      atomicAdd(&room.digits[count >> shift & (kDigits - 1)], 1u);
    }
  }
  __syncthreads();
  if (const unsigned own = room.digits[threadIdx.x]; own > 0) {
    atomicAdd(&a.totals->digits[level][threadIdx.x], own);
  }
}

// The units of a thread: a block has a part of them, its threads pieces of that, in order.
struct OwnUnits {
  long long begin, end;
  template <class Arguments>
  explicit OwnUnits(const Arguments& a) {
    const long long piece = (a.each + blockDim.x - 1) / blockDim.x;
    const long long part = blockIdx.x * a.each;
    const long long last = part + a.each < a.units ? part + a.each : a.units;
    begin = part + piece * threadIdx.x < last ? part + piece * threadIdx.x : last;
    end = begin + piece < last ? begin + piece : last;
  }
};

// A block per part, as in the kernels that follow.
template <class Arguments>
void count_ties(const Arguments& a, ChoiceRoom& room) {
  const Taken taken = taken_by(a, int(a.num_digits), room);
  const OwnUnits own(a);
  const long long rotation = first_of_walk(a);
  int ties = 0, front = 0;
  for (long long unit = own.begin; unit < own.end; ++unit) {
    const unsigned count = a.counts[unit];
    const bool is_tie = is_candidate(a, count) && count == taken.least;
    ties += is_tie;
    front += is_tie && unit < rotation;
  }
  ties = total_of_block(ties, room);
  front = total_of_block(front, room);
  if (threadIdx.x == 0) {
    a.ties[blockIdx.x] = ties;
    a.front_ties[blockIdx.x] = front;
  }
}

template <class Arguments>
void take_found(const Arguments& a, ChoiceRoom& room) {
  const Taken taken = taken_by(a, int(a.num_digits), room);
  const OwnUnits own(a);
  const long long rotation = first_of_walk(a);
  const int front = sum_of_parts(a.front_ties, a.parts, room);
  const int behind = sum_of_parts(a.ties, a.parts, room) - front;
  const int parts_before = sum_of_parts(a.ties, blockIdx.x, room);
  const auto is_tie = [&](unsigned count) {
    return is_candidate(a, count) && count == taken.least && taken.ties > 0;
  };
  int ties = 0, known = 0;
  for (long long unit = own.begin; unit < own.end; ++unit) {
    ties += is_tie(a.counts[unit]);
  }
  int place = parts_before + sum_before(ties, room.sums);
  for (long long unit = own.begin; unit < own.end; ++unit) {
    const unsigned count = a.counts[unit];
    bool is_known = (count & kIsLabel) != 0 || (is_candidate(a, count) && count > taken.least);
    if (is_tie(count)) {
      is_known = (unit >= rotation ? place - front : place + behind) < taken.ties;
      ++place;
    }
    a.counts[unit] = is_known ? kIsKnown : 0;
    known += is_known;
  }
  known = total_of_block(known, room);
  if (threadIdx.x == 0) {
    a.in_part[blockIdx.x] = known;
  }
}

template <class Arguments>
long long num_known(const Arguments& a, ChoiceRoom& room) {
  return taken_by(a, int(a.num_digits), room).number + (long long)a.totals->num_labels;
}

// complain(labels) is called where there are too many of them.
template <class Arguments, class Complain>
void draw(const Arguments& a, ChoiceRoom& room, const Complain& complain) {
  const long long known = num_known(a, room), wanted = a.active - known;
  if (threadIdx.x == 0 && (long long)a.totals->num_labels > a.active) {
    complain((long long)a.totals->num_labels);
  }
  const long long start = first_of_walk(a), position = (long long)threadIdx.x * kDrawsPerThread;
  long long drawn = 0;
  for (long long first = 0; drawn < wanted && first < a.units;
       first += (long long)blockDim.x * kDrawsPerThread) {
    const auto unit_at = [&](int i) {
      return (start + (first + position + i + 1) * a.stride) % a.units;
    };
    const auto is_free = [&](int i) {
      return first + position + i < a.units && a.counts[unit_at(i)] == 0;
    };
    int own = 0;
    for (int i = 0; i < kDrawsPerThread; ++i) {
      own += is_free(i);
    }
    long long place = drawn + sum_before(own, room.sums);
    for (int i = 0; i < kDrawsPerThread && place < wanted; ++i) {
      if (is_free(i)) {
        a.counts[unit_at(i)] = kIsDrawn;
        atomicAdd(&a.in_part[unit_at(i) / a.each], 1);
        ++place;
      }
    }
    drawn += total_of_block(own, room);
  }
}

template <class Arguments>
void write_active(const Arguments& a, ChoiceRoom& room) {
  const long long found = taken_by(a, int(a.num_digits), room).number;
  const long long known = found + (long long)a.totals->num_labels, drawn = a.active - known;
  const float of_drawn = drawn > 0 ? float(log(double(a.units - known) / double(drawn))) : 0.0f;
  const OwnUnits own(a);
  int active = 0;
  for (long long unit = own.begin; unit < own.end; ++unit) {
    active += a.counts[unit] != 0;
  }
  long long place = sum_of_parts(a.in_part, blockIdx.x, room);
  place += sum_before(active, room.sums);
  for (long long unit = own.begin; unit < own.end; ++unit) {
    const unsigned state = a.counts[unit];
    a.counts[unit] = 0;
    if (state == 0) {
      continue;
    }
    if (place < a.active) {
      a.common[place] = unit;
      a.correction[place] = state == kIsDrawn ? of_drawn : 0.0f;
    }
    ++place;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *a.found = found;
  }
}

// Also clears the totals, which nobody reads by then.
template <class Arguments>
void place_labels(const Arguments& a) {
  for (long long k = first_of_all(); k < a.num_labels; k += all_of_grid()) {
    long long example = 0, end = a.examples;  // the last one that starts at k or in front
    while (example + 1 < end) {
      const long long middle = (example + end) / 2;
      (a.row_starts[middle] <= k ? example : end) = middle;
    }
    long long place = 0, high = a.active - 1;
    while (place < high) {
      const long long middle = (place + high) / 2;
      if (a.common[middle] < a.labels[k]) {
        place = middle + 1;
      } else {
        high = middle;
      }
    }
    a.slots[k] = example * a.active + place;
  }
  for (long long t = first_of_all(); t < 4 * kDigits; t += all_of_grid()) {
    a.totals->digits[t / kDigits][t % kDigits] = 0;
  }
  if (first_of_all() == 0) {
    a.totals->num_labels = 0;
  }
}

}  // namespace antichain::device
