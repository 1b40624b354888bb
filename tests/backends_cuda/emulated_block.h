// A block of threads of a GPU, on the host: what device code is written with (tensor_core.cuh and
// CUDA's own functions), so that kernels run, slowly, where there is no GPU.
//
// Threads are contexts that run one at a time, until they wait for others; a warp goes on as long
// as it can, so that what does not wait as it should shows. Which warp is next, and when copies to
// shared memory arrive, may be chosen: results must not depend on it.
#pragma once

#include <math.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <utility>

namespace antichain::emulated {

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

enum class Schedule { first_warp_first, last_warp_first };
enum class Arrival { at_once, when_waited_for };

struct BlockOptions {
  unsigned threads = 32;
  unsigned block = 0;  // its number
  Schedule schedule = Schedule::first_warp_first;
  Arrival arrival = Arrival::at_once;
};

/// Runs `thread` for every thread of a block. Throws InternalError when they wait for each other
/// forever.
void run_block(const BlockOptions& options, const std::function<void()>& thread);

/// Waits for the lanes of the own warp that the mask names, or for the whole block.
void wait_for_lanes(unsigned mask);
void wait_for_block();
struct Words {
  std::uint64_t at[6] = {};
};
/// Gives words to the lanes that the mask names, all of which call it, and returns those of every
/// lane. They are there until this lane waits again.
const Words* exchange(unsigned mask, const Words& own);
/// Copies, now or when somebody waits: for all copies of the own thread, or for those of all steps,
/// which `end_copies` ends, but the last ones.
void begin_copy(void* to, const void* from, std::size_t bytes, bool wanted);
void end_copies();
void finish_copies();
void finish_copies_but(std::size_t steps);

/// Copies by one thread for which all wait.
struct alignas(8) CopyBarrier {
  unsigned begun = 0, arrived = 0;
};
void begin_block(CopyBarrier* barrier, void* to, const void* from, std::size_t bytes);
void wait_for_block(CopyBarrier* barrier, unsigned parity);

}  // namespace antichain::emulated

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline antichain::emulated::Index3 threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() { antichain::emulated::wait_for_block(); }
inline void __syncwarp() { antichain::emulated::wait_for_lanes(0xffffffffU); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __shfl_xor_sync(unsigned mask, float value, unsigned other) {
  const antichain::emulated::Words* all =
      antichain::emulated::exchange(mask, {{std::bit_cast<std::uint32_t>(value)}});
  return std::bit_cast<float>(static_cast<std::uint32_t>(all[(threadIdx.x % 32) ^ other].at[0]));
}
inline double __shfl_xor_sync(unsigned mask, double value, unsigned other) {
  const antichain::emulated::Words* all =
      antichain::emulated::exchange(mask, {{std::bit_cast<std::uint64_t>(value)}});
  return std::bit_cast<double>(all[(threadIdx.x % 32) ^ other].at[0]);
}
inline unsigned __match_any_sync(unsigned mask, long long value) {
  const antichain::emulated::Words own{{static_cast<std::uint64_t>(value)}};
  const antichain::emulated::Words* all = antichain::emulated::exchange(mask, own);
  unsigned same = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    same |= all[lane].at[0] == own.at[0] ? 1U << lane : 0U;
  }
  return same & mask;
}
inline bool __any_sync(unsigned mask, bool value) {
  const antichain::emulated::Words* all =
      antichain::emulated::exchange(mask, {{static_cast<std::uint64_t>(value)}});
  bool any = false;
  for (unsigned lane = 0; lane < 32; ++lane) {
    any = any || ((mask >> lane) % 2 == 1 && all[lane].at[0] != 0);
  }
  return any;
}
inline unsigned __ballot_sync(unsigned mask, bool value) {
  const antichain::emulated::Words* all =
      antichain::emulated::exchange(mask, {{static_cast<std::uint64_t>(value)}});
  unsigned lanes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    lanes |= (mask >> lane) % 2 == 1 && all[lane].at[0] != 0 ? 1U << lane : 0U;
  }
  return lanes;
}
inline int __shfl_xor_sync(unsigned mask, int value, unsigned other) {
  const antichain::emulated::Words own{{static_cast<std::uint32_t>(value)}};
  return static_cast<int>(
      antichain::emulated::exchange(mask, own)[(threadIdx.x % 32) ^ other].at[0]);
}
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline int atomicMax(int* at, int value) { return std::exchange(*at, std::max(*at, value)); }
template <class T>
T atomicAdd(T* at, T value) {
  return std::exchange(*at, *at + value);
}
inline unsigned atomicOr(unsigned* at, unsigned bits) { return std::exchange(*at, *at | bits); }
inline int __popc(unsigned word) { return std::popcount(word); }

namespace antichain::device {

struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};
struct Quad {
  unsigned at[4];
};

Quad load_matrices(const void* row);
Quad load_transposed(const void* row);
float value_of(bf16 element);
float value_of(f16 element);
void round_to(bf16& element, float value);
void round_to(f16& element, float value);
// The product of the matrices that the lanes hold parts of, as the instruction set manual says.
void add_product_of(float (&sums)[4], const Quad& a, unsigned b0, unsigned b1,
                    float (*value)(unsigned short bits));

template <class T>
void add_product(float (&sums)[4], const Quad& a, unsigned b0, unsigned b1) {
  add_product_of(sums, a, b0, b1, [](unsigned short bits) { return value_of(T{bits}); });
}
void add_short_product(float (&sums)[4], const float (&a)[4], float b0, float b1);
void add_half_product(float (&sums)[4], const float (&a)[4], float b0);
inline void set_short_product(float (&sums)[4], const float (&a)[4], float b0, float b1) {
  sums[0] = sums[1] = sums[2] = sums[3] = 0;
  add_short_product(sums, a, b0, b1);
}
inline void set_half_product(float (&sums)[4], const float (&a)[4], float b0) {
  sums[0] = sums[1] = sums[2] = sums[3] = 0;
  add_half_product(sums, a, b0);
}
template <class T>
unsigned paired(float first, float second) {
  T low, high;
  round_to(low, first);
  round_to(high, second);
  return low.bits | static_cast<unsigned>(high.bits) << 16;
}
template <class T>
float first_of(unsigned pair) {
  return value_of(T{static_cast<unsigned short>(pair & 0xffff)});
}
template <class T>
float second_of(unsigned pair) {
  return value_of(T{static_cast<unsigned short>(pair >> 16)});
}
inline float fast_exp2(float x) { return x < -126 ? 0 : exp2f(x); }
inline void copy_16_bytes(void* to, const void* from, bool wanted) {
  emulated::begin_copy(to, from, 16, wanted);
}
inline void copy_4_bytes(void* to, const void* from, bool wanted) {
  emulated::begin_copy(to, from, 4, wanted);
}
inline void copy_8_bytes(void* to, const void* from, bool wanted) {
  emulated::begin_copy(to, from, 8, wanted);
}
inline void wait_for_own_copies() { emulated::finish_copies(); }
inline void end_copies() { emulated::end_copies(); }
template <int kSteps>
void wait_for_copies() {
  emulated::finish_copies_but(kSteps);
}
using emulated::CopyBarrier;
inline void prepare_barrier(CopyBarrier* barrier) { *barrier = {}; }
inline void publish_barriers() {}
inline void copy_block(CopyBarrier* barrier, void* to, const void* from, int bytes) {
  emulated::begin_block(barrier, to, from, static_cast<std::size_t>(bytes));
}
using emulated::wait_for_block;

}  // namespace antichain::device
