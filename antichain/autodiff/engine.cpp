#include "antichain/autodiff/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "antichain/base/edit_distance.h"

namespace antichain {

std::string_view name(Guarantee guarantee) {
  static constexpr std::array<std::string_view, 4> kNames = {"exact", "iterative", "unbiased",
                                                             "sampled"};
  return kNames[static_cast<std::size_t>(guarantee)];
}

std::string GradientEngine::explain(Op) const { return {}; }

bool GradientEngine::replaces_forward(const Settings&) const { return false; }

bool GradientEngine::shares_forward(const Settings&) const { return false; }

std::optional<std::vector<Var>> GradientEngine::forward(Op, const ForwardContext&) const {
  return std::nullopt;
}

void GradientEngine::add_own_states(WideLayers&, const EngineChoice&) const {}

std::vector<Var> GradientEngine::updates(Op) const { return {}; }

RowUpdates GradientEngine::row_updates(Op, int) const { return RowUpdates::none; }

Settings GradientEngine::settings(const EngineChoice& choice) const {
  Settings settings(fmt::format("engine '{}'", name()), fmt::format("antichain engines {}", name()),
                    options());
  for (const std::vector<EngineOption>* given : {&defaults_, &choice.options()}) {
    for (const EngineOption& option : *given) {
      settings.set(option.name, option.value);
    }
  }
  return settings;
}

Settings GradientEngine::settings(Op region_op) const {
  const EngineChoice choice = engine_choice(region_op);
  return settings(choice.name() == name() ? choice : EngineChoice());
}

void GradientEngine::set_defaults(const std::vector<EngineOption>& options) {
  defaults_ = options;
  settings(EngineChoice());  // throws where they do not fit
}

EngineChoice engine_choice(Op op) {
  const AttrValue* attribute = op.attrs().find("engine");
  return attribute ? EngineChoice(std::get<std::string>(*attribute)) : EngineChoice();
}

bool wants_example_losses(const EngineSet& engines, const EnginePlan& plan) {
  return std::ranges::any_of(plan.parts(), [&engines](const EnginePlan::Part& part) {
    return engines.find(part.engine.name()).wants_example_losses();
  });
}

void EngineSet::add(std::unique_ptr<GradientEngine> engine) {
  engines_.push_back(std::move(engine));
}

const GradientEngine& EngineSet::find(std::string_view name) const {
  const auto found = std::ranges::find(engines_, name, [](const auto& e) { return e->name(); });
  if (found != engines_.end()) {
    return **found;
  }
  std::vector<std::string_view> names;
  for (const auto& engine : engines_) {
    names.push_back(engine->name());
  }
  const auto nearest = std::ranges::min_element(
      names, {}, [name](std::string_view other) { return edit_distance(name, other); });
  const bool is_near = nearest != names.end() && edit_distance(name, *nearest) <= 2;
  const std::string hint = is_near ? fmt::format("did you mean '{}'? T", *nearest) : "t";
  fail<InvalidArgument>("there is no gradient engine '{}'; {}his session has: {}", name, hint,
                        fmt::join(names, ", "));
}

void EngineSet::set_defaults(const EngineChoice& choice) {
  find(choice.name());
  const auto found =
      std::ranges::find(engines_, choice.name(), [](const auto& e) { return e->name(); });
  (*found)->set_defaults(choice.options());
}

bool EngineSet::replaces_forward(Op op) const {
  const EngineChoice choice = engine_choice(op);
  if (choice.is_backprop()) {
    return false;
  }
  const GradientEngine& engine = find(choice.name());
  const Settings set = engine.settings(choice);
  return engine.replaces_forward(set) || engine.shares_forward(set);
}

std::vector<Var> EngineSet::forward(Op op, const ForwardContext& context) const {
  if (!replaces_forward(op)) {
    return op.outputs();
  }
  const PlanPause pause(op.graph());
  return find(engine_choice(op).name()).forward(op, context).value_or(op.outputs());
}

}  // namespace antichain
