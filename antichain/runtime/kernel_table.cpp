#include "antichain/runtime/kernel_table.h"

#include <algorithm>

namespace antichain {

void KernelTable::add(const OpDef& def, Kernel kernel) {
  kernels_[&def].push_back(std::move(kernel));
}

std::span<const Kernel> KernelTable::candidates(const OpDef& def) const {
  const auto found = kernels_.find(&def);
  return found == kernels_.end() ? std::span<const Kernel>() : found->second;
}

bool KernelTable::has_kernel(Op op) const {
  return op.def().on_any_device ||
         std::ranges::any_of(candidates(op.def()),
                             [op](const Kernel& kernel) { return kernel.supports(op).yes; });
}

Kernel KernelTable::choose(Op op, const Logger& logger) const {
  for (const Kernel& kernel : candidates(op.def())) {
    const Support support = kernel.supports(op);
    if (support.yes) {
      return kernel;
    }
    logger.log(LogLevel::info, "{}: kernel '{}' refused: {}", op, kernel.name, support.reason);
  }
  require<NotSupported>(op.def().reference != nullptr, "{} has no kernel on this device", op);
  // Ops that other ops run through have only their reference, by design; the others fall back to
  // it.
  if (op.regions().empty() && !candidates(op.def()).empty()) {
    logger.log(LogLevel::info, "{}: falls back to the reference kernel", op);
  }
  return {.name = std::string(kReferenceKernel), .supports = nullptr, .run = op.def().reference};
}

}  // namespace antichain
