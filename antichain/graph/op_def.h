// OpDef: everything Antichain knows about an operator, in one place.
//
// An operator is a constant of this type. Nothing else is registered anywhere: builders refer to
// the constant, kernels are keyed by it, and the catalogue is the list of them. What a field leaves
// empty is derived: without `vjp` the op is differentiated through `decompose`; without `jvp` by
// transposing its vjp; without `vmap` many copies of it are computed through `decompose`.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "antichain/graph/attrs.h"
#include "antichain/graph/var.h"

namespace antichain {

class InferContext;   // antichain/graph/infer_context.h
class VjpContext;     // antichain/graph/derivative_context.h
class JvpContext;     // antichain/graph/derivative_context.h
class VmapContext;    // antichain/graph/vmap_context.h
class KernelContext;  // antichain/graph/kernel_context.h

/// Says what an op does beside computing its outputs; ops with an effect keep their order. The
/// states that an op reads or writes: its attributes "state", "state_1", ... (state_names.h).
enum class Effect { none, reads_state, writes_state, external };

/// Describes one input of a sample: its shape and what to fill it with.
struct SampleInput {
  Shape shape;
  double low = -2, high = 2;  // range of the values; integers are drawn from [low, high)
  std::optional<DType> dtype = std::nullopt;  // unset: every type in OpDef::dtypes in turn
  std::vector<std::int64_t> values = {};      // exact contents instead of random ones
  bool fixed_size = false;                    // its size decides a rank, so it cannot be symbolic
};

/// A small use of an op, for conformance tests of every backend and derivative.
struct Sample {
  std::string label;
  std::vector<SampleInput> inputs;
  std::function<std::vector<Var>(Graph&, std::span<const Var>)> build;
};

/// A local rule that replaces an op by something equal and cheaper.
struct Rewrite {
  std::string name;
  /// Returns replacements for the op's outputs, built in the op's graph, or nothing when the rule
  /// does not apply.
  std::function<std::optional<std::vector<Var>>(Op)> apply;
  /// Shows the rule at work: builds a use on which it must fire.
  Sample example;
};

/// Says that an output is an input after further work on it: of the same type, and in the same
/// memory where nobody reads the input afterwards. It is there even if nobody reads it.
struct WorkedOn {
  int input, output;
};

/// Says how much memory an op works in.
struct WorkspaceSize {
  std::size_t bytes = 0;
  /// Per region: how many of them, from the start, must stay as they are while it runs. None: all.
  std::vector<std::size_t> held = {};
};

/// Says how an op computes when the channels (axis 1) of values [n, c, spatial...] are kept last:
/// which inputs and outputs are such values, and the attributes that it then has. Other outputs
/// have the elements that they had, in the same order.
struct ChannelsLast {
  std::vector<int> inputs, outputs;
  Attrs attrs;
};

struct OpDef {
  std::string name;
  std::string doc;
  std::vector<AttrSpec> attributes = {};
  DTypeSet dtypes = kFloats;  // element types of the inputs that samples leave open
  Effect effect = Effect::none;
  bool shape_from_data = false;  // some output sizes are known only when the op has run
  bool forwards = false;  // sets its outputs to values that exist already: a state, a constant
  /// Its reference computes nothing itself: it moves values, by KernelContext::device, and runs
  /// regions. So it works on the memory of any backend.
  bool on_any_device = false;
  bool reads_values = false;  // so its reference waits for the device: which way to go

  std::function<std::vector<VarType>(InferContext&)> infer;
  /// Returns a gradient per input (none for those that VjpContext does not need).
  std::function<std::vector<Var>(VjpContext&)> vjp = nullptr;
  /// Returns a tangent per output.
  std::function<std::vector<Var>(JvpContext&)> jvp = nullptr;
  std::string no_gradient = {};  // why there is no derivative
  /// vmap, the batching rule: returns the outputs for all copies of the op at once, each with the
  /// mapped axis in front; nothing where it does not apply to this use, which then goes through
  /// `decompose` or, where the op says so, copy by copy.
  std::function<std::optional<std::vector<Var>>(VmapContext&)> vmap = nullptr;
  std::string vmap_serially = {};  // why vmap computes copies one by one where no rule applies
  std::string no_vmap = {};        // why there are no copies to compute
  /// Builds the same outputs from more basic ops.
  std::function<std::vector<Var>(Op)> decompose = nullptr;
  std::vector<Rewrite> rewrites = {};
  std::function<void(KernelContext&)> reference = nullptr;
  /// Returns what the reference works in (KernelContext::workspace), from layouts alone.
  std::function<WorkspaceSize(const KernelContext&)> workspace = nullptr;
  std::function<std::vector<WorkedOn>(Op)> works_on = nullptr;
  /// Returns the output as a view of the first input, from its layout alone; an undefined tensor
  /// when that layout does not allow it, and the reference has to copy.
  std::function<Tensor(const KernelContext&)> view = nullptr;
  /// Returns how the op computes with channels last, where it can. (Element-wise ops need no rule.)
  std::function<std::optional<ChannelsLast>(Op)> channels_last = nullptr;
  std::function<std::vector<Sample>()> samples = nullptr;
};

}  // namespace antichain
