// An op, or a few, compiled and ready to be run again and again as a user runs it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "antichain/session/session.h"

namespace antichain::bench {

struct CaseInput {
  DType dtype;
  Shape shape;
};

class OpCase {
 public:
  using Build = std::function<Var(Graph&, const std::vector<Var>&)>;
  /// Compiles `build` on inputs filled with numbers in [-1, 1] (integers: 0 and 1).
  OpCase(const std::vector<CaseInput>& inputs, const Build& build);

  /// Runs it once.
  void run() { executable_.run_into(results_, feeds_); }
  const Tensor& result() const { return results_[0]; }
  const Tensor& input(std::size_t index) const;
  /// Returns the bytes of all inputs and of the result.
  double bytes() const;

 private:
  Session session_;
  Graph graph_ = session_.graph();
  Feeds feeds_;
  Executable executable_;
  Results results_;
};

/// Returns a tensor of numbers in [-1, 1], the same for the same shape.
Tensor numbers(DType dtype, const Shape& shape);

}  // namespace antichain::bench
