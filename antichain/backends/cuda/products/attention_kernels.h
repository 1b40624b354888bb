// Attention of 16-bit values and its gradient, by tensor cores (FlashAttention): scores never go
// through memory.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_attention(KernelTable& kernels, const Context& context);

struct AttentionCode {
  DType dtype;  // bf16 or f16
  std::int64_t width;
  bool causal, masked;
};
/// Returns the kernel `attend`.
std::string attention_text(const AttentionCode& code);
/// Returns the kernels `multiply_grad`, `attend_keys` and `attend_queries`, in the order in which
/// they run.
std::string attention_gradient_text(const AttentionCode& code);

}  // namespace antichain::cuda
