#include "antichain/ops/scans/weighted_scan.h"

#include <algorithm>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/reference/weighted_scan_reference.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

constexpr int kWeights = WeightedInputs::weights, kInitial = WeightedInputs::initial,
              kFirstCoefficient = WeightedInputs::first_coefficient;

void require_form(const InferContext& context, const WeightedForm& form) {
  const auto is_state = [&](std::int64_t part) { return part >= 0 && part < form.states; };
  require(form.states > 0, "weighted_scan: a state must have a part or more, got {}", form.states);
  const auto weights = static_cast<std::int64_t>(form.weight_to.size());
  bool fits = std::ranges::all_of(form.weight_to, is_state);
  for (const auto& [to, from] : form.diagonals) {
    fits = fits && is_state(to) && is_state(from);
  }
  for (const auto& [weight, from] : form.products) {
    fits = fits && weight >= 0 && weight < weights && is_state(from);
  }
  require(fits, "weighted_scan: its form names a part or a weight that is not there");
  const auto& algorithm = context.attrs().get<std::string>("algorithm");
  const auto chunk = context.attrs().get<std::int64_t>("chunk");
  require(algorithm.empty() || algorithm == kScanSerial || algorithm == kScanChunked,
          "weighted_scan: there is no algorithm '{}'; there are serial and chunked", algorithm);
  require(chunk >= 0, "weighted_scan: a chunk must have a step or more, got {}", chunk);
}

std::vector<VarType> infer_weighted_scan(InferContext& context) {
  const WeightedForm form = WeightedForm::of(context.attrs());
  require_form(context, form);
  const auto coefficients = static_cast<int>(form.diagonals.size() + form.products.size());
  const bool adds = context.attrs().get<bool>("adds");
  require(
      adds || coefficients > 0,
      "weighted_scan: nothing says how many steps there are; it has neither b nor coefficients");
  const int end = kFirstCoefficient + coefficients;
  context.require_inputs(end + (adds ? 1 : 0));
  context.require_dtype(0, kFloats);
  const DType dtype = context.require_same_dtype();
  context.require_rank(kWeights, 3);
  context.require_min_rank(kInitial, 1);
  context.require_min_rank(kFirstCoefficient, 2);
  const Dims &weights = context.shape(kWeights), &initial = context.shape(kInitial);
  context.unify(weights[0], Dim(static_cast<std::int64_t>(form.weight_to.size())),
                "number of weights and the form's");
  context.unify(weights[1], weights[2], "rows and columns of a weight");
  context.unify(initial.back(), weights[1] * form.states,
                "sizes of initial and of all parts of a state");
  Dims all = initial, part = initial;
  part.back() = weights[1];
  for (Dims* dims : {&all, &part}) {
    dims->insert(dims->begin(), context.shape(kFirstCoefficient)[0]);
  }
  for (int i = kFirstCoefficient; i < end; ++i) {
    context.unify(context.shape(i), part, "shapes of a coefficient and of a part of all states");
  }
  if (adds) {
    context.unify(context.shape(end), all, "shapes of b and of all states");
  }
  std::vector<VarType> results = {{dtype, all}, {dtype, initial}};
  if (context.attrs().get<bool>("factors")) {
    results.insert(results.end(), form.weight_to.size(), {dtype, part});
  }
  return results;
}

// Copies are more places, which have the axis behind the steps; weights must be the same in all.
std::optional<std::vector<Var>> vmap_weighted_scan(VmapContext& context) {
  if (context.is_mapped(kWeights)) {
    return std::nullopt;
  }
  Vars inputs = {context.value(kWeights), context.repeated(kInitial)};
  for (int i = kFirstCoefficient; i < context.num_inputs(); ++i) {
    inputs.push_back(move_axis(context.repeated(i), 0, 1));
  }
  Vars found = context.same_op(inputs, context.attrs());
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = i == 1 ? found[i] : move_axis(found[i], 1, 0);  // the last states have no time
  }
  return found;
}

Var part_of(Var joint, std::int64_t part, std::int64_t parts, Dim units) {
  return parts == 1
             ? joint
             : slice(joint, {{.axis = -1, .start = units * part, .stop = units * (part + 1)}});
}

void add_to(Var& sum, Var term) { sum = sum.valid() ? sum + term : term; }

// Step by step, for backends without a kernel, and for derivatives.
std::vector<Var> decompose_weighted_scan(Op op) {
  const WeightedForm form = WeightedForm::of(op.attrs());
  const Dim units = op.input(kWeights).dim(1);
  const std::size_t num_weights = form.weight_to.size();
  const bool adds = op.attrs().get<bool>("adds"), returns_factors = op.attrs().get<bool>("factors");
  Vars weights, xs;
  for (std::size_t k = 0; k < num_weights; ++k) {
    weights.push_back(index(op.input(kWeights), 0, static_cast<std::int64_t>(k)));
  }
  for (int i = kFirstCoefficient; i < op.num_inputs(); ++i) {
    xs.push_back(op.input(i));
  }
  const auto step = [&](Var, const Vars& s, const Vars& x) -> StepResult {
    Vars before, next(static_cast<std::size_t>(form.states)), u(num_weights);
    for (std::int64_t part = 0; part < form.states; ++part) {
      before.push_back(part_of(s[0], part, form.states, units));
      if (adds) {
        next[static_cast<std::size_t>(part)] = part_of(x.back(), part, form.states, units);
      }
    }
    std::size_t coefficient = 0;
    for (const auto& [to, from] : form.diagonals) {
      add_to(next[static_cast<std::size_t>(to)],
             x[coefficient++] * before[static_cast<std::size_t>(from)]);
    }
    for (const auto& [weight, from] : form.products) {
      add_to(u[static_cast<std::size_t>(weight)],
             x[coefficient++] * before[static_cast<std::size_t>(from)]);
    }
    for (std::size_t k = 0; k < num_weights; ++k) {
      if (u[k].valid()) {
        add_to(next[static_cast<std::size_t>(form.weight_to[k])],
               matmul(u[k], weights[k], {.transpose_b = true}));
      }
    }
    for (Var& part : next) {
      part = part.valid() ? part : zeros_like(before[0]);
    }
    if (!returns_factors) {
      u.clear();
    }
    for (Var& factors : u) {
      factors = factors.valid() ? factors : zeros_like(before[0]);
    }
    return {{form.states == 1 ? next[0] : concat(next, -1)}, u};
  };
  const ChainResult found = chain({op.input(kInitial)}, xs, step,
                                  {.reverse = op.attrs().get<bool>("reverse")}, op.location());
  Vars results = {found.before[0], found.last[0]};
  results.insert(results.end(), found.ys.begin(), found.ys.end());
  return results;
}

std::vector<Sample> weighted_scan_samples() {
  const WeightedForm rnn{1, {0}, {}, {{0, 0}}}, gru{1, {0, 0}, {{0, 0}}, {{0, 0}, {1, 0}}},
      lstm{2, {0, 0}, {{1, 1}, {0, 1}}, {{0, 0}, {0, 1}, {1, 1}}};
  const auto sample = [](std::string label, const WeightedForm& form, std::int64_t steps,
                         std::int64_t units, const AffineScanOptions& options, bool adds = true,
                         bool factors = false) -> Sample {
    const auto weights = static_cast<std::int64_t>(form.weight_to.size());
    std::vector<SampleInput> inputs = {{{weights, units, units}, -1, 1},
                                       {{2, form.states * units}, -1, 1}};
    inputs.insert(inputs.end(), form.diagonals.size() + form.products.size(),
                  {{steps, 2, units}, -1, 1});
    if (adds) {
      inputs.push_back({{steps, 2, form.states * units}, -1, 1});
    }
    return {
        std::move(label), inputs, [form, options, adds, factors](Graph& graph, Inputs in) -> Vars {
          const auto first = in.begin() + kFirstCoefficient,
                     second = first + static_cast<std::ptrdiff_t>(form.diagonals.size()),
                     end = second + static_cast<std::ptrdiff_t>(form.products.size());
          const AffineScan found = weighted_scan(form,
                                                 {.weights = in[kWeights],
                                                  .initial = in[kInitial],
                                                  .diagonals = {first, second},
                                                  .coefficients = {second, end},
                                                  .b = adds ? *end : Var()},
                                                 options);
          if (!factors) {
            return {found.before, found.last};
          }
          Attrs attrs = found.last.producer().attrs();
          attrs.set("factors", true);
          return graph.add(weighted_scan_def(), found.last.producer().inputs(), attrs).outputs();
        }};
  };
  return {sample("one weight", rnn, 4, 3, {}),
          sample("one weight, reverse", rnn, 3, 2, {.reverse = true}),
          sample("two weights and a diagonal", gru, 4, 3, {}),
          sample("two parts", lstm, 3, 2, {.reverse = true}),
          sample("serial", gru, 5, 2, {.algorithm = kScanSerial}),
          sample("chunks", lstm, 7, 3, {.algorithm = kScanChunked, .chunk = 2}),
          sample("chunks, reverse", rnn, 6, 5,
                 {.reverse = true, .algorithm = kScanChunked, .chunk = 3}),
          sample("nothing is added", gru, 5, 3, {.reverse = true}, false),
          sample("nothing is added, chunks", lstm, 5, 2, {.algorithm = kScanChunked, .chunk = 2},
                 false),
          sample("with factors", gru, 5, 3, {.reverse = true}, false, true),
          sample("with factors, two parts", lstm, 4, 2, {}, true, true),
          sample("one step", rnn, 1, 2, {}),
          sample("no step", gru, 0, 2, {})};
}

}  // namespace

WeightedForm WeightedForm::of(const Attrs& attrs) {
  WeightedForm form{.states = attrs.get<std::int64_t>("states"),
                    .weight_to = attrs.get<Ints>("weight_to")};
  const Ints &diagonals = attrs.get<Ints>("diagonals"), &products = attrs.get<Ints>("products");
  require(diagonals.size() % 2 == 0 && products.size() % 2 == 0,
          "weighted_scan: diagonals and products are listed in pairs");
  for (std::size_t i = 0; i < diagonals.size(); i += 2) {
    form.diagonals.push_back({diagonals[i], diagonals[i + 1]});
  }
  for (std::size_t i = 0; i < products.size(); i += 2) {
    form.products.push_back({products[i], products[i + 1]});
  }
  return form;
}

bool fits_weighted_scan(const WeightedForm& form, std::int64_t units) {
  constexpr std::int64_t kMostStates = 2, kMostNumbers = 128, kMostWeightNumbers = 128 * 128;
  constexpr std::size_t kMostWeights = 4, kMostListed = 16;
  const std::size_t weights = form.weight_to.size();
  return units > 0 && form.states <= kMostStates && form.states * units <= kMostNumbers &&
         weights > 0 && weights <= kMostWeights &&
         static_cast<std::int64_t>(weights) * units * units <= kMostWeightNumbers &&
         !form.products.empty() && form.products.size() <= kMostListed &&
         form.diagonals.size() <= kMostListed;
}

const OpDef& weighted_scan_def() {
  static const OpDef def{
      .name = "weighted_scan",
      .doc =
          "The states of a recurrence before each step, and the last; its matrices are weights "
          "that stay the same, times diagonals, and diagonals.",
      .attributes = {{"states", "parts of a state", {std::int64_t{1}}},
                     {"weight_to", "by weight: the part that its products are added to"},
                     {"diagonals", "pairs: the part that is added to, and the one multiplied"},
                     {"products", "pairs: the weight, and the part that is multiplied before"},
                     {"adds", "something is added in each step: the last input", {true}},
                     {"factors", "returns what weights are multiplied by, too", {false}},
                     {"reverse", "from the last step to the first", {false}},
                     {"algorithm", "serial or chunked; empty: chosen by sizes", {std::string()}},
                     {"chunk",
                      "steps that belong together; 0: chosen by sizes",
                      {std::int64_t{0}}}},
      .infer = infer_weighted_scan,
      .vmap = vmap_weighted_scan,
      .decompose = decompose_weighted_scan,
      .reference = weighted_scan_reference,
      .samples = weighted_scan_samples,
  };
  return def;
}

AffineScan weighted_scan(const WeightedForm& form, const WeightedScanInputs& inputs,
                         const AffineScanOptions& options) {
  Ints diagonals, products;
  for (const auto& [to, from] : form.diagonals) {
    diagonals.insert(diagonals.end(), {to, from});
  }
  for (const auto& [weight, from] : form.products) {
    products.insert(products.end(), {weight, from});
  }
  std::vector<Operand> operands = {inputs.weights, inputs.initial};
  operands.insert(operands.end(), inputs.diagonals.begin(), inputs.diagonals.end());
  operands.insert(operands.end(), inputs.coefficients.begin(), inputs.coefficients.end());
  if (inputs.b.valid()) {
    operands.emplace_back(inputs.b);
  }
  const std::vector<Var> found = apply_all(weighted_scan_def(), operands,
                                           {{"states", form.states},
                                            {"weight_to", Ints(form.weight_to)},
                                            {"diagonals", diagonals},
                                            {"products", products},
                                            {"adds", inputs.b.valid()},
                                            {"reverse", options.reverse},
                                            {"algorithm", options.algorithm},
                                            {"chunk", options.chunk}});
  return {found[0], found[1]};
}

}  // namespace antichain
