// A first graph: build it once, differentiate it, run it with batches of different sizes.
#include <antichain/antichain.h>
#include <fmt/ranges.h>

namespace ac = antichain;

int main() {
  ac::Session session;
  ac::Graph graph = session.graph();

  // Values in a graph have a type and a shape, but no data. "batch" may be any size.
  const ac::Var x = graph.input("x", ac::f64, {"batch", 2});
  const ac::Var y = ac::sum(x * x, {1});  // the squared length of each row
  const ac::Var slope = ac::grad(y, x);   // ordinary ops, added to the same graph
  fmt::print("The graph:\n{}\n", ac::print_text(graph));

  const ac::Executable program = session.compile({y, slope});
  const ac::Results one = program({{"x", ac::Tensor::of<double>({1, 2}, {3, 4})}});
  fmt::print("one row:    y = {}, slope = {}\n", one[0].to_vector<double>(),
             one[1].to_vector<double>());

  const ac::Results three = program({{"x", ac::Tensor::of<double>({3, 2}, {1, 0, 0, 2, 3, 3})}});
  fmt::print("three rows: y = {}, slope = {}\n", three[0].to_vector<double>(),
             three[1].to_vector<double>());

  const bool right = one[0].to_vector<double>() == std::vector<double>{25} &&
                     one[1].to_vector<double>() == std::vector<double>{6, 8} &&
                     three[0].to_vector<double>() == std::vector<double>{1, 4, 18};
  return right ? 0 : 1;
}
