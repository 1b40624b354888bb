#include "apps/antichain/option_json.h"

#include <cmath>
#include <cstdint>

namespace antichain::app {

namespace {

const char* type_name(OptionKind kind) {
  switch (kind) {
    case OptionKind::integer: return "integer";
    case OptionKind::number: return "number";
    case OptionKind::choice: return "choice";
    case OptionKind::text: break;
  }
  return "text";
}

Json bound_json(const OptionSpec& option, double bound) {
  return option.kind == OptionKind::integer ? Json(static_cast<std::int64_t>(bound)) : Json(bound);
}

}  // namespace

Json option_json(const OptionSpec& option) {
  Json json = {{"name", option.name},
               {"type", type_name(option.kind)},
               {"default", option.fallback},
               {"accepts", accepted_values(option)}};
  if (std::isfinite(option.min)) {
    json["min"] = bound_json(option, option.min);
  }
  if (std::isfinite(option.max)) {
    json["max"] = bound_json(option, option.max);
  }
  if (option.kind == OptionKind::choice) {
    json["choices"] = option.choices;
  }
  json["doc"] = option.doc;
  return json;
}

}  // namespace antichain::app
