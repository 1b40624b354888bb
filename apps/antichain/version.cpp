#include "apps/antichain/version.h"

#include <array>

#include "apps/antichain/output.h"
#include "apps/antichain/table.h"

namespace antichain::app {

namespace {

struct Part {
  const char* name;
  const char* serves;
  bool present;
};

constexpr std::array<Part, 2> kParts = {{
    {"blas", "fast matrix products on the CPU", ANTICHAIN_HAS_BLAS != 0},
    {"dlpack", "exchange of tensors with other libraries", ANTICHAIN_HAS_DLPACK != 0},
}};

}  // namespace

std::string version_text(bool json) {
  if (json) {
    Json parts = Json::object();
    for (const Part& part : kParts) {
      parts[part.name] = part.present;
    }
    return to_line({{"version", ANTICHAIN_VERSION}, {"parts", parts}});
  }
  Table table;
  for (const Part& part : kParts) {
    table.add({part.name, part.present ? "yes" : "no", part.serves});
  }
  return "antichain " ANTICHAIN_VERSION "\n\nOptional parts of this build:\n" + table.str("  ");
}

}  // namespace antichain::app
