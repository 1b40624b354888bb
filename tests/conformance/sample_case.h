// A sample of an op made concrete: element type chosen, inputs filled, graph built.
#pragma once

#include <memory>
#include <vector>

#include "antichain/graph/op_def.h"
#include "antichain/session/session.h"

namespace antichain::conformance {

/// How the inputs are declared to the graph.
enum class Sizes { constant, symbolic };

/// Returns the values of a sample's inputs; the same for the same sample, whatever the element
/// type.
std::vector<Tensor> make_inputs(const Sample& sample, DType dtype);

/// A sample built in a graph of its own, in a session of its own.
class SampleCase {
 public:
  SampleCase(const Sample& sample, DType dtype, Sizes sizes = Sizes::constant);

  Session& session() { return session_; }
  Graph& graph() { return *graph_; }
  const std::vector<Var>& inputs() const { return inputs_; }
  const std::vector<Var>& outputs() const { return outputs_; }
  const std::vector<Tensor>& values() const { return values_; }
  /// Declares one more input, e.g. for output weights.
  Var add_input(const std::string& name, const Tensor& value);
  /// Returns what is to be fed, with the value of input `changed` replaced.
  Feeds feeds() const;
  Feeds feeds(std::size_t changed, const Tensor& value) const;
  /// Computes values in this case's graph.
  std::vector<Tensor> evaluate(const std::vector<Var>& values, int level = 2);

 private:
  Session session_;
  std::unique_ptr<Graph> graph_;
  std::vector<Tensor> values_;
  std::vector<Var> inputs_;
  std::vector<Var> outputs_;
};

/// Returns the element types that a sample is run with: one of any kind when it leaves none open.
std::vector<DType> dtypes_of(const OpDef& def, const Sample& sample);

}  // namespace antichain::conformance
