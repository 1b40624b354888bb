#include <fmt/format.h>

#include <cstdint>

#include "antichain/train/chart.h"
#include "apps/antichain/memory_facts.h"

namespace antichain::app {

namespace {

// Pixels.
constexpr double kWidth = 1000, kHeight = 600, kMargin = 40;

// One colour per kind of op, whatever else is in the image.
int hue_of(const std::string& op) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char letter : op) {
    hash = (hash ^ static_cast<std::uint8_t>(letter)) * 16777619;
  }
  return static_cast<int>(hash % 360);
}

struct Scale {
  double per_step, per_byte;

  double x(std::size_t step) const { return kMargin + static_cast<double>(step) * per_step; }
  double y(std::size_t address) const {
    return kHeight - kMargin - static_cast<double>(address) * per_byte;
  }
};

std::string rectangle(const Scale& scale, const MemoryValue& value) {
  const std::string tooltip = escape_html(
      fmt::format("{}: {}\n{}\nsteps {} to {}, from byte {}", value.name, size_text(value.bytes),
                  value.where, value.first, value.last, value.offset));
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"hsl({}, 60%, "
      "{}%)\"><title>{}</title></rect>\n",
      scale.x(value.first), scale.y(value.offset + value.bytes),
      scale.x(value.last + 1) - scale.x(value.first),
      static_cast<double>(value.bytes) * scale.per_byte, hue_of(value.op),
      value.bodies.empty() ? 65 : 45, tooltip);
}

// A line across the image, with its name at one end of it.
std::string level(const Scale& scale, std::size_t address, const std::string& name,
                  const std::string& colour, bool at_the_right) {
  return fmt::format(
      "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.2f}\" y2=\"{2:.2f}\" stroke=\"{3}\" "
      "stroke-dasharray=\"6 3\"/>\n<text x=\"{4}\" y=\"{5:.2f}\" fill=\"{3}\" "
      "text-anchor=\"{6}\">{7}</text>\n",
      kMargin, kWidth - kMargin, scale.y(address), colour,
      at_the_right ? kWidth - kMargin : kMargin, scale.y(address) - 4,
      at_the_right ? "end" : "start", escape_html(name + " " + size_text(address)));
}

}  // namespace

std::string memory_svg(const MemoryReport& report) {
  const auto steps = static_cast<double>(report.num_steps + 1);  // results live until the end
  const auto bytes = static_cast<double>(std::max<std::size_t>(report.peak_bytes, 1));
  const Scale scale = {(kWidth - 2 * kMargin) / steps, (kHeight - 2 * kMargin) / bytes};
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<g stroke=\"white\" stroke-width=\"0.3\">\n",
      kWidth, kHeight);
  for (const MemoryValue& value : report.values) {
    if (value.bytes > 0) {
      svg += rectangle(scale, value);
    }
  }
  svg += "</g>\n";
  svg += level(scale, report.bound_bytes, "alive at once", "black", false);
  svg += level(scale, report.peak_bytes, "planned", "red", true);
  svg +=
      fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">steps 0 to {}</text>\n</svg>\n",
                  kWidth / 2, kHeight - kMargin / 3, report.num_steps);
  return svg;
}

}  // namespace antichain::app
