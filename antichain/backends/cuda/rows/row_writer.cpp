#include "antichain/backends/cuda/rows/row_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/elementwise/fold_names.h"

namespace antichain::cuda {

namespace {

// Every line as deep as the braces around it.
std::string laid_out(const std::string& text) {
  std::string result;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at), first = text.find_first_not_of(' ', at);
    const std::string line = text.substr(first, end - first);
    const auto opened = static_cast<std::size_t>(std::ranges::count(line, '{'));
    const auto closed = static_cast<std::size_t>(std::ranges::count(line, '}'));
    const bool is_outside = line.empty() || line.front() == '#';
    const std::size_t before = !line.empty() && line.front() == '}' ? 1 : 0;
    result += (is_outside ? "" : std::string(2 * (depth - before), ' ')) + line + '\n';
    depth += opened;
    depth -= closed;
    at = end + 1;
  }
  return result;
}

// Writes the kernel of one fused op. In its text, row and r are the places of a row and of a run in
// it, own is the number of a thread among those of its row; x2 is an element of input 2, v7 a value
// that is computed; in2 is where a row of the input begins, run2 is a run of it; all7 is the total
// of a fold, and few7 that of a run.
class RowWriter {
 public:
  RowWriter(const KernelContext& context, const RowBody& body, const RowLayout& layout)
      : context_(context), body_(body), layout_(layout), walks_(body.walks(layout.keeps())) {
    const RegionInfo& region = body.region();
    for (std::size_t i = 0; i < region.params.size(); ++i) {
      names_.emplace(region.params[i], fmt::format("x{}", i));
    }
    for (const OpId id : region.ops) {
      names_.emplace(body.graph().op(id).output().id(), fmt::format("v{}", names_.size()));
    }
    for (const RowWalk& walk : walks_) {
      read_.insert(walk.params.begin(), walk.params.end());
      kept_.insert(walk.kept.begin(), walk.kept.end());
    }
  }

  std::string text() const {
    std::string text = head() + row_begin() + row_loads() + kept_arrays();
    for (const RowWalk& walk : walks_) {
      for (const Op op : walk.before) {
        text += statement(op);
      }
      text += walk_code(walk);
    }
    return text + row_results() + "  }\n}\n" + entry();
  }

 private:
  std::string_view type_of(std::size_t input) const {
    return storage_type(context_.inputs[input]->dtype());
  }
  std::string_view type_of(VarId value) const {
    return storage_type(body_.graph().var(value).dtype());
  }
  bool is_split() const { return layout_.parts > 1; }

  std::string head() const {
    std::string text = "#include \"antichain/backends/cuda/device/row.cuh\"\n";
    text += "using namespace antichain;\nusing namespace antichain::device;\n";
    text +=
        fmt::format("using Index = {};\n",
                    layout_.rows() * layout_.length() < kMostOf32Bits ? "unsigned" : "long long");
    text += fmt::format("constexpr int kThreads = {}, kWidth = {}, kRuns = {};\n", layout_.threads,
                        layout_.width, layout_.runs);
    text += "struct Outer {\n" + layout_.outer.members_code() + "};\n";
    text += "struct Inner {\n" + layout_.inner.members_code() + "};\n";
    text += "struct Arguments {\n  Outer outer;\n  Inner inner;\n";
    text += "  long long rows, length, parts, part_length;\n";
    text += "  void* found;\n  unsigned* counters;\n  long long aligned;\n";
    text += fmt::format("  const void* in[{}];\n  void* out[{}];\n}};\n",
                        std::max(context_.num_inputs(), 1), context_.num_outputs());
    for (std::size_t i = 0; i < context_.inputs.size(); ++i) {
      text += place_function("row", layout_.outer, "Outer", i);
      if (!layout_.is_of_row(i)) {
        text += place_function("run", layout_.inner, "Inner", i);
      }
    }
    return text;
  }

  static std::string place_function(const char* name, const StridedLoop& loop, const char* axes,
                                    std::size_t input) {
    return fmt::format("long long {}_place{}(const {}& a, Index i) {{\n{}    return {};\n}}\n",
                       name, input, axes, loop.positions_code(), loop.place_code(input));
  }

  // Threads of rows that are not there compute the last one, too, and leave it to others to store.
  std::string row_begin() const {
    std::string text =
        "template <bool kAligned>\n__forceinline__ void compute(const Arguments& a) {\n";
    if (is_split()) {
      text +=
          "  const unsigned own = threadIdx.x;\n"
          "  const Index row = blockIdx.x / Index(a.parts), part = blockIdx.x % Index(a.parts);\n"
          "  const Index length = a.length, begin = part * Index(a.part_length);\n"
          "  const Index rest = length - begin;\n"
          "  const Index end = begin + (rest < Index(a.part_length) ? rest : "
          "Index(a.part_length));\n"
          "  const bool is_row = true;\n  {\n";
    } else {
      text +=
          "  const unsigned own = threadIdx.x % kThreads, of_block = blockDim.x / kThreads;\n"
          "  const Index rows = a.rows, length = a.length, begin = 0, end = length;\n"
          "  for (Index first = Index(blockIdx.x) * of_block; first < rows;\n"
          "       first += Index(gridDim.x) * of_block) {\n"
          "    const bool is_row = first + threadIdx.x / kThreads < rows;\n"
          "    const Index row = is_row ? first + threadIdx.x / kThreads : rows - 1;\n";
    }
    return text;
  }

  // Where rows begin, and inputs that have one element for a row.
  std::string row_loads() const {
    std::unordered_set<std::size_t> of_row;
    for (const std::size_t i : body_.row_params()) {
      of_row.insert(i);
    }
    std::string text;
    for (std::size_t i = 0; i < context_.inputs.size(); ++i) {
      if (!read_.contains(i) && !of_row.contains(i)) {
        continue;
      }
      text += fmt::format(
          "    const {1}* const in{0} = (const {1}*)a.in[{0}] + "
          "row_place{0}(a.outer, row);\n",
          i, type_of(i));
      if (layout_.is_of_row(i)) {
        text += fmt::format("    const auto x{0} = load<{1}>(*in{0});\n", i, type_of(i));
      }
    }
    return text;
  }

  std::string run_load(std::size_t input) const {
    const std::string from = fmt::format("in{0} + run_place{0}(a.inner, r)", input);
    return layout_.is_run(input)
               ? fmt::format("read_run<kAligned, {}, kWidth>({})", type_of(input), from)
               : fmt::format("read_apart<{}, kWidth>({}, a.inner.strides[{}][{}])", type_of(input),
                             from, input, layout_.inner.sizes.size() - 1);
  }

  // Calls of the text in turn for the runs of a thread.
  std::string for_runs(const std::string& inside) const {
    if (!layout_.keeps()) {
      return "#pragma unroll 2\n"
             "    for (Index r = begin + own * kWidth; r < end; r += kThreads * kWidth) {\n" +
             inside + "    }\n";
    }
    const bool full = layout_.is_full();
    return fmt::format(
        "#pragma unroll\n"
        "    for (int n = 0; n < kRuns; ++n) {{\n"
        "      const Index r = (n * kThreads + own) * kWidth;\n{}{}{}    }}\n",
        full ? "" : "      if (r < end) {\n", inside, full ? "" : "      }\n");
  }

  // What threads keep from walk to walk: everything that is read, before anything is stored, and
  // values that several walks need.
  std::string kept_arrays() const {
    std::string arrays, loads;
    for (std::size_t i = 0; layout_.keeps() && i < context_.inputs.size(); ++i) {
      if (read_.contains(i) && !layout_.is_of_row(i)) {
        arrays += fmt::format("    Run<{}, kWidth> kept{}[kRuns];\n", type_of(i), i);
        loads += fmt::format("        kept{}[n] = {};\n", i, run_load(i));
      }
    }
    std::string values;
    for (const OpId id : body_.region().ops) {
      const VarId value = body_.graph().op(id).output().id();
      if (kept_.contains(value)) {
        values += fmt::format("    Compute<{}> kept_{}[kRuns * kWidth];\n", type_of(value),
                              names_.at(value));
      }
    }
    return arrays + values + (loads.empty() ? loads : for_runs(loads));
  }

  // The statement that computes an op from names of other values.
  std::string statement(Op op) const {
    return fmt::format("    const auto {} = {};\n", names_.at(op.output().id()),
                       element_code(op, names_, context_.attr<bool>("contract")));
  }

  // The values of one element, at e in a run.
  std::string element_code_of(const RowWalk& walk) const {
    std::string text;
    for (const std::size_t i : walk.params) {
      if (!layout_.is_of_row(i)) {
        text +=
            fmt::format("    const auto x{0} = load<{1}>({2}.at[e]);\n", i, type_of(i),
                        layout_.keeps() ? fmt::format("kept{}[n]", i) : fmt::format("run{}", i));
      }
    }
    for (const VarId value : walk.kept) {
      text += fmt::format("    const auto {0} = kept_{0}[n * kWidth + e];\n", names_.at(value));
    }
    for (const Op op : walk.ops) {
      text += statement(op);
      if (kept_.contains(op.output().id())) {
        text += fmt::format("    kept_{0}[n * kWidth + e] = {0};\n", names_.at(op.output().id()));
      }
    }
    return text;
  }

  std::string walk_code(const RowWalk& walk) const {
    if (walk.folds.empty() && walk.results.empty()) {
      return {};
    }
    std::string before, loads, begin, inside = element_code_of(walk), end;
    for (const std::size_t i : layout_.keeps() ? std::vector<std::size_t>() : walk.params) {
      if (!layout_.is_of_row(i)) {
        loads += fmt::format("      const auto run{} = {};\n", i, run_load(i));
      }
    }
    for (const Op op : walk.folds) {
      const std::string &name = names_.at(op.output().id()), &x = names_.at(op.input(0).id());
      before += fmt::format("    auto all_{} = {}::none<{}>();\n", name, fold_of(op).name,
                            total_of(op, "All"));
      begin += fmt::format("      auto few_{} = {}::none<{}>();\n", name, fold_of(op).name,
                           total_of(op, "Few"));
      inside += fmt::format("    few_{0} = {1}::join(few_{0}, decltype(few_{0})({2}));\n", name,
                            fold_of(op).name, x);
      end += fmt::format("      all_{0} = {1}::join(all_{0}, decltype(all_{0})(few_{0}));\n", name,
                         fold_of(op).name);
    }
    for (const std::size_t i : walk.results) {
      const VarId result = body_.region().results[i];
      begin += fmt::format("      Run<{}, kWidth> result{};\n", type_of(result), i);
      inside += fmt::format("    result{}.at[e] = packed<{}>({});\n", i, type_of(result),
                            names_.at(result));
      end +=
          fmt::format("      {}write_run<kAligned>(({}*)a.out[{}] + row * length + r, result{});\n",
                      is_split() ? "" : "if (is_row) ", type_of(result), i, i);
    }
    return before +
           for_runs(loads + begin + "#pragma unroll\n      for (int e = 0; e < kWidth; ++e) {\n" +
                    inside + "      }\n" + end) +
           joins(walk.folds);
  }

  static FoldName fold_of(Op op) { return *find_fold(op.def()); }
  std::string total_of(Op op, const char* which) const {
    return fmt::format("FoldTypes<{}, Compute<{}>>::{}", fold_of(op).name,
                       type_of(op.output().id()), which);
  }

  // The totals of all threads of a row; where blocks share it, of those that the last of them
  // finds.
  std::string joins(const std::vector<Op>& folds) const {
    std::string joins, leaves, takes, after;
    for (std::size_t n = 0; n < folds.size(); ++n) {
      const std::string& name = names_.at(folds[n].output().id());
      const FoldName fold = fold_of(folds[n]);
      const char* const slot = is_float(folds[n].output().dtype()) ? "double" : "long long";
      joins += fmt::format("    all_{0} = join_row<{1}, kThreads>(all_{0});\n", name, fold.name);
      leaves += fmt::format("      (({})a.found)[blockIdx.x * {}LL + {}] = all_{};\n",
                            fmt::format("{}*", slot), folds.size(), n, name);
      takes += fmt::format(
          "    all_{0} = {1}::none<decltype(all_{0})>();\n"
          "    for (Index p = own; p < Index(a.parts); p += kThreads) {{\n"
          "      const Index from = (row * Index(a.parts) + p) * {3} + {4};\n"
          "      all_{0} = {1}::join(all_{0}, decltype(all_{0})(__ldcg((const {2}*)a.found + "
          "from)));"
          "\n    }}\n",
          name, fold.name, slot, folds.size(), n);
      after +=
          fmt::format("    const auto {0} = rounded<{1}>(Compute<{1}>(all_{0}{2}));\n", name,
                      type_of(folds[n].output().id()), fold.averages ? " / (double)a.length" : "");
    }
    if (is_split()) {
      joins += "    if (own == 0) {\n" + leaves +
               "    }\n    if (!comes_last(a.counters + row, a.parts)) {\n      return;\n    }\n" +
               takes + joins;
    }
    return joins + after;
  }

  // Behind the last walk, whose other threads may read what is written over.
  std::string row_results() const {
    std::string stores;
    for (const std::size_t i : body_.row_results()) {
      const VarId result = body_.region().results[i];
      stores += fmt::format("      (({0}*)a.out[{1}])[row] = stored<{0}>({2});\n", type_of(result),
                            i, names_.at(result));
    }
    return stores.empty() ? stores
                          : "    wait_for_row<kThreads>();\n    if (own == 0 && is_row) {\n" +
                                stores + "    }\n";
  }

  std::string entry() const {
    return fmt::format(
        "extern \"C\" __global__ void __launch_bounds__({})\n"
        "fused_rows(const __grid_constant__ Arguments a) {{\n{}}}\n",
        layout_.block_threads(),
        layout_.width > 1
            ? "  if (a.aligned) {\n    compute<true>(a);\n  } else {\n    compute<false>(a);\n  }\n"
            : "  compute<false>(a);\n");
  }

  const KernelContext& context_;
  const RowBody& body_;
  const RowLayout& layout_;
  std::vector<RowWalk> walks_;
  std::unordered_map<VarId, std::string> names_;
  std::unordered_set<std::size_t> read_;  // inputs that walks read
  std::unordered_set<VarId> kept_;        // values that are kept from walk to walk
};

}  // namespace

std::string row_text(const KernelContext& context, const RowBody& body, const RowLayout& layout) {
  return laid_out(RowWriter(context, body, layout).text());
}

}  // namespace antichain::cuda
