// From element types to instantiations: the one list of which C++ type is which DType, for loops.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/tensor/dtype.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

// Sets the entries of the float types to what `make` returns for them: make.operator()<S>().
template <class Entry, class Make>
constexpr void set_floats(Entry (&table)[kNumDTypes], Make make) {
  table[static_cast<int>(f32)] = make.template operator()<float>();
  table[static_cast<int>(f64)] = make.template operator()<double>();
  table[static_cast<int>(bf16)] = make.template operator()<bfloat16>();
  table[static_cast<int>(f16)] = make.template operator()<float16>();
}

// Those of the floats and the integers.
template <class Entry, class Make>
constexpr void set_numbers(Entry (&table)[kNumDTypes], Make make) {
  set_floats(table, make);
  table[static_cast<int>(i8)] = make.template operator()<std::int8_t>();
  table[static_cast<int>(i32)] = make.template operator()<std::int32_t>();
  table[static_cast<int>(i64)] = make.template operator()<std::int64_t>();
  table[static_cast<int>(u8)] = make.template operator()<std::uint8_t>();
}

template <class Entry, class Make>
constexpr void set_everything(Entry (&table)[kNumDTypes], Make make) {
  set_numbers(table, make);
  table[static_cast<int>(boolean)] = make.template operator()<bool>();
}

// Returns a table of loops, by float type; other types have the entry of f32.
template <class Table>
struct ByFloat {
  const Table* tables[kNumDTypes];
};

template <class Table, class Make>
constexpr ByFloat<Table> by_float(Make make) {
  ByFloat<Table> all{};
  for (const Table*& table : all.tables) {
    table = make.template operator()<float>();
  }
  set_floats(all.tables, make);
  return all;
}

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
