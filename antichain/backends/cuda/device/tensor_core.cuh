// What tensor cores are spoken to with: products of small matrices, whose parts the 32 lanes of a
// warp hold.
//
// Which lane holds which elements is said in attention_tile.cuh, where it is used; tests compile
// that for the host, with these functions emulated (tests/backends_cuda/emulated_block.h).
#pragma once

#include "antichain/backends/cuda/device/async_copy.cuh"
#include "antichain/backends/cuda/device/element.cuh"

namespace antichain::device {

// Four pairs of elements: of each of four 8 x 8 matrices, elements 2 (lane % 4) and the next one of
// row lane / 4.
struct Quad {
  unsigned at[4];
};

// Reads four such matrices; lane l says where row l % 8 of matrix l / 8 begins in shared memory.
inline Quad load_matrices(const void* row) {
  Quad q;
  const unsigned place = unsigned(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(q.at[0]), "=r"(q.at[1]), "=r"(q.at[2]), "=r"(q.at[3])
               : "r"(place)
               : "memory");
  return q;
}
// Likewise, and transposes each of them.
inline Quad load_transposed(const void* row) {
  Quad q;
  const unsigned place = unsigned(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(q.at[0]), "=r"(q.at[1]), "=r"(q.at[2]), "=r"(q.at[3])
               : "r"(place)
               : "memory");
  return q;
}

// Adds a[16 x 16] b[16 x 8] to sums[16 x 8]. Elements of T are in a and b; of sums, a lane holds
// elements 2 (lane % 4) and the next one of rows lane / 4 and lane / 4 + 8.
template <class T>
void add_product(float (&sums)[4], const Quad& a, unsigned b0, unsigned b1) {
  if constexpr (std::is_same_v<T, bf16>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b0), "r"(b1));
  }
}

// Two elements that lie side by side, the first one in the lower half.
template <class T>
unsigned paired(float first, float second) {
  unsigned pair;
  if constexpr (std::is_same_v<T, bf16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  }
  return pair;
}
template <class T>
float first_of(unsigned pair) {
  return load<T>(T{(unsigned short)(pair & 0xffff)});
}
template <class T>
float second_of(unsigned pair) {
  return load<T>(T{(unsigned short)(pair >> 16)});
}

// Adds a[16 x 8] b[8 x 8] to sums[16 x 8]; numbers have 10 bits behind the first, further ones are
// left out. A lane holds of a and of sums elements p = 2 (lane % 4) and p + 1 of rows lane / 4 and
// lane / 4 + 8, of b rows p and p + 1 of column lane / 4. (The instruction numbers the elements
// that are added up otherwise, in a and b alike: so sums are ready to be multiplied again.) These
// stay in the order in which they are written, which keeps those apart that wait for each other.
inline void add_short_product(float (&sums)[4], const float (&a)[4], float b0, float b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[1])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}
// Likewise, without what `sums` held before.
inline void set_short_product(float (&sums)[4], const float (&a)[4], float b0, float b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%10, %10, %10, %10};"
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[1])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)), "f"(0.0f));
}
// Likewise for a[16 x 4] b[4 x 8]: of a, a lane holds element lane % 4 of both rows, where the
// others hold the first of two; of b, row lane % 4.
inline void add_half_product(float (&sums)[4], const float (&a)[4], float b0) {
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(b0)));
}
inline void set_half_product(float (&sums)[4], const float (&a)[4], float b0) {
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%7, %7, %7, %7};"
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(b0)),
        "f"(0.0f));
}

// 2 to the x by one instruction, to some 22 bits; 0 for what is smaller than 2^-126.
inline float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace antichain::device
