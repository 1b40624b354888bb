#include "antichain/backends/cpu/products/onednn_kernels.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/products/matmul.h"

namespace antichain::cpu {

namespace {

void add_refusing(std::vector<ProductKernel>& products, const OpDef& def, const std::string& name) {
  products.push_back({.name = name, .def = &def, .supports = [](Op) {
                        return Support::no("this build has no oneDNN");
                      }});
}

}  // namespace

void add_onednn_matmul(std::vector<ProductKernel>& products) {
  add_refusing(products, matmul_def(), "onednn matmul");
}

void add_onednn_convolution(std::vector<ProductKernel>& products) {
  for (const OpDef* def : convolution_family()) {
    add_refusing(products, *def, "onednn convolution");
  }
}

double onednn_channels_last_gain(Op) { return 0; }

}  // namespace antichain::cpu
