#include "antichain/backends/cuda/chains/chain_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>

#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::cuda {

namespace {

using Kind = ChainValue::Kind;
using Source = ChainValue::Source;

struct Refusal {
  std::string why;
};

void want(bool holds, std::string_view why) {
  if (!holds) {
    throw Refusal{std::string(why)};
  }
}

std::int64_t constant_size(Dim dim) {
  want(dim.is_constant() && dim.constant() > 0, "the number of columns is not known, or is 0");
  return dim.constant();
}

class Reader {
 public:
  Reader(Op chain, ChainBody& body)
      : chain_(chain),
        graph_(chain.graph()),
        layout_(chain),
        params_(graph_.vars(graph_.region(chain.regions()[0]).params)),
        body_(body) {
    want(layout_.states > 0, "there is no state");
    want(chain.attrs().get<std::int64_t>("slots") == 0, "states are computed again");
    want(params_[1].rank() == 2 || params_[1].rank() == 3, "states are no matrices");
    rows_ = params_[1].dim(-2);
    body_.has_groups = params_[1].rank() == 3;
    for (int i = 0; i < layout_.states; ++i) {
      const Var state = params_[static_cast<std::size_t>(1 + i)];
      want(is_whole(state), "a state has other rows than the first");
      names_[state.id()] = add_value(Kind::rows, Source::state, state, i);
    }
    for (Op op : schedule_region(graph_, chain.regions()[0])) {
      read(op);
    }
    for (Var result : graph_.vars(graph_.region(chain.regions()[0]).results)) {
      want(is_whole(result), "a result has other rows than the states");
      body_.results.push_back(rows_of(result));
    }
    for (int i = 0; i < layout_.states; ++i) {
      put_aside_if_state(i);
    }
  }

 private:
  bool is_of_groups(Var value) const {
    return body_.has_groups && value.rank() == 3 && value.dim(0) == params_[1].dim(0);
  }
  // Whether all groups have one value, or each has its own.
  bool is_plain(Var value) const {
    return value.rank() < 3 || is_of_groups(value) || (value.rank() == 3 && value.dim(0) == Dim(1));
  }
  bool has_rows(Var value) const {
    return is_plain(value) && value.rank() >= 2 && value.dim(-2) == rows_;
  }
  bool is_one_row(Var value) const {
    return is_plain(value) && (value.rank() < 2 || value.dim(-2) == Dim(1));
  }
  // As the states are.
  bool is_whole(Var value) const {
    return has_rows(value) && value.rank() == params_[1].rank() &&
           is_of_groups(value) == body_.has_groups;
  }

  // The next value of a state may be that of another, which is overwritten as well.
  void put_aside_if_state(int state) {
    ChainOperand& result = body_.results[static_cast<std::size_t>(state)];
    const ChainValue& from = body_.values[static_cast<std::size_t>(result.value)];
    if (from.source == Source::state && result.value != state) {
      const ChainOperand aside{.value = static_cast<int>(body_.values.size()),
                               .columns = result.columns};
      body_.values.push_back({Kind::rows, Source::body, from.dtype, result.columns});
      body_.stages.emplace_back(ChainElements{.operands = {{VarId{}, result}},
                                              .results = {{VarId{}, aside.value, 0}},
                                              .columns = result.columns});
      result = aside;
    }
  }

  static std::int64_t columns_of(Var value) {
    return value.rank() == 0 ? 1 : constant_size(value.shape().back());
  }

  ChainOperand add_value(Kind kind, Source source, Var var, int input = -1) {
    const std::int64_t columns = columns_of(var);
    const std::int64_t height = kind == Kind::matrix ? constant_size(var.dim(-2)) : 1;
    body_.values.push_back({kind, source, var.dtype(), columns, height, input,
                            source != Source::body && is_of_groups(var)});
    return {.value = static_cast<int>(body_.values.size()) - 1, .columns = columns};
  }

  // What is read from outside is kept as it is used: a value may be a factor and rows, too.
  ChainOperand outer(Var value, Kind kind) {
    const auto view = views_.find(value.id());
    const Var given = view == views_.end() ? value : view->second;
    const auto at = static_cast<int>(std::ranges::find(params_, given) - params_.begin()) - 1;
    want(at >= layout_.states && at < chain_.num_inputs(), "an op reads what it must not");
    const auto [found, is_new] = outer_.try_emplace({at, kind, columns_of(value)});
    if (is_new) {
      const bool walks = at < layout_.first_captured();
      found->second = add_value(kind, walks ? Source::sequence : Source::captured, value, at);
    }
    return found->second;
  }

  ChainOperand rows_of(Var value) {
    if (const auto found = names_.find(value.id()); found != names_.end()) {
      want(body_.values[static_cast<std::size_t>(found->second.value)].kind == Kind::rows,
           "one row stands for all");
      return found->second;
    }
    want(has_rows(value), "an op reads other rows than the states have");
    return outer(value, Kind::rows);
  }

  // As an element-wise op reads it.
  ChainOperand operand(Var value) {
    if (const auto found = names_.find(value.id()); found != names_.end()) {
      return found->second;
    }
    if (value == params_[0]) {
      return {};
    }
    if (has_rows(value)) {
      return outer(value, Kind::rows);
    }
    want(is_one_row(value), "an op reads a value that is neither rows nor one row");
    return outer(value, Kind::shared);
  }

  void read(Op op) {
    if (&op.def() == &constant_def()) {
      want(op.output().rank() == 0, "there is a constant of several elements");
      names_[op.output().id()] = {.number = op};
    } else if (&op.def() == &matmul_def()) {
      read_product(op, op.inputs());
    } else if (&op.def() == &slice_def()) {
      read_slice(op);
    } else if (&op.def() == &concat_def()) {
      read_concat(op);
    } else if (&op.def() == &reshape_def()) {
      read_reshape(op);
    } else if (&op.def() == &fused_product_def()) {
      read_fused_product(op);
    } else if (&op.def() == &fused_def()) {
      const RegionInfo& region = graph_.region(op.regions()[0]);
      read_elements(region.ops, region.params, op.inputs(), region.results, op.outputs(),
                    op.attrs().get<bool>("contract"));
    } else {
      want(is_elementwise(op.def()), fmt::format("there is {}", op.def().name));
      const OpId id = op.id();
      const VarId output = op.output().id();
      read_elements(std::span(&id, 1), {}, {}, std::span(&output, 1), op.outputs());
    }
  }

  void read_product(Op op, const Vars& inputs) {
    const Var left = inputs[0], right = inputs[1], out = op.output();
    want(is_float(out.dtype()) && left.dtype() == out.dtype(), "there is a product of integers");
    want(has_rows(out) && !op.attrs().get<bool>("transpose_a") && is_plain(right),
         "a product mixes rows");
    want(!names_.contains(right.id()), "the matrix of a product is computed in every step");
    ChainProduct product{.left = rows_of(left),
                         .matrix = outer(right, Kind::matrix).value,
                         .out = -1,
                         .transposed = op.attrs().get<bool>("transpose_b")};
    const ChainOperand result = add_value(Kind::rows, Source::body, out);
    product.out = result.value;
    body_.stages.emplace_back(product);
    names_[out.id()] = result;
  }

  void read_fused_product(Op op) {
    const RegionInfo& region = graph_.region(op.regions()[0]);
    const Op product = product_of(op);
    Vars factors;
    for (const std::size_t input : product_inputs(op)) {
      factors.push_back(op.input(static_cast<int>(input)));
    }
    read_product(product, factors);
    std::vector<OpId> others;
    std::ranges::copy_if(region.ops, std::back_inserter(others),
                         [&](OpId id) { return !(id == product.id()); });
    read_elements(others, region.params, op.inputs(), region.results, op.outputs(),
                  op.attrs().get<bool>("contract"));
  }

  // `params` stand for `arguments`.
  void read_elements(std::span<const OpId> ops, std::span<const VarId> params,
                     const Vars& arguments, std::span<const VarId> results, const Vars& outputs,
                     bool contract = false) {
    ChainElements elements{.columns = -1, .contract = contract};
    std::unordered_map<VarId, Var> given;
    for (std::size_t i = 0; i < params.size(); ++i) {
      given.emplace(params[i], arguments[i]);
    }
    std::vector<VarId> computed;
    bool has_any_rows = false;
    const auto add_operand = [&](VarId id) {
      const auto is_it = [id](const auto& read) { return read.first == id; };
      if (std::ranges::count(computed, id) > 0 || std::ranges::any_of(elements.operands, is_it)) {
        return;
      }
      const auto found = given.find(id);
      const ChainOperand read = operand(found == given.end() ? graph_.var(id) : found->second);
      has_any_rows =
          has_any_rows || (read.value >= 0 &&
                           body_.values[static_cast<std::size_t>(read.value)].kind == Kind::rows);
      elements.operands.emplace_back(id, read);
    };
    for (const OpId id : ops) {
      const Op op = graph_.op(id);
      want(!reduces_rows(op), "rows are reduced");
      want(&op.def() != &constant_def() || op.output().rank() == 0,
           "there is a constant of several elements");
      for (Var input : op.inputs()) {
        add_operand(input.id());
      }
      elements.ops.push_back(op);
      computed.push_back(op.output().id());
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      add_operand(results[i]);  // where it is no result of these ops
      const Var output = outputs[i];
      const bool is_rows = has_rows(output) && has_any_rows;
      want(is_rows || (!has_any_rows && is_one_row(output)), "ops mix rows");
      const ChainOperand out = add_value(is_rows ? Kind::rows : Kind::shared, Source::body, output);
      want(elements.columns < 0 || elements.columns == out.columns,
           "ops that are computed together have other numbers of columns");
      elements.columns = out.columns;
      elements.results.push_back({results[i], out.value, 0});
      names_[output.id()] = out;
    }
    for (const auto& [id, read] : elements.operands) {
      want(read.value < 0 || read.columns == 1 || read.columns == elements.columns,
           "ops that are computed together have other numbers of columns");
    }
    body_.stages.emplace_back(std::move(elements));
  }

  // What comes from outside may be looked at in another way: a row as a matrix of one row.
  void read_reshape(Op op) {
    const Var from = op.input(0), to = op.output();
    const bool keeps_groups = is_of_groups(to) == (body_.has_groups && from.rank() > 0 &&
                                                   from.dim(0) == params_[1].dim(0));
    want(std::ranges::count(params_, from) > 0 && keeps_groups && is_plain(to),
         "values are reshaped");
    views_.emplace(to.id(), from);
  }

  void read_slice(Op op) {
    const Var x = op.input(0);
    ChainOperand whole = rows_of(x);
    const Dims &starts = op.attrs().get<Dims>("starts"), &stops = op.attrs().get<Dims>("stops");
    const Ints& steps = op.attrs().get<Ints>("steps");
    const std::size_t last = starts.size() - 1;
    for (std::size_t axis = 0; axis < last; ++axis) {
      want(starts[axis] == Dim(0) && stops[axis] == x.dim(static_cast<int>(axis)) &&
               steps[axis] == 1,
           "a slice cuts other axes than the last");
    }
    want(steps[last] == 1, "a slice leaves columns out");
    want(starts[last].is_constant(), "a slice starts at a place that is not known yet");
    whole.first += starts[last].constant();
    whole.columns = constant_size(stops[last] - starts[last]);
    names_[op.output().id()] = whole;
  }

  void read_concat(Op op) {
    const int rank = op.output().rank();
    want(has_rows(op.output()) &&
             normalize_axis(op.attrs().get<std::int64_t>("axis"), rank, "axis") == rank - 1,
         "rows are joined along another axis than the last");
    const ChainOperand out = add_value(Kind::rows, Source::body, op.output());
    std::int64_t first = 0;
    for (Var part : op.inputs()) {
      const ChainOperand from = rows_of(part);
      body_.stages.emplace_back(ChainElements{.operands = {{part.id(), from}},
                                              .results = {{part.id(), out.value, first}},
                                              .columns = from.columns});
      first += from.columns;
    }
    names_[op.output().id()] = out;
  }

  Op chain_;
  Graph& graph_;
  ChainLayout layout_;
  Vars params_;
  ChainBody& body_;
  Dim rows_;
  std::unordered_map<VarId, ChainOperand> names_;
  std::unordered_map<VarId, Var> views_;                               // of what comes from outside
  std::map<std::tuple<int, Kind, std::int64_t>, ChainOperand> outer_;  // with columns
};

}  // namespace

ChainBody::ChainBody(Op chain) {
  try {
    Reader(chain, *this);
  } catch (const Refusal& refusal) {
    support = Support::no(refusal.why);
  }
}

}  // namespace antichain::cuda
