#include <antichain/antichain.h>

namespace ac = antichain;

extern "C" __attribute__((visibility("default"))) double slope_of_tanh(double at) {
  ac::Session session;
  ac::Graph graph = session.graph();
  const ac::Var x = graph.input("x", ac::f64, {});
  return session.compile({ac::grad(ac::tanh(x), x)})({{"x", ac::Tensor::scalar(at)}})
      .item<double>();
}
