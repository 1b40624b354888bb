#include "antichain/backends/cpu/simd/level.h"

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

bool has_instructions(SimdLevel level) {
  if (level == SimdLevel::baseline) {
    return true;
  }
#ifdef __x86_64__
  // These also ask the operating system whether it saves the wide registers.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
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
