#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/row_update_parts.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain {

namespace {

std::string add_row_state(Graph& graph, const std::string& state_name, Var start) {
  graph.add_state({state_name, {start.dtype(), start.shape()}, start});
  assign(graph, state_name, start);
  return state_name;
}

GradientUse sample_use(Graph& graph, bool when) {
  return {scalar(graph, boolean, when ? 1 : 0), scalar(graph, f64, 0.75), 1.25};
}

// A use of an op on a state with so many rows.
struct RowSample {
  const char* label;
  SampleInput gradient;
  std::int64_t rows;
  std::vector<SampleInput> selection = {};
  bool when = true;
  bool wide = false;  // where the state has 16 bits
};

enum class Gradients { of_the_state, wider_too };

std::vector<RowSample> row_uses(Gradients gradients) {
  const auto gradient = [](Shape shape) {
    return SampleInput{.shape = std::move(shape), .fixed_size = true};
  };
  const auto of_ids = [](std::vector<std::int64_t> ids) {
    const auto count = static_cast<std::int64_t>(ids.size());
    SampleInput input = indices_of({count}, std::move(ids));
    input.fixed_size = true;
    return std::vector<SampleInput>{input};
  };
  const SampleInput marks = {
      .shape = {4}, .dtype = DType::boolean, .values = {1, 0, 0, 1}, .fixed_size = true};
  const SampleInput zeros_among = {
      .shape = {4, 3}, .values = {1, -2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, .fixed_size = true};
  std::vector<RowSample> uses = {{"all rows", gradient({37, 19}), 37},
                                 {"rows of zeros stay", zeros_among, 4},
                                 {"ids", gradient({5, 19}), 37, of_ids({3, 30, 0, 36, 7})},
                                 {"ids and none", zeros_among, 7, of_ids({5, 0, 2, -1})},
                                 {"many rows", gradient({700, 33}), 700},
                                 {"marks", gradient({4, 3}), 4, {marks}},
                                 {"three axes", gradient({2, 3, 2}), 5, of_ids({4, 1})},
                                 {"vector", gradient({3}), 5, of_ids({1, 4, 2})},
                                 {"no ids", gradient({0, 3}), 4, of_ids({})},
                                 {"not now", gradient({5, 2}), 5, {}, false}};
  if (gradients == Gradients::wider_too) {
    uses.push_back({"marks, a sum in f32", gradient({4, 37}), 4, {marks}, true, true});
  }
  return uses;
}

template <class Build>
std::vector<Sample> row_samples(Gradients gradients, Build build) {
  std::vector<Sample> samples;
  for (const RowSample& use : row_uses(gradients)) {
    std::vector<SampleInput> inputs = {use.gradient};
    inputs.insert(inputs.end(), use.selection.begin(), use.selection.end());
    samples.push_back({use.label, inputs, [use, build](Graph& graph, std::span<const Var> in) {
                         Dims shape = in[0].shape();
                         shape[0] = use.rows;
                         std::vector<Var> given(in.begin(), in.end());
                         if (use.wide) {
                           given[0] = cast(in[0], buffer_dtype(in[0].dtype()));
                         }
                         return build(graph, std::span<const Var>(given), shape, use.when,
                                      in[0].dtype());
                       }});
  }
  return samples;
}

// A gradient that is a product: five values in two rows, for three of seven rows of a state; and
// rows that are added to it.
template <class Build>
Sample product_sample(bool matrix, bool adds_rows, Build build) {
  std::vector<SampleInput> inputs = {{{5}},
                                     indices_of({4}, {5, 0, 2, -1}),
                                     indices_of({5}, {0, 2, 2, 1, 0}),
                                     indices_of({3}, {0, 3, 5}),
                                     {{2, matrix ? 19 : 1}}};
  if (adds_rows) {
    inputs.insert(inputs.end(), {SampleInput{{4, matrix ? 19 : 1}}, indices_of({4}, {1, 0, 1, 2})});
  }
  for (SampleInput& input : inputs) {
    input.fixed_size = true;
    input.dtype = input.dtype.value_or(DType::f64);  // products of 16 bits are not taken
  }
  return {
      std::string(matrix ? "a product" : "a product for a vector") + (adds_rows ? " and rows" : ""),
      inputs, [matrix, build](Graph& graph, std::span<const Var> in) {
        return build(graph, in, matrix ? Dims{7, 19} : Dims{7}, true, in[0].dtype());
      }};
}

}  // namespace

std::vector<Sample> row_update_samples(const OpDef& def, int states, std::size_t numbers) {
  const auto build_by = [=, &def](bool lock_free, Graph& graph, std::span<const Var> in,
                                  const Dims& shape, bool when, DType parameter) {
    std::vector<std::string> names;
    for (int i = 0; i < states; ++i) {
      const DType dtype = i == 0 ? parameter : buffer_dtype(parameter);
      names.push_back(
          add_row_state(graph, "sample" + std::to_string(i), full(graph, dtype, shape, 0.5 + i)));
    }
    std::vector<Operand> values;
    for (std::size_t i = 0; i < numbers; ++i) {
      values.emplace_back(0.875 - 0.0625 * static_cast<double>(i));
    }
    const Var selection = in.size() > 1 ? in[1] : Var();
    std::vector<Var> inputs = row_inputs(in[0], sample_use(graph, when), values, selection);
    if (in.size() > 2) {  // the other factors of a product
      inputs.insert(inputs.end(), in.begin() + 2, in.end());
    }
    Attrs attrs = update_attributes({names});
    attrs.set(kLockFree, lock_free);
    std::vector<Var> results = graph.add(def, inputs, attrs).outputs();
    for (std::size_t i = 1; i < names.size(); ++i) {
      results.push_back(read_state(graph, names[i]));
    }
    return results;
  };
  const auto build = [build_by](Graph& graph, std::span<const Var> in, const Dims& shape, bool when,
                                DType parameter) {
    return build_by(false, graph, in, shape, when, parameter);
  };
  const auto lock_free = [build_by](Graph& graph, std::span<const Var> in, const Dims& shape,
                                    bool when, DType parameter) {
    return build_by(true, graph, in, shape, when, parameter);
  };
  std::vector<Sample> samples = row_samples(Gradients::wider_too, build);
  for (const bool adds_rows : {false, true}) {
    samples.push_back(product_sample(true, adds_rows, build));
    samples.push_back(product_sample(false, adds_rows, build));
    // Of so few rows that one thread takes them all.
    samples.push_back(product_sample(true, adds_rows, lock_free));
    samples.back().label += ", lock-free";
  }
  return samples;
}

std::vector<Sample> accumulate_rows_samples() {
  const auto with = [](double keep) {
    return [keep](Graph& graph, std::span<const Var> in, const Dims& shape, bool when, DType) {
      const Dim rows = shape[0];
      const Var marks = less(modulo(iota(graph, DType::i64, rows), 3), 2);
      Dims column(shape.size(), 1);
      column[0] = rows;
      const Var start = select(reshape(marks, column), full(graph, in[0].dtype(), shape, 0.5), 0.0);
      const std::string sum = add_row_state(graph, "sum", start);
      const std::string marked = add_row_state(graph, "marks", marks);
      const Var selection = in.size() > 1 ? in[1] : Var();
      const Var result = graph
                             .add(accumulate_rows_update_def(),
                                  row_inputs(in[0], sample_use(graph, when), {keep}, selection),
                                  update_attributes({{sum, marked}}))
                             .output();
      return std::vector<Var>{result, read_state(graph, marked)};
    };
  };
  std::vector<Sample> samples = row_samples(Gradients::of_the_state, with(1));
  for (Sample& sample : row_samples(Gradients::of_the_state, with(0))) {
    sample.label += ", a new sum";
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace antichain
