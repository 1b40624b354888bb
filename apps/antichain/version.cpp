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

constexpr auto kParts = std::to_array<Part>({
    {"blas", "matrix products on the CPU, also in f64", ANTICHAIN_HAS_BLAS != 0},
    {"onednn", "matrix products and convolutions on the CPU", ANTICHAIN_HAS_ONEDNN != 0},
    {"llvm", "compiled code for fused element-wise ops", ANTICHAIN_HAS_LLVM != 0},
    {"dlpack", "exchange of tensors with other libraries", ANTICHAIN_HAS_DLPACK != 0},
});

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
