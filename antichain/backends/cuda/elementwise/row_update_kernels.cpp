#include "antichain/backends/cuda/elementwise/row_update_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/ops/rows/row_squares.h"
#include "antichain/ops/state/row_updates.h"

namespace antichain::cuda {

namespace {

constexpr int kSelectionInput = 3;
constexpr std::int64_t kSumThreads = 1024;  // of the block that adds up rows

struct RowSlot {
  enum : std::size_t {
    kRows,  // of the gradient
    kWidth,
    kStateRows,
    kGradient,
    kNumbers,
    kWhen,
    kSelection,
    kMarks,
    kStates,
    kNumSlots = kStates + UpdatedMemory::kMaxStates
  };
};

// What all kernels on rows begin with. A warp looks at a row of the gradient and has nothing to do
// where that was not chosen or is zero; otherwise `row` is that of the state.
std::string row_text(DType dtype, DType gradient, RowChoice choice, std::string_view includes) {
  const std::string_view type = storage_type(dtype);
  const std::string_view chosen =
      choice == RowChoice::ids
          ? "const long long row = ((const long long*)a.selection)[k];\n  if (row < 0 || row >= "
            "a.state_rows) {\n    return -1;\n  }"
      : choice == RowChoice::marks
          ? "const long long row = k;\n  if (!((const bool*)a.selection)[k]) {\n    return -1;\n  }"
          : "const long long row = k;";
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
{2}using namespace antichain;
using namespace antichain::device;
using Real = Compute<{0}>;
struct Arguments {{
  long long rows, width, state_rows;
  const {4}* gradient;
  const double* numbers;
  const bool* when;
  const void* selection;
  bool* marks;
  void* states[{3}];
}};
__device__ Real gradient_at(const Arguments& a, long long at) {{
  return rounded<{0}>(load<{4}>(a.gradient[at]));
}}
__device__ long long used_row(const Arguments& a, long long k) {{
  {1}
  bool used = false;
  for (long long i = threadIdx.x % 32; i < a.width; i += 32) {{
    used |= gradient_at(a, k * a.width + i) != Real(0);
  }}
  return __any_sync(0xffffffffu, used) ? row : -1;
}}
long long first_warp() {{
  return ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
}}
long long all_warps() {{ return (long long)gridDim.x * blockDim.x / 32; }}
)",
                     type, chosen, includes, static_cast<std::size_t>(UpdatedMemory::kMaxStates),
                     storage_type(gradient));
}

RowChoice choice_of(const KernelContext& context) {
  return context.num_inputs() == kSelectionInput             ? RowChoice::all
         : context.in(kSelectionInput).dtype() == DType::i64 ? RowChoice::ids
                                                             : RowChoice::marks;
}

// "rmsprop_momentum_rows_update" is rules::RmspropMomentum.
std::string row_rule_name(const std::string& op) {
  return camel_case(op.substr(0, op.rfind("_rows_update")));
}

std::vector<std::int64_t> row_slots(const KernelContext& context) {
  const Tensor& gradient = context.in(0);
  const std::int64_t rows = gradient.shape()[0];
  std::vector<std::int64_t> slots(RowSlot::kNumSlots);
  slots[RowSlot::kRows] = rows;
  slots[RowSlot::kWidth] = rows == 0 ? 0 : gradient.numel() / rows;
  return slots;
}

void set_row_inputs(Launch& launch, const KernelContext& run, const Tensor& state) {
  launch.set(RowSlot::kStateRows, state.shape()[0]);
  launch.set(RowSlot::kGradient, run.in(0).raw());
  launch.set(RowSlot::kNumbers, run.in(1).raw());
  launch.set(RowSlot::kWhen, run.in(2).raw());
  if (run.num_inputs() > kSelectionInput) {
    launch.set(RowSlot::kSelection, run.in(kSelectionInput).raw());
  }
}

KernelFunction plan_row_update(const KernelContext& context, const Context& device) {
  const std::vector<std::string> states = updated_states(*context.attrs)[0];
  const std::string text =
      row_update_text(row_rule_name(context.op.def().name), context.op.output().dtype(),
                      context.in(0).dtype(), states.size(), choice_of(context));
  std::vector<std::int64_t> slots = row_slots(context);
  const std::int64_t threads = slots[RowSlot::kRows] * kWarp;
  const auto launch =
      std::make_shared<Launch>(device, text, "update_rows", threads, std::move(slots));
  return [launch, states](KernelContext& run) {
    const UpdatedMemory memory = modified_memory(*run.states, states, *run.device);
    for (std::size_t i = 0; i < states.size(); ++i) {
      launch->set(RowSlot::kStates + i, memory.after[i]);
    }
    run.out() = run.states->get(states[0], *run.device);
    set_row_inputs(*launch, run, run.out());
    launch->run();
  };
}

KernelFunction plan_accumulate_rows(const KernelContext& context, const Context& device) {
  const std::vector<std::string> states = updated_states(*context.attrs)[0];
  const std::string text = accumulate_rows_text(context.in(0).dtype(), choice_of(context));
  const std::vector<std::int64_t> slots = row_slots(context);
  const Shape marks = context.states->get(states[1], *context.device).shape();
  const auto clear = std::make_shared<Launch>(device, text, "clear_rows", marks[0] * kWarp, slots);
  const auto add =
      std::make_shared<Launch>(device, text, "add_rows", slots[RowSlot::kRows] * kWarp, slots);
  return [clear, add, states](KernelContext& run) {
    const UpdatedMemory memory = modified_memory(*run.states, states, *run.device);
    run.out() = run.states->get(states[0], *run.device);
    const std::int64_t rows = run.out().shape()[0];
    for (Launch* launch : {clear.get(), add.get()}) {
      launch->set(RowSlot::kStates, memory.after[0]);
      launch->set(RowSlot::kMarks, memory.after[1]);
      launch->set(RowSlot::kWidth, rows == 0 ? 0 : run.out().numel() / rows);
      set_row_inputs(*launch, run, run.out());
      launch->run();
    }
  };
}

KernelFunction plan_row_squares(const KernelContext& context, const Context& device) {
  const std::int64_t rows = context.in(0).shape()[0];
  const bool marked = context.num_inputs() > 1;
  const std::string text =
      row_squares_text(context.in(0).dtype(), context.attr<DType>("rounded_to"), marked);
  const std::int64_t width = rows == 0 ? 0 : context.in(0).numel() / rows;
  const std::vector<std::int64_t> slots = {rows, width, 0, 0, 0, 0};
  const auto square = std::make_shared<Launch>(device, text, "square_rows", rows * kWarp, slots);
  const auto add = std::make_shared<Launch>(device, text, "add_rows", 1,
                                            dim3(static_cast<unsigned>(kSumThreads)), slots);
  const std::shared_ptr<Buffer> squares =
      DeviceContext::allocate(device, static_cast<std::size_t>(rows) * sizeof(double));
  return [=](KernelContext& run) {
    for (Launch* launch : {square.get(), add.get()}) {
      launch->set(2, run.in(0).raw());
      launch->set(3, marked ? run.in(1).raw() : nullptr);
      launch->set(4, squares->data());
      launch->set(5, run.out().raw());
      launch->run();
    }
  };
}

}  // namespace

std::string row_update_text(const std::string& rule, DType dtype, DType gradient,
                            std::size_t states, RowChoice choice) {
  const std::string_view first = storage_type(dtype), other = storage_type(buffer_dtype(dtype));
  std::string loads, names, stores;
  for (std::size_t i = 0; i < states; ++i) {
    const std::string_view type = i == 0 ? first : other;
    loads += fmt::format("      Real s{0} = load<{1}>((({1}*)a.states[{0}])[at]);\n", i, type);
    names += fmt::format(", s{}", i);
    stores += fmt::format("      (({1}*)a.states[{0}])[at] = stored<{1}>(s{0});\n", i, type);
  }
  return row_text(dtype, gradient, choice, "#include \"antichain/ops/state/update_rules.h\"\n") +
         fmt::format(R"(extern "C" __global__ void update_rows(const Arguments a) {{
  if (!*a.when) {{
    return;
  }}
  const rules::Applied<rules::{0}, Real> rule(a.numbers);
  for (long long k = first_warp(); k < a.rows; k += all_warps()) {{
    const long long row = used_row(a, k);
    if (row < 0) {{
      continue;
    }}
    for (long long i = threadIdx.x % 32; i < a.width; i += 32) {{
      const long long at = row * a.width + i;
{1}      rule(gradient_at(a, k * a.width + i){2});
{3}    }}
  }}
}}
)",
                     rule, loads, names, stores);
}

// Rows of the last sum are cleared before new ones are added, by a kernel of its own.
std::string accumulate_rows_text(DType dtype, RowChoice choice) {
  return row_text(dtype, dtype, choice, "#include \"antichain/ops/state/update_rules.h\"\n") +
         fmt::format(R"(extern "C" __global__ void clear_rows(const Arguments a) {{
  if (!*a.when || a.numbers[2] != 0) {{
    return;
  }}
  for (long long row = first_warp(); row < a.state_rows; row += all_warps()) {{
    const bool marked = a.marks[row];
    __syncwarp();
    if (!marked) {{
      continue;
    }}
    for (long long i = threadIdx.x % 32; i < a.width; i += 32) {{
      (({0}*)a.states[0])[row * a.width + i] = stored<{0}>(Real(0));
    }}
    if (threadIdx.x % 32 == 0) {{
      a.marks[row] = false;
    }}
  }}
}}
extern "C" __global__ void add_rows(const Arguments a) {{
  if (!*a.when) {{
    return;
  }}
  const double first_numbers[] = {{a.numbers[0], a.numbers[1], 0}};
  const double further_numbers[] = {{a.numbers[0], a.numbers[1], 1}};
  const rules::Applied<rules::Accumulate, Real> first(first_numbers), further(further_numbers);
  for (long long k = first_warp(); k < a.rows; k += all_warps()) {{
    const long long row = used_row(a, k);
    if (row < 0) {{
      continue;
    }}
    const bool marked = a.marks[row];
    __syncwarp();
    for (long long i = threadIdx.x % 32; i < a.width; i += 32) {{
      {0}& element = (({0}*)a.states[0])[row * a.width + i];
      Real total = load<{0}>(element);
      const Real gradient = gradient_at(a, k * a.width + i);
      if (marked) {{
        further(gradient, total);
      }} else {{
        first(gradient, total);
      }}
      element = stored<{0}>(total);
    }}
    if (threadIdx.x % 32 == 0) {{
      a.marks[row] = true;
    }}
  }}
}}
)",
                     storage_type(dtype));
}

// The lanes of a warp add up a row in an order that its width decides, one thread adds up the rows:
// a zero more or less changes nothing.
std::string row_squares_text(DType dtype, DType rounded, bool marked) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
using namespace antichain;
using namespace antichain::device;
struct Arguments {{
  long long rows, width;
  const {0}* x;
  const bool* marks;
  double *squares, *out;
}};
extern "C" __global__ void square_rows(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x / 32;
  for (long long row = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32; row < a.rows;
       row += step) {{
    double total = 0;
    if ({1}) {{
      for (long long i = threadIdx.x % 32; i < a.width; i += 32) {{
        const double value = double(rounded<{3}>(load<{0}>(a.x[row * a.width + i])));
        total += value * value;
      }}
    }}
    for (int distance = 16; distance > 0; distance /= 2) {{
      total += __shfl_down_sync(0xffffffffu, total, distance);
    }}
    if (threadIdx.x % 32 == 0) {{
      a.squares[row] = total;
    }}
  }}
}}
extern "C" __global__ void add_rows(const Arguments a) {{
  __shared__ double tile[{2}];
  double total = 0;
  for (long long first = 0; first < a.rows; first += {2}) {{
    const long long row = first + threadIdx.x;
    const double own = row < a.rows ? a.squares[row] : 0;
    tile[threadIdx.x] = own;
    if (__syncthreads_or(own != 0) && threadIdx.x == 0) {{
      for (int i = 0; i < {2}; ++i) {{
        total += tile[i];
      }}
    }}
    __syncthreads();
  }}
  if (threadIdx.x == 0) {{
    *a.out = total;
  }}
}}
)",
                     storage_type(dtype), marked ? "a.marks[row]" : "true", kSumThreads,
                     storage_type(rounded));
}

void register_row_updates(KernelTable& kernels, const Context& context) {
  const auto add = [&](const OpDef& def, auto plan) {
    kernels.add(
        def, {.name = "a warp per row",
              .supports =
                  [](Op op) {
                    return takes_product(op) ? Support::no("the gradient is a product") : Support{};
                  },
              .plan = [context, plan](const KernelContext& seen) { return plan(seen, context); }});
  };
  for (const RowRule& rule : row_rules()) {
    add(*rule.rows, plan_row_update);
  }
  add(accumulate_rows_update_def(), plan_accumulate_rows);
  add(sum_row_squares_def(), plan_row_squares);
}

}  // namespace antichain::cuda
