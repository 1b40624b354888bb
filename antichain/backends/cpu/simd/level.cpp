#include "antichain/backends/cpu/simd/level.h"

#include <string>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace antichain::cpu {

std::string_view name(SimdLevel level) {
  switch (level) {
    case SimdLevel::avx512: return "avx512";
    case SimdLevel::avx2: return "avx2";
    case SimdLevel::baseline: break;
  }
  return "baseline";
}

namespace {

#ifdef __x86_64__
// clang 14 does not know this one by name. Asked once: in a virtual machine each cpuid leaves it,
// and kernels are chosen for every op.
bool has_f16c() {
  static const bool known = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  }();
  return known;
}
#endif

bool has_instructions(SimdLevel level) {
  if (level == SimdLevel::baseline) {
    return true;
  }
#ifdef __x86_64__
  // These also ask the operating system whether it saves the wide registers.
  static const bool kF16c = has_f16c();  // once: in a virtual machine it takes microseconds
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && kF16c;
  if (level == SimdLevel::avx2) {
    return avx2;
  }
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

}  // namespace

Support cpu_supports(SimdLevel level) {
  return has_instructions(level)
             ? Support{}
             : Support::no("this CPU lacks " + std::string(name(level)) + " instructions");
}

}  // namespace antichain::cpu
