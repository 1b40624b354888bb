#include "antichain/ops/vmap/vmap.h"

#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain {

namespace {

// The arguments with the mapped axis in front, of one size.
std::vector<Mapped> mapped_arguments(const std::vector<Var>& values, const MappedAxes& in_axes) {
  require(in_axes.empty() || in_axes.size() == values.size(),
          "vmap: there are axes for {} arguments, but {} arguments", in_axes.size(), values.size());
  std::vector<Mapped> arguments;
  Var first;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::optional<std::int64_t> axis = in_axes.empty() ? 0 : in_axes[i];
    Var value = values[i];
    if (axis) {
      require<ShapeError>(*axis >= -value.rank() && *axis < value.rank(),
                          "vmap: argument {}, {}, has no axis {}; its shape is {}", i, value, *axis,
                          to_string(value.shape()));
      value = *axis == 0 ? value : move_axis(value, *axis, 0);
      first = first.valid() ? first : value;
      require<ShapeError>(!never_equal(first.dim(0), value.dim(0)),
                          "vmap: arguments have {} and {} copies along their mapped axes",
                          first.dim(0).str(), value.dim(0).str());
      Dims shape = value.shape();
      shape[0] = first.dim(0);
      value = reshape(value, shape);
    }
    arguments.push_back({value, axis.has_value()});
  }
  require(first.valid(), "vmap: at least one argument must be mapped");
  return arguments;
}

Dim number_of_copies(const std::vector<Mapped>& arguments) {
  for (const Mapped& argument : arguments) {
    if (argument.is_mapped) {
      return argument.value.dim(0);
    }
  }
  return 1;
}

std::vector<Var> computed_for_all(const VarsFunction& f, const MappedAxes& in_axes,
                                  const std::vector<Var>& values, Place place) {
  require(!values.empty(), "vmap: the function needs an argument");
  Graph& graph = values[0].graph();
  const LocationGuard location(graph, place);
  std::vector<Mapped> arguments = mapped_arguments(values, in_axes);
  const Dim copies = number_of_copies(arguments);
  RegionScope scope(graph);
  // What is drawn depends on the number of the copy, as on that of a step of a chain.
  scope.step_param();
  std::vector<Var> params;
  for (const Mapped& argument : arguments) {
    const Dims& shape = argument.value.shape();
    params.push_back(scope.param(
        {argument.value.dtype(), argument.is_mapped ? Dims(shape.begin() + 1, shape.end()) : shape},
        argument.value.has_name() ? argument.value.name() : ""));
  }
  const std::vector<Var> returned = f(params);
  for (Var value : returned) {
    require(value.valid(), "vmap: the function returns no value");
  }
  const RegionId region = scope.finish(returned);
  const std::string reason = why_not_vmap(graph, region);
  require<NotSupported>(reason.empty(), "vmap: {}", reason);
  arguments.insert(arguments.begin(), {iota(graph, DType::i64, copies), true});
  for (Var capture : scope.captures()) {
    arguments.push_back({capture, false});
  }
  const std::vector<Mapped> found = vmap_region(graph, region, arguments, copies);
  std::vector<Var> results;
  for (std::size_t i = 0; i < found.size(); ++i) {
    results.push_back(with_mapped_axis(found[i], returned[i].shape(), copies));
  }
  return results;
}

}  // namespace

VarsFunction vmap(const VarsFunction& f, const MappedAxes& in_axes, Place place) {
  return [f, in_axes, place](const std::vector<Var>& values) {
    return computed_for_all(f, in_axes, values, place);
  };
}

VarFunction vmap(const VarFunction& f, std::int64_t axis, Place place) {
  return [f, axis, place](Var value) {
    const auto of_one = [&f](const std::vector<Var>& in) { return std::vector<Var>{f(in[0])}; };
    return computed_for_all(of_one, {axis}, {value}, place)[0];
  };
}

}  // namespace antichain
