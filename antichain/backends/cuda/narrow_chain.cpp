#include "antichain/backends/cuda/narrow_chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/backends/cuda/element_code.h"

namespace antichain::cuda {

namespace {

using Kind = ChainValue::Kind;
using Source = ChainValue::Source;

constexpr std::int64_t kMostUnits = 32;
constexpr std::int64_t kMostWeights = 128;  // numbers of matrices that a lane keeps
constexpr std::int64_t kMostValues = 48;    // other numbers

std::int64_t units_of(const ChainBody& body) { return body.values[0].columns; }

// Values are one number, the same in all lanes, or some numbers per lane.
bool is_number(std::int64_t columns) { return columns == 1; }
std::int64_t registers_of(std::int64_t columns, std::int64_t units) {
  return is_number(columns) ? 1 : columns / units;
}

std::string why_not_value(const ChainValue& value, std::int64_t units) {
  if (value.dtype != DType::f32) {
    return "a value is not f32";
  }
  if (value.kind == Kind::matrix || value.kind == Kind::shared) {
    return value.source == Source::captured || value.kind == Kind::shared
               ? ""
               : "a matrix differs from step to step";
  }
  return is_number(value.columns) || value.columns % units == 0 ? "" : "a value has other columns";
}

bool fits(const ChainOperand& operand, const ChainBody& body, std::int64_t columns) {
  if (operand.value < 0) {
    return true;
  }
  const std::int64_t units = units_of(body),
                     whole = body.values[static_cast<std::size_t>(operand.value)].columns;
  return is_number(operand.columns)
             ? is_number(whole)
             : operand.columns == columns && whole % units == 0 && operand.first % units == 0;
}

std::string why_not_stage(const ChainProduct& product, const ChainBody& body) {
  const std::int64_t units = units_of(body);
  const ChainValue& out = body.values[static_cast<std::size_t>(product.out)];
  const bool wide = product.left.columns % units == 0 && out.columns % units == 0 &&
                    !is_number(product.left.columns) && !is_number(out.columns);
  return wide && fits(product.left, body, product.left.columns) ? ""
                                                                : "a product has other columns";
}

std::string why_not_stage(const ChainElements& elements, const ChainBody& body) {
  const std::int64_t units = units_of(body);
  bool all = is_number(elements.columns) || elements.columns % units == 0;
  for (const auto& [id, operand] : elements.operands) {
    all = all && fits(operand, body, elements.columns);
  }
  for (const ChainElements::Result& result : elements.results) {
    const ChainValue& to = body.values[static_cast<std::size_t>(result.value)];
    all = all && to.kind == Kind::rows && result.first % units == 0 &&
          is_number(to.columns) == is_number(elements.columns);
  }
  return all ? "" : "element-wise ops cut values otherwise";
}

class Writer {
 public:
  Writer(Op chain, const ChainBody& body)
      : chain_(chain), layout_(chain), body_(body), units_(units_of(body)) {}

  ChainKernel write() {
    std::string text = head();
    text += read_once();
    text += read_ahead("r", "r");
    text += fmt::format(
        "  for (long long base = 0; base < a.length; base += kAhead) {{\n"
        "#pragma unroll\n    for (int r = 0; r < kAhead; ++r) {{\n"
        "      const long long n = base + r;\n      if (n >= a.length) continue;\n"
        "      const long long at = {};\n",
        place_of("n"));
    text += take_step();
    for (int i = 0; i < layout_.states; ++i) {
      text += write_out(layout_.first_before() + i, {.value = i, .columns = columns_of(i)}, "at");
    }
    for (std::size_t i = 0; i < body_.stages.size(); ++i) {
      text += std::visit([&](const auto& stage) { return code_of(stage, i); }, body_.stages[i]);
    }
    for (int i = 0; i < layout_.ys; ++i) {
      const auto y = static_cast<std::size_t>(layout_.states + i);
      text += write_out(layout_.first_y() + i, body_.results[y], "at");
    }
    text += hand_over() + "    }\n  }\n";
    for (int i = 0; i < layout_.states; ++i) {
      text += write_out(i, {.value = i, .columns = columns_of(i)}, "0");
    }
    return {text + "}\n", static_cast<std::size_t>(shared_floats_) * sizeof(float)};
  }

 private:
  const ChainValue& value(int index) const { return body_.values[static_cast<std::size_t>(index)]; }
  std::int64_t columns_of(int index) const { return value(index).columns; }
  std::int64_t registers(int index) const { return registers_of(columns_of(index), units_); }
  std::string place_of(std::string_view step) const {
    return chain_.attrs().get<bool>("reverse") ? fmt::format("a.length - 1 - ({})", step)
                                               : std::string(step);
  }
  // The register of an operand that belongs to the n-th piece of a result.
  std::string name_of(const ChainOperand& operand, std::int64_t piece) const {
    return fmt::format("v{}_{}", operand.value,
                       is_number(operand.columns) ? 0 : operand.first / units_ + piece);
  }

  std::string head() const {
    std::int64_t walking = 0;
    for (const ChainValue& kept : body_.values) {
      walking += kept.source == Source::sequence ? registers_of(kept.columns, units_) : 0;
    }
    return fmt::format(
        "#include \"antichain/backends/cuda/device/chain.cuh\"\n"
        "using namespace antichain;\nusing namespace antichain::device;\n"
        "constexpr int kUnits = {}, kAhead = {};\n"
        "struct Arguments {{\n  long long length, rows;\n  const void* in[{}];\n  void* "
        "out[{}];\n}};\n"
        "extern \"C\" __global__ void __launch_bounds__(32) chain(const Arguments a) {{\n"
        "  extern __shared__ Column<float, 4> memory[];\n"
        "  const int lane = threadIdx.x;\n"
        "  const bool owns = lane < kUnits;\n"
        "  const int unit = owns ? lane : kUnits - 1;\n"
        "  const long long row = blockIdx.x;\n",
        units_,
        walking <= 2   ? 8
        : walking <= 6 ? 4
                       : 2,
        chain_.num_inputs(), chain_.num_outputs());
  }

  // Where a lane finds its number of a value's piece; `step` where it walks.
  std::string address(int index, std::int64_t piece, std::string_view step) const {
    const ChainValue& kept = value(index);
    const std::string rows = kept.kind == Kind::rows ? " * a.rows + row" : "";
    const std::string number =
        is_number(kept.columns) ? "0" : fmt::format("{} * kUnits + unit", piece);
    return fmt::format("((const float*)a.in[{}])[(({}){}) * {} + {}]", kept.input,
                       kept.source == Source::sequence ? step : "0", rows, kept.columns, number);
  }

  // States and what stays the same over all steps.
  std::string read_once() {
    std::string text;
    for (int i = 0; i < static_cast<int>(body_.values.size()); ++i) {
      const ChainValue& kept = value(i);
      const bool walks = kept.source == Source::sequence, is_state = kept.source == Source::state;
      if (kept.kind == Kind::matrix || kept.source == Source::body) {
        continue;
      }
      for (std::int64_t j = 0; j < registers(i); ++j) {
        text += walks ? fmt::format("  float q{}_{}[kAhead];\n", i, j)
                      : fmt::format("  {}float v{}_{} = {};\n", is_state ? "" : "const ", i, j,
                                    address(i, j, "0"));
      }
    }
    for (std::size_t i = 0; i < body_.stages.size(); ++i) {
      if (const auto* product = std::get_if<ChainProduct>(&body_.stages[i])) {
        text += read_matrix(*product, i);
      }
    }
    return text + "  __syncwarp();\n";
  }

  // The lane's columns, and memory for what is multiplied: twice, so that a step may write while
  // lanes still read that of the step before.
  std::string read_matrix(const ChainProduct& product, std::size_t stage) {
    const ChainValue& matrix = value(product.matrix);
    const std::int64_t inner = product.left.columns, padded = (inner + 3) / 4 * 4;
    std::string text = fmt::format(
        "  Column<float, 4>* const m{0} = memory + {1};\n"
        "  for (int i = lane; i < {2}; i += 32) m{0}[i] = {{}};\n",
        stage, shared_floats_ / 4, 2 * padded / 4);
    shared_floats_ += 2 * padded;
    for (std::int64_t j = 0; j < registers(product.out); ++j) {
      const std::string place =
          product.transposed ? fmt::format("({} * kUnits + unit) * {} + k", j, matrix.columns)
                             : fmt::format("k * {} + {} * kUnits + unit", matrix.columns, j);
      text += fmt::format(
          "  float w{0}_{1}[{2}];\n#pragma unroll\n"
          "  for (int k = 0; k < {2}; ++k) w{0}_{1}[k] = k < {3} ? ((const float*)a.in[{4}])[{5}] "
          ": "
          "0.0f;\n",
          stage, j, padded, inner, matrix.input, place);
    }
    return text;
  }

  // Reads the sequences of a step, if there is one, into the registers of slot r.
  std::string fetch(std::string_view step) const {
    std::string text;
    for (int i = 0; i < static_cast<int>(body_.values.size()); ++i) {
      for (std::int64_t j = 0; value(i).source == Source::sequence && j < registers(i); ++j) {
        text += fmt::format("        q{}_{}[r] = {};\n", i, j, address(i, j, place_of(step)));
      }
    }
    return text.empty() ? text
                        : fmt::format("      if ({} < a.length) {{\n{}      }}\n", step, text);
  }
  std::string read_ahead(std::string_view slot, std::string_view step) const {
    const std::string text = fetch(step);
    return text.empty()
               ? text
               : fmt::format("#pragma unroll\n  for (int {} = 0; {} < kAhead; ++{}) {{\n{}  }}\n",
                             slot, slot, slot, text);
  }

  std::string take_step() const {
    std::string text;
    for (int i = 0; i < static_cast<int>(body_.values.size()); ++i) {
      const Source source = value(i).source;
      for (std::int64_t j = 0; value(i).kind != Kind::matrix && j < registers(i); ++j) {
        text += source == Source::sequence
                    ? fmt::format("      const float v{0}_{1} = q{0}_{1}[r];\n", i, j)
                : source == Source::body ? fmt::format("      float v{}_{};\n", i, j)
                                         : "";
      }
    }
    return text + fetch("n + kAhead");
  }

  std::string code_of(const ChainProduct& product, std::size_t stage) const {
    const std::int64_t inner = product.left.columns, fours = (inner + 3) / 4;
    std::string text = fmt::format(
        "      {{\n        float* const own = &m{}[(n % 2) * {}].rows[0];\n        if (owns) {{\n",
        stage, fours);
    for (std::int64_t j = 0; j < inner / units_; ++j) {
      text += fmt::format("          own[{} * kUnits + unit] = {};\n", j, name_of(product.left, j));
    }
    text += "        }\n        __syncwarp();\n";
    for (std::int64_t j = 0; j < registers(product.out); ++j) {
      text += fmt::format("        float s{}[4] = {{}};\n", j);
    }
    text += fmt::format(
        "#pragma unroll\n        for (int k = 0; k < {}; ++k) {{\n"
        "          const Column<float, 4> four = ((const Column<float, 4>*)own)[k];\n"
        "#pragma unroll\n          for (int m = 0; m < 4; ++m) {{\n",
        fours);
    for (std::int64_t j = 0; j < registers(product.out); ++j) {
      text += fmt::format(
          "            s{0}[m] = multiply_add(four.rows[m], w{1}_{0}[4 * k + m], s{0}[m]);\n", j,
          stage);
    }
    text += "          }\n        }\n";
    for (std::int64_t j = 0; j < registers(product.out); ++j) {
      text += fmt::format("        v{0}_{1} = (s{1}[0] + s{1}[1]) + (s{1}[2] + s{1}[3]);\n",
                          product.out, j);
    }
    return text + "      }\n";
  }

  std::string code_of(const ChainElements& elements, std::size_t) const {
    std::string text;
    for (std::int64_t piece = 0; piece < registers_of(elements.columns, units_); ++piece) {
      ValueNames names;
      text += "      {\n";
      const auto new_name = [&names](VarId id) {
        return names[id] = fmt::format("x{}", names.size());
      };
      for (const auto& [id, read] : elements.operands) {
        const std::string from = read.value >= 0
                                     ? name_of(read, piece)
                                     : (read.number.valid() ? element_code(read.number, {}) : "at");
        text += fmt::format("        const auto {} = {};\n", new_name(id), from);
      }
      for (Op op : elements.ops) {
        const std::string code = element_code(op, names, elements.contract);
        text += fmt::format("        const auto {} = {};\n", new_name(op.output().id()), code);
      }
      for (const ChainElements::Result& result : elements.results) {
        const std::int64_t first = is_number(elements.columns) ? 0 : result.first / units_ + piece;
        text += fmt::format("        v{}_{} = {};\n", result.value, first, names.at(result.from));
      }
      text += "      }\n";
    }
    return text;
  }

  std::string write_out(int output, const ChainOperand& from, std::string_view step) const {
    std::string text = fmt::format(
        "      if (a.out[{0}] && owns) {{\n        float* const to = (float*)a.out[{0}] + ({1} * "
        "a.rows + row) * {2};\n",
        output, step, from.columns);
    if (is_number(from.columns)) {
      text += fmt::format("        if (lane == 0) to[0] = {};\n", name_of(from, 0));
    }
    for (std::int64_t j = 0; !is_number(from.columns) && j < from.columns / units_; ++j) {
      text += fmt::format("        to[{} * kUnits + unit] = {};\n", j, name_of(from, j));
    }
    return text + "      }\n";
  }

  // The results become the states; none of them is another state.
  std::string hand_over() const {
    std::string text;
    for (int i = 0; i < layout_.states; ++i) {
      for (std::int64_t j = 0; j < registers(i); ++j) {
        text += fmt::format("      v{}_{} = {};\n", i, j,
                            name_of(body_.results[static_cast<std::size_t>(i)], j));
      }
    }
    return text;
  }

  Op chain_;
  ChainLayout layout_;
  const ChainBody& body_;
  std::int64_t units_, shared_floats_ = 0;
};

}  // namespace

Support narrow_chain_support(const ChainBody& body) {
  if (!body.support.yes) {
    return body.support;
  }
  const std::int64_t units = units_of(body);
  if (units < 2 || units > kMostUnits) {
    return Support::no("a state has more units than a warp has lanes, or one");
  }
  std::int64_t numbers = 0, weights = 0;
  for (const ChainValue& value : body.values) {
    if (const std::string reason = why_not_value(value, units); !reason.empty()) {
      return Support::no(reason);
    }
    numbers += value.kind == Kind::matrix ? 0 : registers_of(value.columns, units);
  }
  for (const ChainStage& stage : body.stages) {
    const std::string reason =
        std::visit([&](const auto& one) { return why_not_stage(one, body); }, stage);
    if (!reason.empty()) {
      return Support::no(reason);
    }
    if (const auto* product = std::get_if<ChainProduct>(&stage)) {
      weights += product->left.columns *
                 registers_of(body.values[static_cast<std::size_t>(product->out)].columns, units);
    }
  }
  for (const ChainOperand& result : body.results) {
    if (!fits(result, body, result.columns) || result.value < 0 ||
        body.values[static_cast<std::size_t>(result.value)].kind != Kind::rows) {
      return Support::no("a result is cut otherwise");
    }
  }
  return weights <= kMostWeights && numbers <= kMostValues
             ? Support{}
             : Support::no("its values do not fit into registers");
}

ChainKernel narrow_chain_kernel(Op chain, const ChainBody& body) {
  return Writer(chain, body).write();
}

}  // namespace antichain::cuda
