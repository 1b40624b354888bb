// Where values live.
#pragma once

#include <string>
#include <string_view>

namespace antichain {

enum class DeviceKind : unsigned char { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

/// Returns "cpu" or "cuda:1".
std::string to_string(Device device);
/// Parses "cpu", "cuda" or "cuda:N"; throws InvalidArgument otherwise.
Device parse_device(std::string_view text);

}  // namespace antichain
