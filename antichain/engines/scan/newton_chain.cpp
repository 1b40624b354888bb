#include "antichain/engines/scan/newton_chain.h"

#include "antichain/engines/scan/stacked_body.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/scans/affine_scan.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/reports.h"

namespace antichain::scan {

namespace {

// Some roundings above what steps themselves are wrong by.
constexpr double kTolerance32 = 1e-5, kTolerance64 = 1e-12;

// All states of a chain, T + 1 of them in the order of its positions: those before each step, and
// the last one behind them, or in front where the chain runs from the end.
class Trajectory {
 public:
  explicit Trajectory(Op chain)
      : length_(chain.attrs().get<Dim>("length")), reverse_(chain.attrs().get<bool>("reverse")) {}

  Var all(Var before, Var last) const {
    const Var row = expand_dims(last, 0);
    return concat(reverse_ ? Vars{row, before} : Vars{before, row}, 0);
  }
  Var same_everywhere(Var state) const {
    Dims shape = state.shape();
    shape.insert(shape.begin(), length_ + 1);
    return broadcast_to(expand_dims(state, 0), shape);
  }
  Var before(Var all) const { return reverse_ ? without_first(all) : without_end(all); }
  Var after(Var all) const { return reverse_ ? without_end(all) : without_first(all); }
  Var last(Var all) const {
    return squeeze(reverse_ ? split(all, {1, length_}, 0)[0] : split(all, {length_, 1}, 0)[1], 0);
  }

 private:
  Var without_first(Var all) const { return split(all, {1, length_}, 0)[1]; }
  Var without_end(Var all) const { return split(all, {length_, 1}, 0)[0]; }

  Dim length_;
  bool reverse_;
};

// The largest magnitude; 0 of nothing, for chains without a step and batches without an example.
Var largest(Var value) {
  const Var none = zeros(value.graph(), value.dtype(), {1});
  return max(concat({reshape(abs(value), {-1}), none}, 0));
}

// What an iteration starts from, and how good it is.
struct Iterate {
  Var all;       // states, [time + 1, batch_axes..., size]
  Var misses;    // what each step makes of the state before it, less the state after it
  Var residual;  // the largest of these
  Var size;      // of the largest state
  Var count;     // of iterations so far

  Var relative_residual() const { return residual / size; }
  Vars values() const { return {all, misses, residual, size, count}; }
  static Iterate of(const Vars& values) {
    return {values[0], values[1], values[2], values[3], values[4]};
  }
};

class Newton {
 public:
  Newton(Op chain, const NewtonOptions& options)
      : chain_(chain),
        options_(options),
        joint_(chain),
        trajectory_(chain),
        tolerance_(newton_tolerance(chain, options)) {}

  Vars run() const {
    const Iterate first = iterate_at(trajectory_.same_everywhere(initial()), Var());
    const std::int64_t most = options_.iterations;
    const LoopResult found = loop(
        first.values(),
        [&](const Vars& s) {
          const Iterate now = Iterate::of(s);
          return logical_and(logical_not(converged(now)),
                             logical_and(is_finite(now.residual), less(now.count, most)));
        },
        [&](const Vars& s) { return improved(Iterate::of(s)).values(); }, {}, chain_.location());
    const Iterate end = Iterate::of(found.last);
    return cond(
        reported(converged(end), end), [&] { return outputs_at(end.all); },
        [&] { return outputs_step_by_step(end); }, {}, chain_.location());
  }

 private:
  Var initial() const {
    const Vars inputs = chain_.inputs();
    return joint_.join({inputs.begin(), inputs.begin() + ChainLayout(chain_).states});
  }

  StackedBody steps_at(Var all) const {
    return StackedBody(chain_, joint_.cut(trajectory_.before(all)));
  }

  Iterate iterate_at(Var all, Var count) const {
    const Var misses = joint_.join(steps_at(all).after()) - trajectory_.after(all);
    return {all, misses, largest(misses), largest(all),
            count.valid() ? count : scalar(all.graph(), DType::i64, 0)};
  }

  Iterate improved(const Iterate& now) const {
    const AffineScan change = affine_scan(steps_at(now.all).transposed_jacobians(), now.misses,
                                          zeros_like(trajectory_.last(now.all)),
                                          {.reverse = chain_.attrs().get<bool>("reverse"),
                                           .transposed = !joint_.is_diagonal(),
                                           .algorithm = options_.algorithm,
                                           .chunk = options_.chunk});
    return iterate_at(now.all + trajectory_.all(change.before, change.last), now.count + 1);
  }

  Var reported(Var carrier, const Iterate& end) const {
    if (!options_.keeps_reports) {
      return carrier;
    }
    carrier = with_report(carrier, "newton_iterations", end.count);
    return with_report(carrier, "newton_residual", end.relative_residual());
  }

  // False, too, for what is not a number.
  Var converged(const Iterate& now) const {
    return less_equal(now.residual, now.size * tolerance_);
  }

  Vars outputs_at(Var all) const {
    const StackedBody steps = steps_at(all);
    Vars outputs = joint_.cut(trajectory_.last(all));
    const Vars before = joint_.cut(trajectory_.before(all));
    outputs.insert(outputs.end(), before.begin(), before.end());
    for (int i = 0; i < ChainLayout(chain_).ys; ++i) {
      outputs.push_back(steps.y(i));
    }
    return outputs;
  }

  Vars outputs_step_by_step(const Iterate& end) const {
    Vars inputs = chain_.inputs();
    inputs[0] = options_.gave_up(inputs[0], end.relative_residual(), end.count);
    Attrs attrs = chain_.attrs();
    attrs.set("engine", std::string());
    const RegionId body = chain_.regions()[0];
    return chain_.graph().add(chain_def(), inputs, attrs, {body}, chain_.location()).outputs();
  }

  Op chain_;
  const NewtonOptions& options_;
  JointState joint_;
  Trajectory trajectory_;
  double tolerance_;
};

}  // namespace

std::string why_not_newton(Op chain) {
  const ChainLayout layout(chain);
  if (layout.states == 0) {
    return "nothing is carried between its steps";
  }
  for (int i = 0; i < layout.states; ++i) {
    const DType dtype = chain.input(i).dtype();
    if (dtype != DType::f32 && dtype != DType::f64) {
      return "it carries " + std::string(name(dtype)) + " and not only f32 or f64";
    }
  }
  return why_not_stacked(chain);
}

double newton_tolerance(Op chain, const NewtonOptions& options) {
  return options.tolerance > 0
             ? options.tolerance
             : (chain.input(0).dtype() == DType::f64 ? kTolerance64 : kTolerance32);
}

Vars newton_chain(Op chain, const NewtonOptions& options) { return Newton(chain, options).run(); }

}  // namespace antichain::scan
