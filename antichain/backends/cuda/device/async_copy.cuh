// Copies to shared memory that go on while something else is computed. Tests on the host have
// functions of their own for it (tests/backends_cuda/emulated_block.h).
#pragma once

namespace antichain::device {

// Begins to copy 16 bytes to shared memory; zeros, where they are not wanted, from any address.
inline void copy_16_bytes(void* to, const void* from, bool wanted) {
  const unsigned place = unsigned(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from),
               "r"(wanted ? 16 : 0)
               : "memory");
}
inline void copy_4_bytes(void* to, const void* from, bool wanted) {
  const unsigned place = unsigned(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from),
               "r"(wanted ? 4 : 0)
               : "memory");
}
inline void copy_8_bytes(void* to, const void* from, bool wanted) {
  const unsigned place = unsigned(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(place), "l"(from),
               "r"(wanted ? 8 : 0)
               : "memory");
}
// Waits for the copies that this thread has begun.
inline void wait_for_own_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Copies belong to steps: this ends those of one.
inline void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all copies of this thread but those of the last few steps.
template <int kSteps>
void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kSteps) : "memory");
}

// Blocks that one thread copies, and all wait for. A barrier in shared memory counts them: copies
// with one barrier arrive one after the other, and have the parities 0, 1, 0, ...
struct alignas(8) CopyBarrier {
  unsigned long long count;
};
inline void prepare_barrier(CopyBarrier* barrier) {
  const unsigned place = unsigned(__cvta_generic_to_shared(barrier));
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place) : "memory");
}
// Called by the thread that prepared them, before others meet it.
inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// Begins to copy a multiple of 16 bytes between addresses that are.
inline void copy_block(CopyBarrier* barrier, void* to, const void* from, int bytes) {
  const unsigned place = unsigned(__cvta_generic_to_shared(barrier));
  const unsigned target = unsigned(__cvta_generic_to_shared(to));
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place), "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(target),
      "l"(from), "r"(bytes), "r"(place)
      : "memory");
}
inline void wait_for_block(CopyBarrier* barrier, unsigned parity) {
  const unsigned place = unsigned(__cvta_generic_to_shared(barrier));
  unsigned there = 0;
  while (!there) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(there)
        : "r"(place), "r"(parity)
        : "memory");
  }
}

}  // namespace antichain::device
