#include "antichain/backends/cpu/onednn_kernels.h"
#include "antichain/ops/convolution.h"
#include "antichain/ops/matmul.h"

namespace antichain::cpu {

namespace {

void add_refusing(KernelTable& kernels, const OpDef& def, const std::string& name) {
  kernels.add(def, {name, [](Op) { return Support::no("this build has no oneDNN"); }});
}

}  // namespace

void register_onednn_matmul(KernelTable& kernels) {
  add_refusing(kernels, matmul_def(), "onednn matmul");
}

void register_onednn_convolution(KernelTable& kernels) {
  for (const OpDef* def : convolution_family()) {
    add_refusing(kernels, *def, "onednn convolution");
  }
}

}  // namespace antichain::cpu
