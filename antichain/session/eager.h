// Eager mode: the same ops, evaluated at once. The tape is a Graph, so grad works on it as it is.
//
//   Eager eager(session);
//   Var x = eager(tensor);
//   while (max(abs(matmul(a, x) - eye)).item<double>() > 1e-6) { x = ...; }
//   Var slope = grad(sum(x), a);     // computed when it is built
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/session/session.h"

namespace antichain {

/// A graph whose ops are computed as they are built. Values live as long as this object.
class Eager {
 public:
  /// When the session is gone, values can be looked at and nothing can be computed any more.
  explicit Eager(Session& session);
  ~Eager();
  Eager(const Eager&) = delete;
  Eager& operator=(const Eager&) = delete;

  /// Enters a tensor; every call makes a variable of its own.
  Var operator()(const Tensor& value);
  /// Returns the tape.
  Graph& graph() { return graph_; }

 private:
  class Tape;
  Graph graph_;
  std::shared_ptr<Tape> tape_;
};

/// Declares an input of a recorded function.
struct InputSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<DimSpec> shape;
};

/// Compiles a function that also runs eagerly: it is called once, with symbolic inputs. A function
/// that looks at values (Var::item) cannot be recorded; the error says so.
Executable record(Session& session, const std::vector<InputSpec>& inputs,
                  const std::function<std::vector<Var>(const std::vector<Var>&)>& function);

}  // namespace antichain
