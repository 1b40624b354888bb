// The memory of a training step, told: as text, as JSON, as an image.
#pragma once

#include <string>

#include "antichain/runtime/memory_report.h"
#include "apps/antichain/output.h"

namespace antichain::app {

/// Returns "1.5 MiB".
std::string size_text(std::size_t bytes);
/// Returns how much memory a step takes and its ten largest values. `allocated` is what the
/// executable has asked the device for.
std::string memory_text(const MemoryReport& report, std::size_t allocated);
/// Returns the same for programs, with every value.
Json memory_json(const MemoryReport& report, std::size_t allocated);
/// Draws the plan: steps to the right, addresses upwards, a rectangle per value.
std::string memory_svg(const MemoryReport& report);

}  // namespace antichain::app
