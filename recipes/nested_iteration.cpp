#include "recipes/nested_iteration.h"

#include <algorithm>

#include "antichain/base/error.h"

namespace antichain {

namespace {

constexpr const char *kConstant = "constant", *kLinear = "linear";

bool has_option(const Settings& settings, std::string_view name) {
  return std::ranges::any_of(settings.options(),
                             [name](const OptionSpec& option) { return option.name == name; });
}

}  // namespace

std::vector<OptionSpec> nested_options() {
  return {{"nested", kInteger, "1",
           "nets that are trained, each of twice the depth of the one before and from its weights; "
           "the last has all layers",
           1, 20},
          {.name = "refine",
           .kind = OptionKind::choice,
           .fallback = kConstant,
           .doc = "how weights come to twice as many layers: each for two, or linearly in between",
           .choices = {kConstant, kLinear}},
          {"nested_epochs", kInteger, "0",
           "epochs of each of the shallower nets; 0: as of the last", 0, 1e6}};
}

std::optional<Settings> settings_of_shallower_net(const Settings& settings) {
  if (!has_option(settings, "nested") || settings.integer("nested") == 1) {
    return std::nullopt;
  }
  const std::int64_t layers = settings.integer("layers"), nets = settings.integer("nested");
  const std::int64_t multiple = std::int64_t{1} << (nets - 1);
  require(layers % multiple == 0,
          "nested={} needs a number of layers that is a multiple of {}, got {}", nets, multiple,
          layers);
  Settings shallower = settings;
  shallower.set("layers", std::to_string(layers / 2));
  shallower.set("nested", std::to_string(nets - 1));
  if (const std::int64_t epochs = settings.integer("nested_epochs"); epochs > 0) {
    shallower.set("epochs", std::to_string(epochs));
  }
  return shallower;
}

bool refines_linearly(const Settings& settings) { return settings.text("refine") == kLinear; }

Tensor refined_layers(const Tensor& layers, bool linearly) {
  const std::vector<double> coarse = layers.to_vector<double>();
  Shape shape = layers.shape();
  const std::int64_t count = shape[0], size = count > 0 ? layers.numel() / count : 0;
  shape[0] = 2 * count;
  std::vector<double> fine;
  for (std::int64_t layer = 0; layer < 2 * count; ++layer) {
    // Layers stand for the middles of their intervals, a quarter of the coarse ones off.
    const std::int64_t own = layer / 2;
    const std::int64_t other =
        std::clamp(own + (layer % 2 == 0 ? -1 : 1), std::int64_t{0}, count - 1);
    const double part = linearly ? 0.25 : 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const auto value = [&](std::int64_t of) {
        return coarse[static_cast<std::size_t>(of * size + i)];
      };
      fine.push_back(part == 0 ? value(own) : (1 - part) * value(own) + part * value(other));
    }
  }
  return Tensor::of<double>(shape, fine).cast(layers.dtype());
}

}  // namespace antichain
