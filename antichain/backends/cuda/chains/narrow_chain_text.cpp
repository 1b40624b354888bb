#include <fmt/format.h>

#include "antichain/backends/cuda/chains/block_states.h"
#include "antichain/backends/cuda/chains/narrow_chain.h"
#include "antichain/backends/cuda/chains/sum_starts.h"
#include "antichain/backends/cuda/elementwise/element_code.h"

namespace antichain::cuda {

namespace {

using Kind = ChainValue::Kind;
using Source = ChainValue::Source;

constexpr std::int64_t kMostAhead = 32;   // numbers of a product that are read before the first sum
constexpr std::int64_t kFewWeights = 32;  // of a lane, of short steps
constexpr std::int64_t kStepsKept = 32,
                       kStepsHeld = 48;  // of a sequence, as in device/step_blocks.cuh

// A step waits for one exchange of numbers between lanes after the other. Everything that no step
// waits for - stores, copies of later steps, reads of the next one - is written behind the first
// exchange, where lanes have nothing else to do. Where steps are short, all of a block are written
// out, and states that are exchanged as they are stay where lanes have put them until those of a
// block are stored together. (Longer ones would not fit where instructions are kept.)
class NarrowChainWriter {
 public:
  NarrowChainWriter(Op chain, const ChainBody& body)
      : chain_(chain),
        layout_(chain),
        body_(body),
        units_(narrow_units(body)),
        is_short_(count_weights() <= kFewWeights),
        starts_(body, units_),
        kept_(chain, body, is_short_) {}

  ChainKernel write() {
    const std::string inside =
        outputs_at_start() + read_once() + kept_.stores() + read_ahead() + take_step();
    const int unrolled = is_short_ ? 16 : 4;
    return {fmt::format("{}{}"
                        "  for (; done + kBlockSteps <= a.length; done += kBlockSteps) {{\n"
                        "#pragma unroll {}\n    for (int n = 0; n < kBlockSteps; ++n) "
                        "take_step(n, n == 0, n == kBlockSteps - 1);\n  }}\n"
                        "  if (done > 0) store_block();\n"
                        "#pragma unroll 1\n  for (int n = 0; done + n < a.length; ++n) "
                        "take_step(n, false, false);\n"
                        "  wait_for_copies<0>();\n  __syncwarp();\n"
                        "  store_kept(half, done == 0, int(a.length - done));\n{}}}\n",
                        head(), inside, unrolled, write_last()),
            static_cast<std::size_t>(shared_floats_) * sizeof(float)};
  }

 private:
  const ChainValue& value(int index) const { return body_.values[static_cast<std::size_t>(index)]; }
  int num_values() const { return static_cast<int>(body_.values.size()); }
  std::int64_t columns_of(int index) const { return value(index).columns; }
  std::int64_t registers(int index) const { return narrow_registers(columns_of(index), units_); }
  bool walks(int index) const {
    return value(index).source == Source::sequence && value(index).kind != Kind::matrix;
  }
  bool is_reversed() const { return chain_.attrs().get<bool>("reverse"); }

  std::int64_t count_weights() const {
    std::int64_t weights = 0;
    for (const ChainStage& stage : body_.stages) {
      if (const auto* const product = std::get_if<ChainProduct>(&stage)) {
        weights += product->left.columns * registers(product->out);
      }
    }
    return weights;
  }

  // Whether lanes exchange a number each.
  bool exchanges_units(const ChainProduct& product) const { return product.left.columns == units_; }
  // Steps that the memory of an exchange is for, and numbers of each: lanes without a unit write,
  // too, behind the others.
  std::string steps_held(std::size_t stage) const {
    return kept_.is_kept(stage) ? "kBlockSteps" : "2";
  }
  std::int64_t pitch_of(const ChainProduct& product) const {
    return exchanges_units(product) ? 32 : (product.left.columns + 3) / 4 * 4;
  }
  // The register of an operand that belongs to the n-th piece of a result.
  std::string name_of(const ChainOperand& operand, std::int64_t piece) const {
    return fmt::format("v{}_{}", operand.value,
                       is_one_number(operand.columns) ? 0 : operand.first / units_ + piece);
  }

  std::string head() const {
    return fmt::format(
        "#include \"antichain/backends/cuda/device/chain.cuh\"\n"
        "#include \"antichain/backends/cuda/device/step_blocks.cuh\"\n"
        "using namespace antichain;\nusing namespace antichain::device;\n"
        "constexpr int kUnits = {};\n"
        "struct Arguments {{\n  long long length, rows;\n  const void* in[{}];\n  void* "
        "out[{}];\n}};\n"
        "extern \"C\" __global__ void __launch_bounds__(32) chain(const Arguments a) {{\n"
        "  extern __shared__ Column<float, 4> memory[];\n"
        "  const int lane = threadIdx.x;\n"
        "  const bool owns = lane < kUnits;\n"
        "  const int unit = owns ? lane : kUnits - 1;\n"
        "  const long long row = blockIdx.x, first = {};\n",
        units_, chain_.num_inputs(), chain_.num_outputs(), is_reversed() ? "a.length - 1" : "0");
  }

  std::string memory_of(std::int64_t floats) {
    const std::int64_t at = shared_floats_ / 4;
    shared_floats_ += (floats + 3) / 4 * 4;
    return fmt::format("memory + {}", at);
  }

  // From step to step, in elements.
  static std::string stride_of(const ChainValue& kept) {
    return kept.kind == Kind::rows ? fmt::format("a.rows * {}", kept.columns)
                                   : std::to_string(kept.columns);
  }

  // States, sequences and what stays the same over all steps.
  std::string read_once() {
    std::string text;
    for (int i = 0; i < num_values(); ++i) {
      const ChainValue& kept = value(i);
      if (kept.kind == Kind::matrix || kept.source == Source::body) {
        continue;
      }
      const std::string row =
          kept.kind == Kind::rows ? fmt::format(" + row * {}", kept.columns) : "";
      if (walks(i)) {
        text += fmt::format(
            "  StepBlocks<{1}> s{0}((const float*)a.in[{2}]{3} + first * ({4}), {5}({4}), "
            "&({6})->rows[0]);\n  const float* r{0};\n",
            i, kept.columns, kept.input, row, stride_of(kept), is_reversed() ? "-" : "",
            memory_of(kStepsHeld * kept.columns));
        continue;
      }
      for (std::int64_t j = 0; j < registers(i); ++j) {
        text += fmt::format("  {}float v{}_{} = ((const float*)a.in[{}]{})[{}];\n",
                            kept.source == Source::state ? "" : "const ", i, j, kept.input, row,
                            lane_place(kept.columns, j));
      }
    }
    for (std::size_t i = 0; i < body_.stages.size(); ++i) {
      if (const auto* product = std::get_if<ChainProduct>(&body_.stages[i])) {
        text += read_matrix(*product, i);
      }
    }
    return text + "  __syncwarp();\n";
  }
  static std::string lane_place(std::int64_t columns, std::int64_t piece) {
    return is_one_number(columns) ? "0" : fmt::format("{} * kUnits + unit", piece);
  }

  // The lane's columns, and memory for what is multiplied: of two steps, so that one may write
  // while lanes still read that of the step before, or of two blocks, the first of which is stored.
  std::string read_matrix(const ChainProduct& product, std::size_t stage) {
    const ChainValue& matrix = value(product.matrix);
    const std::int64_t inner = product.left.columns, padded = (inner + 3) / 4 * 4;
    const std::int64_t floats = (kept_.is_kept(stage) ? kStepsKept : 2) * pitch_of(product);
    std::string text = fmt::format(
        "  Column<float, 4>* const m{0} = {1};\n"
        "  for (int i = lane; i < {2}; i += 32) m{0}[i] = {{}};\n",
        stage, memory_of(floats), floats / 4);
    for (std::int64_t j = 0; j < registers(product.out); ++j) {
      const std::string place =
          product.transposed ? fmt::format("({} * kUnits + unit) * {} + k", j, matrix.columns)
                             : fmt::format("k * {} + {} * kUnits + unit", matrix.columns, j);
      text += fmt::format(
          "  float w{0}_{1}[{2}];\n#pragma unroll\n"
          "  for (int k = 0; k < {2}; ++k) w{0}_{1}[k] = k < {3} ? ((const float*)a.in[{4}])[{5}] "
          ": 0.0f;\n",
          stage, j, padded, inner, matrix.input, place);
    }
    return text;
  }

  // Blocks of steps are on their way; the values of the first step are there.
  std::string read_ahead() const {
    std::string fetches, enters, reads;
    for (int i = 0; i < num_values(); ++i) {
      if (walks(i)) {
        fetches += fmt::format("    s{}.fetch(fetched, left);\n", i);
        enters += fmt::format("    r{0} = s{0}.at(entered){1};\n", i,
                              is_one_number(columns_of(i)) ? "" : " + unit");
        for (std::int64_t j = 0; j < registers(i); ++j) {
          reads += fmt::format("  float v{0}_{1} = r{0}[{1} * kUnits];\n", i, j);
        }
      }
    }
    return fmt::format(
        "  long long left = a.length;\n  int fetched = 0, entered = 0;\n"
        "  const auto fetch = [&] {{\n{}    end_copies();\n    left -= kBlockSteps;\n"
        "    fetched = fetched + 1 == kBlocksHeld ? 0 : fetched + 1;\n  }};\n"
        "  const auto enter = [&] {{\n    wait_for_copies<kBlocksHeld - 2>();\n"
        "    __syncwarp();\n{}    entered = entered + 1 == kBlocksHeld ? 0 : entered + 1;\n  }};\n"
        "#pragma unroll\n  for (int i = 0; i < kBlocksHeld - 1; ++i) fetch();\n  enter();\n{}",
        fetches, enters, reads);
  }

  std::string take_step() const {
    std::string text = fmt::format(
        "  const auto take_step = [&](int n, bool begins, bool ends) {{\n"
        "    const long long at = {}(done + n);\n",
        is_reversed() ? "a.length - 1 - " : "");
    for (int i = 0; i < num_values(); ++i) {
      for (std::int64_t j = 0; value(i).source == Source::body && j < registers(i); ++j) {
        text += fmt::format("    float v{}_{};\n", i, j);
      }
    }
    bool waited = false;
    for (std::size_t i = 0; i < body_.stages.size(); ++i) {
      if (const auto* product = std::get_if<ChainProduct>(&body_.stages[i])) {
        text += exchange(*product, i) + (waited ? "" : meanwhile()) + sums_of(*product, i);
        waited = true;
      } else {
        text += code_of(std::get<ChainElements>(body_.stages[i]));
      }
    }
    text += waited ? "" : meanwhile();
    for (int i = 0; i < layout_.ys; ++i) {
      const auto y = static_cast<std::size_t>(layout_.states + i);
      text += write_out(layout_.first_y() + i, body_.results[y]);
    }
    return text + hand_over() + "  };\n";
  }

  std::string meanwhile() const {
    std::string text;
    for (int i = 0; i < layout_.states; ++i) {
      text += write_out(layout_.first_before() + i, {.value = i, .columns = columns_of(i)});
    }
    text +=
        "    if (begins && done > 0) store_block();\n    if (begins) fetch();\n"
        "    if (ends) {\n      enter();\n      half = 1 - half;\n    }\n"
        "    const int next = ends ? 0 : n + 1;\n";
    for (int i = 0; i < num_values(); ++i) {
      for (std::int64_t j = 0; walks(i) && j < registers(i); ++j) {
        text += fmt::format("    const float x{0}_{1} = r{0}[next * {2} + {1} * kUnits];\n", i, j,
                            columns_of(i));
      }
    }
    return text;
  }

  // Lanes give what is multiplied to each other. All of it is asked for before the first sum: the
  // compiler would rather save registers.
  std::string exchange(const ChainProduct& product, std::size_t stage) const {
    const std::int64_t inner = product.left.columns, fours = (inner + 3) / 4;
    std::string text =
        fmt::format("    float* const own{0} = &m{0}[({1} + n % {2}) * {3}].rows[0];\n", stage,
                    kept_.is_kept(stage) ? "half * kBlockSteps" : "0", steps_held(stage),
                    pitch_of(product) / 4);
    if (exchanges_units(product)) {
      text += fmt::format("    own{}[lane] = {};\n", stage, name_of(product.left, 0));
    } else {
      text += "    if (owns) {\n";
      for (std::int64_t j = 0; j < inner / units_; ++j) {
        text += fmt::format("      own{}[{} * kUnits + unit] = {};\n", stage, j,
                            name_of(product.left, j));
      }
      text += "    }\n";
    }
    text += "    __syncwarp();\n";
    if (inner <= kMostAhead) {
      text += fmt::format(
          "    Column<float, 4> f{0}[{1}];\n#pragma unroll\n    for (int k = 0; k < {1}; ++k) "
          "f{0}[k] = ((const Column<float, 4>*)own{0})[k];\n    __syncwarp();\n",
          stage, fours);
    } else {
      text += fmt::format(
          "    const Column<float, 4>* const f{0} = (const Column<float, 4>*)own{0};\n", stage);
    }
    return text;
  }

  std::string sums_of(const ChainProduct& product, std::size_t stage) const {
    std::string declared, added, joined;
    for (std::int64_t j = 0; j < registers(product.out); ++j) {
      const SumStarts::Start* const start = starts_.of(product.out, j);
      declared += fmt::format("      float s{}[4] = {{{}}};\n", j,
                              start == nullptr ? "" : name_of(start->operand, start->run));
      added += fmt::format(
          "          s{0}[m] = multiply_add(four.rows[m], w{1}_{0}[4 * k + m], s{0}[m]);\n", j,
          stage);
      joined += fmt::format("      v{0}_{1} = (s{1}[0] + s{1}[1]) + (s{1}[2] + s{1}[3]);\n",
                            product.out, j);
    }
    return fmt::format(
        "    {{\n{}#pragma unroll\n      for (int k = 0; k < {}; ++k) {{\n"
        "        const Column<float, 4> four = f{}[k];\n"
        "#pragma unroll\n        for (int m = 0; m < 4; ++m) {{\n{}        }}\n      }}\n{}    "
        "}}\n",
        declared, (product.left.columns + 3) / 4, stage, added, joined);
  }

  std::string code_of(const ChainElements& elements) const {
    std::string text;
    for (std::int64_t piece = 0; piece < narrow_registers(elements.columns, units_); ++piece) {
      ValueNames names;
      text += "    {\n";
      const auto new_name = [&names](VarId id) {
        return names[id] = fmt::format("x{}", names.size());
      };
      for (const auto& [id, read] : elements.operands) {
        const std::string from = read.value >= 0
                                     ? name_of(read, piece)
                                     : (read.number.valid() ? element_code(read.number, {}) : "at");
        text += fmt::format("      const auto {} = {};\n", new_name(id), from);
      }
      for (Op op : elements.ops) {
        if (const int side = starts_.result_of(op); side >= 0) {
          names[op.output().id()] = names.at(op.input(side).id());
          continue;
        }
        const std::string code = element_code(op, names, elements.contract);
        text += fmt::format("      const auto {} = {};\n", new_name(op.output().id()), code);
      }
      for (const ChainElements::Result& result : elements.results) {
        const std::int64_t first =
            is_one_number(elements.columns) ? 0 : result.first / units_ + piece;
        text += fmt::format("      v{}_{} = {};\n", result.value, first, names.at(result.from));
      }
      text += "    }\n";
    }
    return text;
  }

  // Who walks along the outputs: those of the last states stay where they are.
  std::string outputs_at_start() const {
    std::string text;
    for (int i = 0; i < chain_.num_outputs(); ++i) {
      if (kept_.holds(i)) {
        continue;
      }
      const std::int64_t columns = chain_.output(i).shape().back().constant();
      const bool is_number = is_one_number(columns);
      text += fmt::format(
          "  OutputWalk o{0}((float*)a.out[{0}] + ({1} * a.rows + row) * {2} + {3}, {4}a.rows * "
          "{2});\n  const bool w{0} = a.out[{0}] != nullptr && {5};\n",
          i, i < layout_.states ? "0" : "first", columns, is_number ? "0" : "unit",
          is_reversed() ? "-" : "", is_number ? "lane == 0" : "owns");
    }
    return text;
  }

  // What is kept is stored block by block.
  std::string write_out(int output, const ChainOperand& from) const {
    if (kept_.holds(output)) {
      return "";
    }
    std::string text = fmt::format("    if (w{}) {{\n", output);
    for (std::int64_t j = 0; j < narrow_registers(from.columns, units_); ++j) {
      text += fmt::format("      o{}.store({} * kUnits, {});\n", output, j, name_of(from, j));
    }
    return text + fmt::format("    }}\n    o{}.advance();\n", output);
  }

  std::string write_last() const {
    std::string text;
    for (int i = 0; i < layout_.states; ++i) {
      text += write_out(i, {.value = i, .columns = columns_of(i)});
    }
    return text + kept_.store_last();
  }

  // The results become the states, none of which is another state, and the next step's values take
  // the place of this one's.
  std::string hand_over() const {
    std::string text;
    for (int i = 0; i < layout_.states; ++i) {
      for (std::int64_t j = 0; j < registers(i); ++j) {
        text += fmt::format("    v{}_{} = {};\n", i, j,
                            name_of(body_.results[static_cast<std::size_t>(i)], j));
      }
    }
    for (int i = 0; i < num_values(); ++i) {
      for (std::int64_t j = 0; walks(i) && j < registers(i); ++j) {
        text += fmt::format("    v{0}_{1} = x{0}_{1};\n", i, j);
      }
    }
    return text;
  }

  Op chain_;
  ChainLayout layout_;
  const ChainBody& body_;
  std::int64_t units_, shared_floats_ = 0;
  bool is_short_;
  SumStarts starts_;
  BlockStates kept_;
};

}  // namespace

ChainKernel narrow_chain_kernel(Op chain, const ChainBody& body) {
  return NarrowChainWriter(chain, body).write();
}

}  // namespace antichain::cuda
