#include "apps/antichain/op_facts.h"

#include <array>

namespace antichain::app {

std::string dtypes_of(const OpDef& def) {
  static const std::array<std::pair<DTypeSet, const char*>, 4> kNamed = {
      {{kFloats, "floats"}, {kIntegers, "integers"}, {kNumbers, "numbers"}, {kAnyDType, "any"}}};
  const std::vector<DType> members = def.dtypes.members();
  for (const auto& named : kNamed) {
    if (named.first.members() == members) {
      return named.second;
    }
  }
  std::string list;
  for (DType dtype : members) {
    list += (list.empty() ? "" : " ") + std::string(name(dtype));
  }
  return list.empty() ? "-" : list;  // an op without inputs takes no type
}

std::string derivative_of(const OpDef& def) {
  if (def.vjp) {
    return "own rule";
  }
  return def.decompose ? "through its decomposition" : "none: " + def.no_gradient;
}

std::string vmap_of(const OpDef& def) {
  std::string how = def.vmap        ? "own rule"
                    : def.decompose ? "through its decomposition"
                                    : "none: " + def.no_vmap;
  if (!def.vmap_serially.empty()) {
    how = (def.vmap || def.decompose ? how + ", or " : "") + "copy by copy: " + def.vmap_serially;
  }
  return how;
}

std::string effect_of(const OpDef& def) {
  static constexpr std::array<const char*, 4> kNames = {"none", "reads state", "writes state",
                                                        "outside the program"};
  return kNames[static_cast<std::size_t>(def.effect)];
}

std::string default_of(const AttrSpec& spec) {
  return spec.fallback.empty() ? "must be given" : print_attr(spec.fallback[0]);
}

}  // namespace antichain::app
