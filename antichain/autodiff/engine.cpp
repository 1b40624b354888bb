#include "antichain/autodiff/engine.h"

#include <array>

namespace antichain {

std::string_view name(Guarantee guarantee) {
  static constexpr std::array<std::string_view, 4> kNames = {"exact", "iterative", "unbiased",
                                                             "sampled"};
  return kNames[static_cast<std::size_t>(guarantee)];
}

std::string GradientEngine::explain(Op) const { return {}; }

void EngineSet::add(std::unique_ptr<GradientEngine> engine) {
  engines_.push_back(std::move(engine));
}

const GradientEngine& EngineSet::find(std::string_view name) const {
  std::string known;
  for (const auto& engine : engines_) {
    if (engine->name() == name) {
      return *engine;
    }
    known += (known.empty() ? "" : ", ") + std::string(engine->name());
  }
  fail<InvalidArgument>("there is no gradient engine '{}'; this session has: {}", name, known);
}

}  // namespace antichain
