// vmap: a function of values computed for many copies of its arguments at once.
//
// vmap(f)(xs) is what f gives for each position of the mapped axis, stacked: the same as a chain
// over that axis that carries no state, draws of random numbers included, but without a step per
// copy: ops take one more axis, by the rules of OpDef::vmap. It composes with grad, vjp, jvp and
// itself in any order. So vmap of a function that calls grad gives gradients per example.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "antichain/ops/operand.h"

namespace antichain {

/// By argument: the axis that counts the copies; none for an argument that all copies share.
using MappedAxes = std::vector<std::optional<std::int64_t>>;

using VarsFunction = std::function<std::vector<Var>(const std::vector<Var>&)>;
using VarFunction = std::function<Var(Var)>;

/// Returns the function that computes `f` for every position of the mapped axes of its arguments
/// (negative ones count from the end; without `in_axes` axis 0 of all). Results have the mapped
/// axis in front. `f` is called once, with values of one copy; values of the graph that it uses
/// beside its arguments are shared by all copies. What it draws without a key of its own is drawn
/// for each copy; with one key, or a key from outside, copies draw the same. The function throws
/// NotSupported where f changes states, prints, or has sizes that only a run finds out.
VarsFunction vmap(const VarsFunction& f, const MappedAxes& in_axes = {},
                  Place place = Place::current());
/// Does so for a function of one value.
VarFunction vmap(const VarFunction& f, std::int64_t axis = 0, Place place = Place::current());

}  // namespace antichain
