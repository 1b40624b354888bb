// Two sums for every channel of packed values [outer, channels, inner], over all other axes.
//
// A block of 256 threads adds up for a few channels; several blocks, `parts`, share their elements,
// and the last one that is done joins what they have found. Elements are read in runs. Where inner
// is 1 (columns), a run is one element of each of some neighbouring channels, which are all of one
// thread; otherwise a run belongs to one channel. Threads add up a few elements in the type that
// they are computed in, and all else in double, in an order that the sizes decide.
#pragma once

#include "antichain/backends/cuda/device/fold.cuh"

namespace antichain::device {

constexpr int kChannelThreads = 256, kWarpThreads = 32;
constexpr int kChannelWarps = kChannelThreads / kWarpThreads;
constexpr int kMostChannels = 64;  // of a block
constexpr int kAddedInShort = 64;  // elements of a channel, before they are added to the total

struct ChannelArguments {
  long long channels, outer, inner;
  long long across, along, parts, length;  // see channel_kernels.h
  long long aligned;                       // whether runs can be read at once
  const void *x, *grad, *mean, *slope;
  void *first, *second;  // a result each per channel
  void* found;
  unsigned* counters;
};

template <class Stat>
void put(void* results, long long channel, double value) {
  ((Stat*)results)[channel] = stored<Stat>(Compute<Stat>(value));
}

// Sums of x - shift and of its square. The shift is an element of the channel: so the difference
// that the variance is at the end loses nothing where the mean is large.
template <class In, class Stat>
struct MomentSums {
  using C = Compute<In>;
  static constexpr int kOperands = 1, kAtOnce = 4;

  static C centre(const ChannelArguments& a, long long channel) {
    if (a.outer * a.inner == 0) {
      return C(0);
    }
    const C shift = load<In>(((const In*)a.x)[channel * a.inner]);
    return shift - shift == C(0) ? shift : C(0);  // neither infinite nor NaN
  }
  static const void* operand(const ChannelArguments& a, int) { return a.x; }
  static void add(const C (&element)[1], C centre, C& first, C& second) {
    const C distance = element[0] - centre;
    first += distance;
    second = fma(distance, distance, second);
  }
  static void finish(const ChannelArguments& a, long long channel, double first, double second) {
    const long long elements = a.outer * a.inner;
    const double count = elements > 0 ? double(elements) : 1.0;
    const double distance = first / count;
    const double variance = second / count - distance * distance;
    put<Stat>(a.first, channel, double(centre(a, channel)) + distance);
    put<Stat>(a.second, channel, variance < 0 ? 0.0 : variance);
  }
};

// Sums of grad and of grad * (x - mean), the latter times the slope.
template <class In, class Stat>
struct GradientSums {
  using C = Compute<In>;
  static constexpr int kOperands = 2, kAtOnce = 2;

  static C centre(const ChannelArguments& a, long long channel) {
    return C(load<Stat>(((const Stat*)a.mean)[channel]));
  }
  static const void* operand(const ChannelArguments& a, int n) { return n == 0 ? a.x : a.grad; }
  static void add(const C (&element)[2], C centre, C& first, C& second) {
    first += element[1];
    second = fma(element[1], element[0] - centre, second);
  }
  static void finish(const ChannelArguments& a, long long channel, double first, double second) {
    const double slope = load<Stat>(((const Stat*)a.slope)[channel]);
    put<Stat>(a.first, channel, first);
    put<Stat>(a.second, channel, second * slope);
  }
};

template <class In, int kRun, bool kAligned>
Run<In, kRun> read_run(const void* from, long long place) {
  if constexpr (kAligned) {
    return load_run<In, kRun>(from, place);
  } else {
    Run<In, kRun> run;
#pragma unroll
    for (int e = 0; e < kRun; ++e) {
      run.at[e] = ((const In*)from)[place + e];
    }
    return run;
  }
}

// What a thread has added up for each of its channels.
template <int kOwn>
struct ThreadSums {
  double of[kOwn][2];
};

// Adds up every `along`-th run of [begin, end); place(n) says where run n begins.
template <class In, class Sums, class Index, bool kColumns, int kRun, bool kAligned, class Place>
ThreadSums<kColumns ? kRun : 1> add_runs(const ChannelArguments& a, long long channel, Index begin,
                                         Index end, Place place) {
  using C = Compute<In>;
  constexpr int kOwn = kColumns ? kRun : 1, kOperands = Sums::kOperands;
  constexpr int kShort = kAddedInShort / (kRun / kOwn);  // runs
  C centre[kOwn];
#pragma unroll
  for (int c = 0; c < kOwn; ++c) {
    centre[c] = Sums::centre(a, channel + c);
  }
  ThreadSums<kOwn> total = {};
  const Index along = Index(a.along);
  for (Index n = begin; n < end;) {
    C sums[kOwn][2] = {};
    const auto add = [&](const Run<In, kRun>(&runs)[kOperands]) {
#pragma unroll
      for (int e = 0; e < kRun; ++e) {
        C element[kOperands];
#pragma unroll
        for (int o = 0; o < kOperands; ++o) {
          element[o] = load<In>(runs[o].at[e]);
        }
        constexpr int kLast = kOwn - 1;
        const int c = e < kLast ? e : kLast;
        Sums::add(element, centre[c], sums[c][0], sums[c][1]);
      }
    };
    const Index stop = end - n > kShort * along ? n + kShort * along : end;
    // Several reads are on their way at once.
    constexpr int kAhead = Sums::kAtOnce - 1;
    for (; n < stop && stop - n > kAhead * along; n += Sums::kAtOnce * along) {
      Run<In, kRun> runs[Sums::kAtOnce][kOperands];
#pragma unroll
      for (int k = 0; k < Sums::kAtOnce; ++k) {
#pragma unroll
        for (int o = 0; o < kOperands; ++o) {
          runs[k][o] = read_run<In, kRun, kAligned>(Sums::operand(a, o), place(n + k * along));
        }
      }
#pragma unroll
      for (int k = 0; k < Sums::kAtOnce; ++k) {
        add(runs[k]);
      }
    }
    for (; n < stop; n += along) {
      Run<In, kRun> runs[kOperands];
#pragma unroll
      for (int o = 0; o < kOperands; ++o) {
        runs[o] = read_run<In, kRun, kAligned>(Sums::operand(a, o), place(n));
      }
      add(runs);
    }
#pragma unroll
    for (int c = 0; c < kOwn; ++c) {
      total.of[c][0] += double(sums[c][0]);
      total.of[c][1] += double(sums[c][1]);
    }
  }
  return total;
}

template <class In, class Sums, class Index, bool kColumns, int kRun>
void sum_channels(const ChannelArguments& a) {
  using C = Compute<In>;
  constexpr int kOwn = kColumns ? kRun : 1;
  __shared__ double shared[kChannelWarps * 2 * kMostChannels];
  const unsigned across = a.across, along = a.along, thread = threadIdx.x;
  const unsigned warp = thread / kWarpThreads, lane = thread % kWarpThreads;
  const long long group = blockIdx.x / a.parts, part = blockIdx.x % a.parts;
  const long long first_channel = group * across * kOwn;
  const unsigned slots = 2 * across * kOwn;  // sums of this block

  const unsigned own = kColumns ? thread / across : thread % along;
  const long long channel =
      first_channel + (kColumns ? thread % across : thread / along) * (long long)kOwn;
  ThreadSums<kOwn> total = {};
  if (channel < a.channels) {
    const long long per = kColumns ? 1 : a.inner / kRun, count = a.outer * per;
    const long long begin = part * a.length;
    const long long end = begin + a.length < count ? begin + a.length : count;
    const auto place = [&](Index n) -> long long {
      if constexpr (kColumns) {
        return n * a.channels + channel;
      } else {
        const Index o = n / Index(per), i = n - o * Index(per);
        return ((o * a.channels + channel) * per + i) * kRun;
      }
    };
    const Index from = Index(begin) + own, to = Index(end);
    if (kRun == 1 || a.aligned) {
      total = add_runs<In, Sums, Index, kColumns, kRun, true>(a, channel, from, to, place);
    } else {
      total = add_runs<In, Sums, Index, kColumns, kRun, false>(a, channel, from, to, place);
    }
  }
  // The threads of a warp, and then the warps, that have added up for the same channels.
  const unsigned nearest = kColumns ? across : 1;
#pragma unroll
  for (int c = 0; c < kOwn; ++c) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      double sum = total.of[c][s];
      for (unsigned distance = kWarpThreads / 2; distance >= nearest; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      }
      if (lane < nearest) {
        shared[warp * 2 * kMostChannels + (lane * kOwn + c) * 2 + s] = sum;
      }
    }
  }
  __syncthreads();
  const unsigned joined = kColumns ? kChannelWarps : along / kWarpThreads;  // warps
  double sum = 0;
  if (thread < slots) {
    const unsigned first_warp = kColumns ? 0 : thread / 2 * joined;
    const unsigned slot = kColumns ? thread : thread % 2;
    for (unsigned w = first_warp; w < first_warp + joined; ++w) {
      sum += shared[w * 2 * kMostChannels + slot];
    }
  }
  __syncthreads();
  if (a.parts > 1) {
    C* const found = (C*)a.found + group * a.parts * slots;
    if (thread < slots) {
      found[part * slots + thread] = C(sum);
    }
    if (!comes_last(a.counters + group, a.parts)) {
      return;
    }
    // Neighbouring sums are read together.
    constexpr int kPack = kColumns ? 16 / sizeof(C) : 2;
    using Pack = Word<C, kPack>;
    const unsigned packs = slots / kPack, spread = kChannelThreads / packs;
    const unsigned pack = thread % packs, step = thread / packs, parts = a.parts;
    double sums[kPack] = {};
#pragma unroll 8
    for (unsigned p = step; p < parts; p += spread) {
      const Run<C, kPack> run =
          std::bit_cast<Run<C, kPack>>(__ldcg((const Pack*)(found + (long long)p * slots) + pack));
#pragma unroll
      for (int e = 0; e < kPack; ++e) {
        sums[e] += double(run.at[e]);
      }
    }
#pragma unroll
    for (int e = 0; e < kPack; ++e) {
      shared[step * slots + pack * kPack + e] = sums[e];
    }
    __syncthreads();
    sum = 0;
    const unsigned steps = spread < parts ? spread : parts;
    for (unsigned k = 0; thread < slots && k < steps; ++k) {
      sum += shared[k * slots + thread];
    }
    __syncthreads();
  }
  if (thread < slots) {
    shared[thread] = sum;
  }
  __syncthreads();
  if (thread < slots / 2 && first_channel + thread < a.channels) {
    Sums::finish(a, first_channel + thread, shared[2 * thread], shared[2 * thread + 1]);
  }
}

}  // namespace antichain::device
