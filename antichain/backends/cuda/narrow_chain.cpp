#include "antichain/backends/cuda/narrow_chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/backends/cuda/element_code.h"

namespace antichain::cuda {

namespace {

using Kind = ChainValue::Kind;
using Source = ChainValue::Source;

constexpr std::int64_t kMostUnits = 32, kSlots = 16;  // steps that are read ahead, and one
constexpr std::int64_t kMostWeights = 128;            // numbers of matrices that a lane keeps
constexpr std::int64_t kMostValues = 48;              // other numbers

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
    std::string inside = read_once();
    inside += fmt::format(
        "#pragma unroll\n  for (int n = 0; n < kAhead; ++n) {{\n{}  }}\n"
        "#pragma unroll 4\n  for (long long n = 0; n < a.length; ++n) {{\n"
        "    const long long at = {};\n    wait_for_copies<kAhead - 1>();\n",
        fetch("n"), chain_.attrs().get<bool>("reverse") ? "a.length - 1 - n" : "n");
    inside += take_step();
    for (int i = 0; i < layout_.states; ++i) {
      inside += write_out(layout_.first_before() + i, {.value = i, .columns = columns_of(i)});
    }
    for (std::size_t i = 0; i < body_.stages.size(); ++i) {
      inside += std::visit([&](const auto& stage) { return code_of(stage, i); }, body_.stages[i]);
    }
    for (int i = 0; i < layout_.ys; ++i) {
      const auto y = static_cast<std::size_t>(layout_.states + i);
      inside += write_out(layout_.first_y() + i, body_.results[y]);
    }
    inside += hand_over() + move_pointers() + "  }\n  wait_for_copies<0>();\n";
    for (int i = 0; i < layout_.states; ++i) {
      inside += write_out(i, {.value = i, .columns = columns_of(i)});
    }
    return {head() + outputs_at_start() + inside + "}\n",
            static_cast<std::size_t>(shared_floats_) * sizeof(float)};
  }

 private:
  const ChainValue& value(int index) const { return body_.values[static_cast<std::size_t>(index)]; }
  std::int64_t columns_of(int index) const { return value(index).columns; }
  std::int64_t registers(int index) const { return registers_of(columns_of(index), units_); }
  // The register of an operand that belongs to the n-th piece of a result.
  std::string name_of(const ChainOperand& operand, std::int64_t piece) const {
    return fmt::format("v{}_{}", operand.value,
                       is_number(operand.columns) ? 0 : operand.first / units_ + piece);
  }

  std::string head() const {
    return fmt::format(
        "#include \"antichain/backends/cuda/device/chain.cuh\"\n"
        "using namespace antichain;\nusing namespace antichain::device;\n"
        "constexpr int kUnits = {}, kSlots = {}, kAhead = kSlots - 1;\n"
        "struct Arguments {{\n  long long length, rows;\n  const void* in[{}];\n  void* "
        "out[{}];\n}};\n"
        "extern \"C\" __global__ void __launch_bounds__(32) chain(const Arguments a) {{\n"
        "  extern __shared__ Column<float, 4> memory[];\n"
        "  const int lane = threadIdx.x;\n"
        "  const bool owns = lane < kUnits;\n"
        "  const int unit = owns ? lane : kUnits - 1;\n"
        "  const long long row = blockIdx.x, first = {};\n",
        units_, kSlots, chain_.num_inputs(), chain_.num_outputs(),
        chain_.attrs().get<bool>("reverse") ? "a.length - 1" : "0");
  }
  std::string_view sign() const { return chain_.attrs().get<bool>("reverse") ? "-" : ""; }

  // From step to step, in elements.
  static std::string stride_of(const ChainValue& kept) {
    return kept.kind == Kind::rows ? fmt::format("a.rows * {}", kept.columns)
                                   : std::to_string(kept.columns);
  }
  // Where a lane finds its number of a value's piece, at the first step.
  std::string address(int index, std::int64_t piece) const {
    const ChainValue& kept = value(index);
    std::string place = is_number(kept.columns) ? "0" : fmt::format("{} * kUnits + unit", piece);
    if (kept.kind == Kind::rows) {
      place += fmt::format(" + row * {}", kept.columns);
    }
    if (kept.source == Source::sequence) {
      place += fmt::format(" + first * ({})", stride_of(kept));
    }
    return fmt::format("(const float*)a.in[{}] + {}", kept.input, place);
  }

  // States and what stays the same over all steps. What walks is read ahead into a ring of steps:
  // every lane reads what it has copied itself.
  std::string read_once() {
    std::string text;
    for (int i = 0; i < static_cast<int>(body_.values.size()); ++i) {
      const ChainValue& kept = value(i);
      if (kept.kind == Kind::matrix || kept.source == Source::body) {
        continue;
      }
      for (std::int64_t j = 0; j < registers(i); ++j) {
        if (kept.source == Source::sequence) {
          text += fmt::format(
              "  const float* p{0}_{1} = {2};\n"
              "  float* const q{0}_{1} = &memory[{3}].rows[0] + lane;\n",
              i, j, address(i, j), shared_floats_ / 4);
          shared_floats_ += kSlots * kMostUnits;
        } else {
          text += fmt::format("  {}float v{}_{} = *({});\n",
                              kept.source == Source::state ? "" : "const ", i, j, address(i, j));
        }
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

  // Begins to read the sequences of step `n`, if there is one, and moves on to the next.
  std::string fetch(std::string_view n) const {
    std::string copies, moves;
    for (int i = 0; i < static_cast<int>(body_.values.size()); ++i) {
      for (std::int64_t j = 0; value(i).source == Source::sequence && j < registers(i); ++j) {
        copies +=
            fmt::format("      copy_later(q{0}_{1} + ({2}) % kSlots * 32, p{0}_{1});\n", i, j, n);
        moves += fmt::format("    p{}_{} += {}({});\n", i, j, sign(), stride_of(value(i)));
      }
    }
    return fmt::format("    if ({} < a.length) {{\n{}    }}\n{}    end_copies();\n", n, copies,
                       moves);
  }

  std::string take_step() const {
    std::string text;
    for (int i = 0; i < static_cast<int>(body_.values.size()); ++i) {
      const Source source = value(i).source;
      for (std::int64_t j = 0; value(i).kind != Kind::matrix && j < registers(i); ++j) {
        text += source == Source::sequence
                    ? fmt::format("    const float v{0}_{1} = q{0}_{1}[n % kSlots * 32];\n", i, j)
                : source == Source::body ? fmt::format("    float v{}_{};\n", i, j)
                                         : "";
      }
    }
    return text + fetch("n + kAhead");
  }

  std::string code_of(const ChainProduct& product, std::size_t stage) const {
    const std::int64_t inner = product.left.columns, fours = (inner + 3) / 4;
    std::string text = fmt::format(
        "      {{\n        float* const own = &m{}[int(n % 2) * {}].rows[0];\n        if (owns) "
        "{{\n",
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

  // Who walks along the outputs: those of the last states stay where they are.
  std::string outputs_at_start() const {
    std::string text;
    for (int i = 0; i < chain_.num_outputs(); ++i) {
      const std::int64_t columns = columns_of_output(i);
      const std::string start = i < layout_.states ? "0" : "first";
      text += fmt::format(
          "  float* o{0} = (float*)a.out[{0}] + ({1} * a.rows + row) * {2} + {3};\n"
          "  const bool w{0} = a.out[{0}] != nullptr && {4};\n",
          i, start, columns, is_number(columns) ? "0" : "unit",
          is_number(columns) ? "lane == 0" : "owns");
    }
    return text;
  }
  std::string move_pointers() const {
    std::string text;
    for (int i = layout_.states; i < chain_.num_outputs(); ++i) {
      text += fmt::format("    o{} += {}(a.rows * {});\n", i, sign(), columns_of_output(i));
    }
    return text;
  }
  std::int64_t columns_of_output(int output) const {
    const Dims& shape = chain_.output(output).shape();
    return shape.back().constant();
  }

  std::string write_out(int output, const ChainOperand& from) const {
    std::string text = fmt::format("    if (w{}) {{\n", output);
    for (std::int64_t j = 0; j < registers_of(from.columns, units_); ++j) {
      text += fmt::format("      o{}[{} * kUnits] = {};\n", output, j, name_of(from, j));
    }
    return text + "    }\n";
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
