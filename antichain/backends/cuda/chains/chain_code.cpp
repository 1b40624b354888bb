#include "antichain/backends/cuda/chains/chain_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "antichain/backends/cuda/chains/chain_slabs.h"
#include "antichain/backends/cuda/elementwise/element_code.h"

namespace antichain::cuda {

namespace {

using Kind = ChainValue::Kind;
using Source = ChainValue::Source;

constexpr int kSums = -1;  // stands for the sums of products among values

std::size_t rounded_up(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

class ChainWriter {
 public:
  ChainWriter(Op chain, const ChainBody& body, ChainShape shape)
      : chain_(chain), layout_(chain), body_(body), shape_(shape), slabs_(chain, body, shape) {}

  ChainKernel write() {
    std::string inside = declare();
    inside += body_.has_groups
                  ? "  const long long blocks = (a.rows + kRows - 1) / kRows, groups = a.groups;\n"
                    "  const long long group = blockIdx.x / blocks;\n"
                    "  const long long first = blockIdx.x % blocks * kRows;\n"
                  : "  constexpr long long groups = 1, group = 0;\n"
                    "  const long long first = (long long)blockIdx.x * kRows;\n";
    inside += read_from(Source::captured, "", "") + read_from(Source::state, "", "");
    if (by_slabs()) {
      inside += slabs_.fetches(fmt::format("memory + {}", slabs_at_), place_of("fetched_step"));
    }
    for (int ahead = 0; ahead + 1 < shape_.buffers; ++ahead) {
      const std::string step = std::to_string(ahead);
      inside += fmt::format("  if (a.length > {}) {{\n{}  }}\n  end_copies();\n", step,
                            read_from(Source::sequence, place_of(step), step));
    }
    inside += "  for (long long n = 0; n < a.length; ++n) {\n";
    inside += fmt::format("    const long long at = {};\n", place_of("n"));
    inside += fmt::format("    wait_for_copies<{}>();\n    __syncthreads();\n", shape_.buffers - 2);
    const std::string later = fmt::format("(n + {})", shape_.buffers - 1);
    inside += fmt::format("    if ({} < a.length) {{\n{}    }}\n    end_copies();\n", later,
                          read_from(Source::sequence, place_of(later),
                                    fmt::format("{} % {}", later, shape_.buffers)));
    forget();
    inside += take_buffers();
    for (int i = 0; i < layout_.states; ++i) {
      inside += write_out(layout_.first_before() + i, {.value = i, .columns = columns_of(i)}, "at");
    }
    for (std::size_t i = 0; i < body_.stages.size(); ++i) {
      const auto* const product = std::get_if<ChainProduct>(&body_.stages[i]);
      inside += product == nullptr ? code_of(std::get<ChainElements>(body_.stages[i]))
                : by_slabs()       ? by_slabs(*product, i)
                                   : code_of(*product);
    }
    for (int i = 0; i < layout_.ys; ++i) {
      const ChainOperand& y = body_.results[static_cast<std::size_t>(layout_.states + i)];
      inside += write_out(layout_.first_y() + i, y, "at");
    }
    inside += hand_over();
    inside += "  }\n  wait_for_copies<0>();\n  __syncthreads();\n";
    forget();
    for (int i = 0; i < layout_.states; ++i) {
      inside += write_out(i, {.value = i, .columns = columns_of(i)}, "0");
    }
    return {head() + inside + "}\n", bytes_};
  }

 private:
  const ChainValue& value(int index) const { return body_.values[static_cast<std::size_t>(index)]; }
  std::int64_t columns_of(int index) const { return value(index).columns; }
  bool by_slabs() const { return shape_.slabs > 0; }
  // Whether a value has no memory of its own: its slabs have.
  bool is_passing(const ChainValue& kept) const { return by_slabs() && kept.kind == Kind::matrix; }
  std::int64_t row_pitch_of(const ChainValue& kept) const {
    return device::row_pitch(shape_.rows_per_block, static_cast<int>(size_of(kept.dtype)));
  }
  // Where a column of rows begins.
  std::string column_at(int index, std::int64_t column) const {
    return fmt::format("v{} + {}", index, column * row_pitch_of(value(index)));
  }
  // From row to row an odd number of what is read at once: threads that read one column, and
  // threads that read one row, find their elements in different banks.
  static std::int64_t pitch_of(const ChainValue& matrix) {
    const auto vector = static_cast<std::int64_t>(16 / size_of(matrix.dtype));
    return matrix.columns % vector == 0 ? (matrix.columns / vector | 1) * vector
                                        : matrix.columns | 1;
  }
  std::int64_t elements_of(const ChainValue& kept) const {
    switch (kept.kind) {
      case Kind::rows: return kept.columns * row_pitch_of(kept);
      case Kind::shared: return kept.columns;
      case Kind::matrix: break;
    }
    return kept.height * pitch_of(kept);
  }
  // From buffer to buffer; whole vectors.
  std::int64_t buffer_of(const ChainValue& kept) const {
    const auto vector = static_cast<std::int64_t>(16 / size_of(kept.dtype));
    return (elements_of(kept) + vector - 1) / vector * vector;
  }
  std::string place_of(std::string_view step) const {
    return chain_.attrs().get<bool>("reverse") ? fmt::format("a.length - 1 - {}", step)
                                               : std::string(step);
  }

  std::string head() const {
    return fmt::format(
        "#include \"antichain/backends/cuda/device/chain.cuh\"\n{}"
        "using namespace antichain;\nusing namespace antichain::device;\n"
        "constexpr int kRows = {};\n"
        "struct Arguments {{\n  long long length, rows;\n  const void* in[{}];\n  void* "
        "out[{}];\n  long long groups, step[{}], group[{}];\n}};\n"
        "extern \"C\" __global__ void __launch_bounds__({}) chain(const Arguments a) {{\n"
        "  extern __shared__ __align__(16) unsigned char memory[];\n",
        by_slabs() ? slabs_.forms() : "", shape_.rows_per_block, chain_.num_inputs(),
        chain_.num_outputs(), chain_.num_inputs(), chain_.num_inputs(), shape_.threads);
  }

  // Memory for every value; several times for what walks, so that later steps' are read meanwhile.
  std::string declare() {
    std::string text;
    for (std::size_t i = 0; i < body_.values.size(); ++i) {
      const ChainValue& kept = body_.values[i];
      if (is_passing(kept)) {
        continue;
      }
      const bool walks = kept.source == Source::sequence;
      const std::string_view type = storage_type(kept.dtype);
      text += fmt::format("  {0}* const {1}{2} = ({0}*)(memory + {3});\n", type, walks ? "b" : "v",
                          i, bytes_);
      bytes_ +=
          rounded_up(static_cast<std::size_t>(buffer_of(kept) * (walks ? shape_.buffers : 1)) *
                     size_of(kept.dtype));
    }
    slabs_at_ = bytes_;
    bytes_ += by_slabs() ? slabs_.floats() * sizeof(float) : 0;
    std::size_t sums = by_slabs() ? slabs_.sum_floats() * sizeof(float) : 0;
    for (const ChainStage& stage : body_.stages) {
      const auto* product = std::get_if<ChainProduct>(&stage);
      if (product != nullptr && !by_slabs()) {
        const ChainValue& out = value(product->out);
        const std::size_t bytes = out.dtype == DType::f64 ? sizeof(double) : sizeof(float);
        sums = std::max(sums,
                        static_cast<std::size_t>(elements_of(out) * splits_of(*product)) * bytes);
      }
    }
    text += fmt::format("  unsigned char* const sums = memory + {};\n", bytes_);
    bytes_ += rounded_up(sums);
    return text;
  }

  // Reads what comes from outside, at a step where it walks.
  std::string read_from(Source source, std::string_view step, std::string_view buffer) const {
    std::string text;
    for (std::size_t i = 0; i < body_.values.size(); ++i) {
      const ChainValue& kept = body_.values[i];
      if (kept.source != source || is_passing(kept)) {
        continue;
      }
      const std::string_view type = storage_type(kept.dtype);
      std::string to = fmt::format("v{}", i);
      std::string from = fmt::format("(const {}*)a.in[{}]", type, kept.input);
      if (source == Source::sequence) {
        to = fmt::format("b{} + {} * {}", i, buffer, buffer_of(kept));
        from += fmt::format(" + ({}) * a.step[{}]", step, kept.input);
      }
      from += kept.grouped ? fmt::format(" + group * a.group[{}]", kept.input) : "";
      text +=
          kept.kind == Kind::rows
              ? fmt::format("    read_rows<kRows, {}>({}, {}, first, a.rows);\n", kept.columns, to,
                            from)
              : fmt::format("    read_matrix<{}, {}, {}>({}, {});\n", kept.height, kept.columns,
                            kept.kind == Kind::matrix ? pitch_of(kept) : kept.columns, to, from);
    }
    return text;
  }

  std::string take_buffers() const {
    std::string text;
    for (std::size_t i = 0; i < body_.values.size(); ++i) {
      const ChainValue& kept = body_.values[i];
      if (kept.source == Source::sequence && !is_passing(kept)) {
        text += fmt::format("    const {}* const v{} = b{} + n % {} * {};\n",
                            storage_type(kept.dtype), i, i, shape_.buffers, buffer_of(kept));
      }
    }
    return text;
  }

  // How many threads share the sums of one column.
  std::int64_t splits_of(const ChainProduct& product) const {
    const std::int64_t columns = columns_of(product.out);
    const std::int64_t most = std::min(shape_.threads / columns, product.left.columns / 4);
    std::int64_t splits = 1;
    while (2 * splits <= most) {
      splits *= 2;
    }
    return splits;
  }

  // Threads wait for each other where one is to read what another has written, or to write what
  // another may still read. Element-wise code gives an element of one number of columns always to
  // the same thread.
  bool is_own(const ChainOperand& read, std::int64_t columns) const {
    return read.first == 0 && read.columns == columns && columns_of(read.value) == columns;
  }
  std::string wait_before(const std::vector<int>& others_elements, const std::vector<int>& own,
                          const std::vector<int>& written) {
    const auto in = [](const std::set<int>& set) {
      return [&set](int one) { return set.contains(one); };
    };
    const bool waits = std::ranges::any_of(others_elements, in(written_)) ||
                       std::ranges::any_of(others_elements, in(written_otherwise_)) ||
                       std::ranges::any_of(own, in(written_otherwise_)) ||
                       std::ranges::any_of(written, in(read_by_others_));
    if (waits) {
      forget();
    }
    read_by_others_.insert(others_elements.begin(), others_elements.end());
    return waits ? "    __syncthreads();\n" : "";
  }
  void forget() {
    written_.clear();
    written_otherwise_.clear();
    read_by_others_.clear();
  }

  std::string code_of(const ChainProduct& product) {
    const ChainValue& out = value(product.out);
    const ChainValue& matrix = value(product.matrix);
    const std::string_view type = storage_type(out.dtype);
    const std::int64_t splits = splits_of(product);
    std::string text = wait_before({product.left.value}, {}, {kSums});
    text +=
        fmt::format("    multiply<kRows, {}, {}, {}, {}, {}, {}>((Compute<{}>*)sums, {}, v{});\n",
                    product.left.columns, out.columns, splits, pitch_of(matrix), product.transposed,
                    type, type, column_at(product.left.value, product.left.first), product.matrix);
    written_otherwise_.insert(kSums);
    text += wait_before({kSums}, {}, {product.out});
    text += fmt::format("    add_splits<kRows, {}, {}, {}>(v{}, (const Compute<{}>*)sums);\n",
                        out.columns, splits, type, product.out, type);
    written_.insert(product.out);
    return text;
  }

  // Threads meet in there before anything is read, and again before elements are given.
  std::string by_slabs(const ChainProduct& product, std::size_t stage) {
    forget();
    read_by_others_.insert(product.left.value);
    written_otherwise_.insert(product.out);
    return slabs_.multiply(stage, fmt::format("v{}", product.out),
                           column_at(product.left.value, product.left.first));
  }

  std::string code_of(const ChainElements& elements) {
    std::vector<int> others, own, written;
    std::string loads;
    ValueNames names;
    const auto new_name = [&names](VarId id) {
      return names[id] = fmt::format("x{}", names.size());
    };
    for (const auto& [id, read] : elements.operands) {
      const std::string name = new_name(id);
      if (read.value < 0) {
        loads += fmt::format("      const auto {} = {};\n", name,
                             read.number.valid() ? element_code(read.number, {}) : "at");
        continue;
      }
      const ChainValue& from = value(read.value);
      const bool is_rows = from.kind == Kind::rows;
      (is_rows && is_own(read, elements.columns) ? own : others).push_back(read.value);
      const std::string column =
          read.columns == 1 ? std::to_string(read.first) : fmt::format("({} + column)", read.first);
      loads += fmt::format(
          "      const auto {} = load<{}>(v{}[{}]);\n", name, storage_type(from.dtype), read.value,
          is_rows ? fmt::format("{} * {} + row", column, row_pitch_of(from)) : column);
    }
    bool is_rows = true, whole = true;
    for (const ChainElements::Result& result : elements.results) {
      written.push_back(result.value);
      is_rows = is_rows && value(result.value).kind == Kind::rows;
      whole = whole && columns_of(result.value) == elements.columns;
    }
    std::string text = wait_before(others, own, written);
    text += is_rows ? fmt::format(
                          "    for (int i = threadIdx.x; i < kPlaces<kRows, {0}>; i += blockDim.x) "
                          "{{\n      const auto [row, column] = place_of<kRows>(i);\n"
                          "      if (!is_inside<kRows, {0}>({{row, column}})) continue;\n",
                          elements.columns)
                    : fmt::format(
                          "    for (int i = threadIdx.x; i < {}; i += blockDim.x) {{\n"
                          "      const int column = i;\n",
                          elements.columns);
    text += loads;
    for (Op op : elements.ops) {
      const std::string code = element_code(op, names, elements.contract);
      text += fmt::format("      const auto {} = {};\n", new_name(op.output().id()), code);
    }
    for (const ChainElements::Result& result : elements.results) {
      const std::string_view type = storage_type(value(result.value).dtype);
      text += fmt::format("      v{}[{}] = stored<{}>({});\n", result.value,
                          is_rows ? fmt::format("({} + column) * {} + row", result.first,
                                                row_pitch_of(value(result.value)))
                                  : "column",
                          type, names.at(result.from));
      (is_rows && whole ? written_ : written_otherwise_).insert(result.value);
    }
    return text + "    }\n";
  }

  std::string write_out(int output, const ChainOperand& from, std::string_view step) {
    const std::string_view type = storage_type(value(from.value).dtype);
    const bool own = is_own(from, from.columns);
    const std::vector<int> read = {from.value}, none;
    return wait_before(own ? none : read, own ? read : none, none) +
           fmt::format(
               "    if (a.out[{0}]) {{\n      write_rows<kRows, {1}>(({2}*)a.out[{0}] + "
               "({3} * groups + group) * a.rows * {1}, {4}, first, a.rows);\n    }}\n",
               output, from.columns, type, step, column_at(from.value, from.first));
  }

  // The results become the states; none of them is another state.
  std::string hand_over() {
    std::string text;
    for (int i = 0; i < layout_.states; ++i) {
      const ChainOperand& from = body_.results[static_cast<std::size_t>(i)];
      if (from.value == i && from.first == 0) {
        continue;
      }
      const std::int64_t columns = columns_of(i);
      const bool own = is_own(from, columns);
      const std::vector<int> read = {from.value}, none;
      text += wait_before(own ? none : read, own ? read : none, {i});
      text += fmt::format("    copy_rows<kRows, {}>(v{}, {});\n", columns, i,
                          column_at(from.value, from.first));
      written_.insert(i);
    }
    return text;
  }

  Op chain_;
  ChainLayout layout_;
  const ChainBody& body_;
  ChainShape shape_;
  ChainSlabs slabs_;
  std::size_t bytes_ = 0, slabs_at_ = 0;
  // Since threads last waited for each other: what was written, by the owners of the elements and
  // otherwise, and what was read by others than those.
  std::set<int> written_, written_otherwise_, read_by_others_;
};

}  // namespace

ChainKernel chain_kernel(Op chain, const ChainBody& body, ChainShape shape) {
  return ChainWriter(chain, body, shape).write();
}

}  // namespace antichain::cuda
