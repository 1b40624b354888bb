// Runs the code of the README, with data for it.
#include <antichain/antichain.h>

#include <cmath>

int main() {
  const antichain::Tensor images = antichain::Tensor::full(antichain::f32, {3, 784}, 0.1);
  const antichain::Tensor labels = antichain::Tensor::zeros(antichain::i64, {3});
#include <readme_block.inc>
  const antichain::Tensor sequence = antichain::Tensor::full(antichain::f32, {5, 2, 8}, 0.1);
  const antichain::Results slope = session.compile({antichain::grad(last, w)})({{"xs", sequence}});
  const bool right = std::isfinite(l) && slope[0].shape() == antichain::Shape{8, 8};
  return right ? 0 : 1;
}
