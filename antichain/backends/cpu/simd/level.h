// Instruction-set levels: some sources are compiled once for each of them (cmake/SimdLevels.cmake),
// and the CPU decides at run time which of the copies may run.
//
// Such a source sees ANTICHAIN_SIMD_LEVEL, the name of its level. Two rules keep its code apart
// from the rest of the program, where the linker is free to take any copy of an inline function or
// template:
//   - what it defines lives in namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL;
//   - templates from elsewhere (functors, std) are inlined completely: a loop that uses them is
//     marked [[gnu::flatten]].
// The test simd/symbols looks into the compiled objects for violations. The one thing that leaves
// such a source is the specialisation, for kSimdLevel, of a function template `table<SimdLevel>()`
// that a header declares; it returns function pointers.
#pragma once

#include <string_view>
#include <type_traits>

#include "antichain/base/support.h"

namespace antichain::cpu {

enum class SimdLevel {
  avx512,    // x86-64 with AVX-512 F, BW, DQ and VL
  avx2,      // x86-64 with AVX2, FMA and F16C
  baseline,  // what the compiler assumes of every CPU
};

/// Returns "avx512", "avx2" or "baseline".
std::string_view name(SimdLevel level);
/// Says whether this CPU has the instructions of the level.
Support cpu_supports(SimdLevel level);

/// Calls f(std::integral_constant<SimdLevel, level>()) for every level that was compiled, the
/// widest registers first.
template <class F>
void for_each_simd_level(F&& f) {
#ifdef __x86_64__
  f(std::integral_constant<SimdLevel, SimdLevel::avx512>());
  f(std::integral_constant<SimdLevel, SimdLevel::avx2>());
#endif
  f(std::integral_constant<SimdLevel, SimdLevel::baseline>());
}

#ifdef ANTICHAIN_SIMD_LEVEL
inline constexpr SimdLevel kSimdLevel = SimdLevel::ANTICHAIN_SIMD_LEVEL;
#endif

}  // namespace antichain::cpu
