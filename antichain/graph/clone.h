// Copying ops: into the region that is being built (inlining) or into another graph (rewriting).
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/graph/id_map.h"

namespace antichain {

/// Copies ops one by one, in an order in which inputs come first. Sizes that only a run tells get
/// new symbols in the copy, and later ops of the copy use those.
class Cloner {
 public:
  /// Sees each copy and returns what is to stand for its outputs: those or something equal.
  using Replace = std::function<std::vector<Var>(Op copy)>;
  /// Copies the ops of one region by `cloner`, in its own way. They are given in an order in which
  /// they can run; `results` are the values that are read from elsewhere.
  using CopyOps =
      std::function<void(Cloner& cloner, std::span<const Op> ops, std::span<const Var> results)>;

  Cloner(Graph& source, Graph& target, Replace replace = {}, CopyOps copy_ops = {});

  /// Makes `copy` stand for `original`.
  void map(Var original, Var copy);
  /// Returns what stands for `original`; throws InternalError when it was not copied.
  Var operator()(Var original) const;
  std::vector<Var> operator()(std::span<const Var> originals) const;
  /// Copies one op into the target's current region and returns its outputs there.
  std::vector<Var> copy(Op op);
  /// Copies one op with these inputs, of the target, and attributes, of the source, instead of its
  /// own; what stands for its outputs is for the caller to say.
  Op copy_with(Op op, const std::vector<Var>& inputs, const Attrs& attrs);
  /// Does so for several ops of one kind, which become one op: it waits for what any of them does.
  Op copy_together(std::span<const Op> ops, const std::vector<Var>& inputs, const Attrs& attrs);
  /// Returns a shape of the source as it is in the target.
  Dims renamed(const Dims& shape) const;
  /// Copies ops of one region, in the way that it was given or one by one.
  void copy_all(std::span<const Op> ops, std::span<const Var> results);
  /// Returns the copy of an op that was copied as it is.
  Op twin(Op op) const;
  Graph& source() const { return source_; }
  Graph& target() const { return target_; }
  /// Copies a region, or shares it when that is the same.
  RegionId copy_region(RegionId region);

 private:
  // Order that effects imply is made anew; what the user asked for is a required edge.
  std::vector<Op> copies_it_waits_for(Op op) const;
  void rename_fresh_dims(const Dims& original, const Dims& copy);

  Graph& source_;
  Graph& target_;
  Replace replace_;
  CopyOps copy_ops_;
  IdMap<VarId, VarId> copies_;
  IdMap<OpId, OpId> op_copies_;
  std::unordered_map<std::uint32_t, Dim> renamed_dims_;
};

/// Builds the ops of a region in the current region, with `arguments` for its parameters, and
/// returns its results.
std::vector<Var> inline_region(Graph& graph, RegionId region, std::span<const Var> arguments);

}  // namespace antichain
