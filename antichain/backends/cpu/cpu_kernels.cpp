#include "antichain/backends/cpu/cpu_kernels.h"

#include "antichain/backends/cpu/blas_matmul.h"

namespace antichain::cpu {

void register_kernels(KernelTable& kernels) { register_blas_matmul(kernels); }

}  // namespace antichain::cpu
