// Builds a graph, takes a gradient and prints it: the slope of |A x|^2 at x, which is 2 A^T A x.
#include <antichain/antichain.h>

#include <iostream>
#include <vector>

namespace ac = antichain;

int main() {
  ac::Session session;
  ac::Graph graph = session.graph();
  const ac::Var a = graph.input("a", ac::f64, {"rows", "columns"});
  const ac::Var x = graph.input("x", ac::f64, {"columns", 1});
  const ac::Var y = ac::sum(ac::square(ac::matmul(a, x)));
  const ac::Executable slope = session.compile({ac::grad(y, x)});

  const std::vector<double> found = slope({{"a", ac::Tensor::of<double>({2, 2}, {1, 2, 0, 3})},
                                           {"x", ac::Tensor::of<double>({2, 1}, {1, 1})}})[0]
                                        .to_vector<double>();
  std::cout << "slope:";
  for (const double value : found) {
    std::cout << ' ' << value;
  }
  std::cout << '\n';
  // A x = (3, 3), A^T (3, 3) = (3, 15); small integers, so the answer is exact.
  return found == std::vector<double>{6, 30} ? 0 : 1;
}
