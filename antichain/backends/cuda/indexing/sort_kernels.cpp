#include "antichain/backends/cuda/indexing/sort_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/indexing/radix_sort.h"
#include "antichain/ops/indexing/sorting.h"
#include "antichain/ops/reference/compute.h"

namespace antichain::cuda {

namespace {

// Lines of so many elements are compared with themselves faster than they are sorted by digits.
constexpr std::int64_t kMostCompared = 1024;

struct LineSlot {
  enum : std::size_t {
    kElements,
    kLines,
    kSize,
    kInner,
    kKept,
    kDescending,
    kX,
    kKeys,
    kOrder,
    kValues,
    kIndices,
    kNumSlots
  };
};

// What becomes of the first `kept` elements of every line.
struct SortPlan {
  Launch compare, make_keys, make_line_keys, give;
  std::unique_ptr<RadixSort> sort;  // of long lines
  int key_bits, line_bits;

  void run(const Tensor& x, const Tensor& values, const Tensor& indices) {
    for (Launch* launch : {&compare, &make_keys, &give}) {
      launch->set(LineSlot::kX, x.raw());
      launch->set(LineSlot::kValues, values.raw());
      launch->set(LineSlot::kIndices, indices.raw());
    }
    if (sort == nullptr) {
      compare.run();
      return;
    }
    make_keys.set(LineSlot::kKeys, sort->fresh_keys());
    make_keys.run();
    sort->run(key_bits);
    if (line_bits > 0) {
      make_line_keys.set(LineSlot::kKeys, sort->keys());
      make_line_keys.set(LineSlot::kOrder, sort->order());
      make_line_keys.run();
      sort->run(line_bits, true);
    }
    give.set(LineSlot::kOrder, sort->order());
    give.run();
  }
};

KernelFunction plan_sort(const KernelContext& context, const Context& device, bool descending) {
  const Tensor& x = context.in(0);
  const int axis = context.axis("axis", x.rank());
  const AxisSplit from(x.shape(), axis), to(context.out().shape(), axis);
  const std::int64_t lines = from.outer * from.inner;
  std::vector<std::int64_t> slots(LineSlot::kNumSlots);
  slots[LineSlot::kElements] = x.numel();
  slots[LineSlot::kLines] = lines;
  slots[LineSlot::kSize] = from.size;
  slots[LineSlot::kInner] = from.inner;
  slots[LineSlot::kKept] = to.size;
  slots[LineSlot::kDescending] = descending ? 1 : 0;
  const std::string text = sort_text(x.dtype());
  const bool is_short = from.size <= kMostCompared;
  const auto launch = [&](const char* name, std::int64_t threads) {
    return Launch(device, text, name, threads, slots);
  };
  const auto planned = std::make_shared<SortPlan>(
      SortPlan{launch("compare", x.numel()), launch("make_keys", x.numel()),
               launch("make_line_keys", x.numel()), launch("give", lines * to.size),
               is_short ? nullptr : std::make_unique<RadixSort>(device, x.numel()),
               static_cast<int>(8 * size_of(x.dtype())), bits_for(lines)});
  return [planned](KernelContext& run) { planned->run(run.in(0), run.out(0), run.out(1)); };
}

}  // namespace

std::string sort_text(DType dtype) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/sort_key.cuh"
using namespace antichain::device;
using T = {};
struct Arguments {{
  long long elements, lines, size, inner, kept, descending;
  const T* x;
  unsigned long long* keys;
  const long long* order;
  T* values;
  long long* indices;
}};
long long first_thread() {{ return (long long)blockIdx.x * blockDim.x + threadIdx.x; }}
long long all_threads() {{ return (long long)gridDim.x * blockDim.x; }}
long long line_of(const Arguments& a, long long element) {{
  return element / a.inner / a.size * a.inner + element % a.inner;
}}
void write(const Arguments& a, long long line, long long rank, long long element) {{
  const long long to = (line / a.inner * a.kept + rank) * a.inner + line % a.inner;
  a.values[to] = a.x[element];
  a.indices[to] = element / a.inner % a.size;
}}

// An element comes behind the smaller ones and behind the equal ones in front of it.
extern "C" __global__ void compare(const Arguments a) {{
  for (long long e = first_thread(); e < a.elements; e += all_threads()) {{
    const long long position = e / a.inner % a.size;
    const T* const line = a.x + (e - position * a.inner);
    const unsigned long long key = sort_key<T>(a.x[e], a.descending);
    long long rank = 0;
    for (long long i = 0; i < a.size; ++i) {{
      const unsigned long long other = sort_key<T>(line[i * a.inner], a.descending);
      rank += other < key || (other == key && i < position);
    }}
    if (rank < a.kept) {{
      write(a, line_of(a, e), rank, e);
    }}
  }}
}}

extern "C" __global__ void make_keys(const Arguments a) {{
  for (long long e = first_thread(); e < a.elements; e += all_threads()) {{
    a.keys[e] = sort_key<T>(a.x[e], a.descending);
  }}
}}
extern "C" __global__ void make_line_keys(const Arguments a) {{
  for (long long p = first_thread(); p < a.elements; p += all_threads()) {{
    a.keys[p] = (unsigned long long)line_of(a, a.order[p]);
  }}
}}
extern "C" __global__ void give(const Arguments a) {{
  for (long long t = first_thread(); t < a.lines * a.kept; t += all_threads()) {{
    const long long line = t / a.kept, rank = t % a.kept;
    write(a, line, rank, a.order[line * a.size + rank]);
  }}
}}
)",
                     storage_type(dtype));
}

void register_sorting(KernelTable& kernels, const Context& device) {
  const auto add = [&](const OpDef& def, const char* descending) {
    kernels.add(def, {.name = "stable sort",
                      .supports = [](Op) { return Support{}; },
                      .plan =
                          [device, descending](const KernelContext& context) {
                            return plan_sort(context, device, context.attr<bool>(descending));
                          }});
  };
  add(sort_def(), "descending");
  add(top_k_def(), "largest");
}

}  // namespace antichain::cuda
