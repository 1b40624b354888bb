// 32-bit ids of what lives in a graph's arenas.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace antichain {

/// Names an element of one arena; ids of different arenas do not mix.
template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::uint32_t value = kNone;

  bool valid() const { return value != kNone; }
  auto operator<=>(const Id&) const = default;
};

using VarId = Id<struct VarTag>;
using OpId = Id<struct OpTag>;
using RegionId = Id<struct RegionTag>;

inline constexpr RegionId kRootRegion{0};

}  // namespace antichain

template <class Tag>
struct std::hash<antichain::Id<Tag>> {
  std::size_t operator()(antichain::Id<Tag> id) const noexcept { return id.value; }
};
