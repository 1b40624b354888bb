// Handles to what a graph holds: Var (a value without data) and Op (an application of an OpDef).
//
// Both are a pointer and an id, cheap to copy, valid as long as their graph. A Var knows when its
// graph is gone (live_graphs.h) and says so; an Op is for whoever holds the graph.
#pragma once

#include <fmt/core.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "antichain/base/place.h"
#include "antichain/graph/attrs.h"
#include "antichain/graph/dim.h"
#include "antichain/graph/ids.h"
#include "antichain/graph/live_graphs.h"
#include "antichain/tensor/dtype.h"

namespace antichain {

class Graph;
class Op;
struct OpDef;

/// Describes a value: element type, symbolic shape and, for small integer values, the elements
/// themselves as far as they are known while the graph is built (so that a shape computed from
/// shapes stays symbolic).
struct VarType {
  DType dtype = DType::f32;
  Dims shape;
  std::optional<Dims> value = std::nullopt;

  bool operator==(const VarType& other) const = default;
};

class Var {
 public:
  /// Makes no variable: stands for "none", e.g. a gradient that is zero.
  Var() = default;
  inline Var(Graph* graph, VarId id);  // in graph.h

  /// Returns whether this stands for a value, be its graph still there or not.
  bool valid() const { return graph_ != nullptr; }
  /// Returns the graph; throws InvalidArgument when this is no value or the graph is gone.
  Graph& graph() const {
    if (!valid() || !LiveGraphs::contains(number_)) [[unlikely]] {
      refuse();
    }
    return *graph_;
  }
  VarId id() const { return id_; }
  const VarType& type() const;
  DType dtype() const { return type().dtype; }
  const Dims& shape() const { return type().shape; }
  int rank() const { return static_cast<int>(shape().size()); }
  /// Returns the size along `axis`; negative axes count from the end.
  Dim dim(int axis) const;
  /// Returns the op that computes this value; throws InvalidArgument for a parameter of a region.
  Op producer() const;
  /// Returns the name that messages use: the one given by the user, or "%7".
  std::string name() const;
  bool has_name() const;
  /// Returns the value of a variable in eager mode; throws InvalidArgument elsewhere.
  const Tensor& value() const;
  template <class T = float>
  T item() const {
    return value().item<T>();
  }
  bool operator==(const Var& other) const {
    return graph_ == other.graph_ && id_ == other.id_ && number_ == other.number_;
  }

  // Fluent forms of functions of the operator module, which defines them
  // (antichain/ops/fluent.cpp).
  using Axes = std::vector<std::int64_t>;
  Var reshape(const Dims& shape, Place place = Place::current()) const;
  Var transpose(const Axes& permutation = {}, Place place = Place::current()) const;
  Var cast(DType dtype, Place place = Place::current()) const;
  Var sum(const Axes& axes = {}, bool keep_dims = false, Place place = Place::current()) const;
  Var mean(const Axes& axes = {}, bool keep_dims = false, Place place = Place::current()) const;
  Var max(const Axes& axes = {}, bool keep_dims = false, Place place = Place::current()) const;
  Var min(const Axes& axes = {}, bool keep_dims = false, Place place = Place::current()) const;
  Var sum(std::int64_t axis, Place place = Place::current()) const;
  Var mean(std::int64_t axis, Place place = Place::current()) const;
  Var max(std::int64_t axis, Place place = Place::current()) const;
  Var min(std::int64_t axis, Place place = Place::current()) const;
  /// Returns the shape as an i64 value that takes part in computation.
  Var shape_of(Place place = Place::current()) const;

 private:
  [[noreturn]] void refuse() const;

  Graph* graph_ = nullptr;
  VarId id_;
  LiveGraphs::Number number_ = 0;  // of the graph; fills what would be padding
};

/// Orders an op after another; `required` also makes the other one run.
struct ControlEdge {
  OpId before;
  bool required = true;
};

class Op {
 public:
  Op() = default;
  Op(Graph* graph, OpId id) : graph_(graph), id_(id) {}

  bool valid() const { return graph_ != nullptr; }
  Graph& graph() const { return *graph_; }
  OpId id() const { return id_; }
  const OpDef& def() const;
  const Attrs& attrs() const;
  int num_inputs() const;
  int num_outputs() const;
  Var input(int index) const;
  Var output(int index = 0) const;
  std::vector<Var> inputs() const;
  std::vector<Var> outputs() const;
  std::span<const RegionId> regions() const;
  std::span<const ControlEdge> control_edges() const;
  /// Returns the names of the states that the op reads or writes.
  std::vector<std::string> states() const;
  const Place& location() const;
  /// Returns the scope that was open when the op was built: "encoder.gru".
  const std::string& scope() const;
  /// Returns "matmul in 'encoder' (model.cpp:12)", for messages. The attribute "label" of an op
  /// that stands for others, if it has one, follows the name.
  std::string describe() const;
  bool operator==(const Op& other) const { return graph_ == other.graph_ && id_ == other.id_; }

 private:
  Graph* graph_ = nullptr;
  OpId id_;
};

}  // namespace antichain

template <>
struct std::hash<antichain::VarType> {
  std::size_t operator()(const antichain::VarType& type) const {
    const std::size_t elements = type.value ? antichain::hash(*type.value) + 1 : 0;
    return antichain::hash(type.shape) ^ (elements * 31) ^ static_cast<std::size_t>(type.dtype);
  }
};

// Messages that take a Var or an Op itself are only put together when somebody gets to see them.
template <>
struct fmt::formatter<antichain::Var> : fmt::formatter<std::string_view> {
  fmt::format_context::iterator format(antichain::Var var, fmt::format_context& context) const;
};
template <>
struct fmt::formatter<antichain::Op> : fmt::formatter<std::string_view> {
  fmt::format_context::iterator format(antichain::Op op, fmt::format_context& context) const;
};
