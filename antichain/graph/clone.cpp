#include "antichain/graph/clone.h"

#include "antichain/graph/traversal.h"

namespace antichain {

Cloner::Cloner(Graph& source, Graph& target, Replace replace, CopyOps copy_ops)
    : source_(source),
      target_(target),
      replace_(std::move(replace)),
      copy_ops_(std::move(copy_ops)) {}

void Cloner::map(Var original, Var copy) { copies_[original.id()] = copy.id(); }

Var Cloner::operator()(Var original) const {
  const VarId copy = copies_(original.id());
  ensure(copy.valid(), "value {} was not copied", original);
  return target_.var(copy);
}

Op Cloner::twin(Op op) const {
  const OpId twin = op_copies_(op.id());
  ensure(twin.valid(), "{} was not copied", op);
  return target_.op(twin);
}

std::vector<Var> Cloner::operator()(std::span<const Var> originals) const {
  std::vector<Var> copies;
  copies.reserve(originals.size());
  for (Var original : originals) {
    copies.push_back((*this)(original));
  }
  return copies;
}

std::vector<Op> Cloner::copies_it_waits_for(Op op) const {
  std::vector<Op> result;
  for (const ControlEdge& edge : op.control_edges()) {
    if (const OpId before = op_copies_(edge.before); edge.required && before.valid()) {
      result.push_back(target_.op(before));
    }
  }
  return result;
}

Op Cloner::copy_with(Op op, const std::vector<Var>& inputs, const Attrs& attrs) {
  return copy_together({&op, 1}, inputs, attrs);
}

Op Cloner::copy_together(std::span<const Op> ops, const std::vector<Var>& inputs,
                         const Attrs& attrs) {
  const Op first = ops[0];
  const LocationGuard location(target_, first.location(), /*force=*/true);
  std::vector<RegionId> regions;
  for (RegionId region : first.regions()) {
    regions.push_back(copy_region(region));
  }
  std::vector<Op> earlier;
  for (Op op : ops) {
    const std::vector<Op> more = copies_it_waits_for(op);
    earlier.insert(earlier.end(), more.begin(), more.end());
  }
  const Op twin = target_.add(first.def(), inputs,
                              renamed_dims_.empty() ? attrs : attrs.substitute(renamed_dims_),
                              std::move(regions), first.location(),
                              earlier.empty() ? Sharing::of_equal_ops : Sharing::none);
  for (Op op : ops) {
    op_copies_[op.id()] = twin.id();
  }
  // Edges that effects imply were made by add(); an edge that stands there twice does no harm.
  for (Op before : earlier) {
    target_.add_control_edge(before, twin);
  }
  return twin;
}

Dims Cloner::renamed(const Dims& shape) const {
  return renamed_dims_.empty() ? shape : substitute(shape, renamed_dims_);
}

std::vector<Var> Cloner::copy(Op op) {
  const Op twin = copy_with(op, (*this)(op.inputs()), op.attrs());
  const LocationGuard location(target_, op.location(), /*force=*/true);
  std::vector<Var> outputs = replace_ ? replace_(twin) : twin.outputs();
  for (int i = 0; i < op.num_outputs(); ++i) {
    const Var original = op.output(i), copied = outputs[static_cast<std::size_t>(i)];
    map(original, copied);
    rename_fresh_dims(original.shape(), copied.shape());
    if (&source_ != &target_ && original.has_name() && !copied.has_name()) {
      target_.set_name(copied, original.name());
    }
  }
  return outputs;
}

void Cloner::copy_all(std::span<const Op> ops, std::span<const Var> results) {
  if (copy_ops_) {
    copy_ops_(*this, ops, results);
    return;
  }
  for (Op op : ops) {
    copy(op);
  }
}

void Cloner::rename_fresh_dims(const Dims& original, const Dims& copy) {
  for (std::size_t i = 0; i < original.size() && i < copy.size(); ++i) {
    if (!(original[i] == copy[i]) && original[i].is_symbol()) {
      renamed_dims_.emplace(original[i].symbol(), copy[i]);
    }
  }
}

RegionId Cloner::copy_region(RegionId region) {
  if (&source_ == &target_ && renamed_dims_.empty() && !replace_ && !copy_ops_) {
    return region;
  }
  Cloner inner(source_, target_, replace_, copy_ops_);
  inner.renamed_dims_ = renamed_dims_;
  RegionScope scope(target_);
  for (Var param : source_.vars(source_.region(region).params)) {
    VarType type = param.type();
    type.shape = substitute(type.shape, renamed_dims_);
    if (type.value) {
      type.value = substitute(*type.value, renamed_dims_);
    }
    const std::string name = param.has_name() ? param.name() : "";
    inner.map(param, scope.param(type, name));
  }
  const std::vector<Var> results = source_.vars(source_.region(region).results);
  inner.copy_all(schedule_region(source_, region), results);
  return scope.finish(inner(results));
}

std::vector<Var> inline_region(Graph& graph, RegionId region, std::span<const Var> arguments) {
  const RegionInfo& info = graph.region(region);
  ensure(info.params.size() == arguments.size(), "a region with {} parameters gets {} arguments",
         info.params.size(), arguments.size());
  Cloner cloner(graph, graph);
  const std::vector<Var> params = graph.vars(info.params);
  for (std::size_t i = 0; i < params.size(); ++i) {
    cloner.map(params[i], graph.capture(arguments[i]));
  }
  for (Op op : schedule_region(graph, region)) {
    cloner.copy(op);
  }
  return cloner(graph.vars(info.results));
}

}  // namespace antichain
