// Kernels of the ops in antichain/ops/hashing. None of them waits for the device: what is due in
// some steps alone looks at a flag there, so that a step can be recorded.
#pragma once

#include <string>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/ops/hashing/hash_functions.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_hash_codes(KernelTable& kernels, const Context& device);
void register_hash_tables(KernelTable& kernels, const Context& device);
void register_active_units(KernelTable& kernels, const Context& device);
void register_largest_norm(KernelTable& kernels, const Context& device);

inline void register_hashing(KernelTable& kernels, const Context& device) {
  register_hash_codes(kernels, device);
  register_hash_tables(kernels, device);
  register_active_units(kernels, device);
  register_largest_norm(kernels, device);
}

/// Returns the text of the kernels that hash vectors of this element type.
std::string hash_codes_text(DType dtype, HashFamily family, HashTransform transform);
/// Returns the text of the kernels that sort tables.
std::string hash_tables_text();
/// Returns the text of the kernels that choose active units, for these types of labels and of where
/// those of an example start.
std::string active_units_text(DType labels, DType row_starts);
/// Returns the text of the kernels of largest_norm_if.
std::string largest_norm_text(DType dtype);

}  // namespace antichain::cuda
