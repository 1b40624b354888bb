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
// Waits for the copies that this thread has begun.
inline void wait_for_own_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Copies belong to steps: this ends those of one.
inline void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all copies of this thread but those of the last few steps.
template <int kSteps>
void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kSteps) : "memory");
}

}  // namespace antichain::device
