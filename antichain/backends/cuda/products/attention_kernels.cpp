#include "antichain/backends/cuda/products/attention_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/core/packed_input.h"
#include "antichain/backends/cuda/device/attention_form.cuh"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/ops/products/attention.h"

namespace antichain::cuda {

namespace {

using device::AttentionForm;
using Slots = std::vector<std::int64_t>;

constexpr std::int64_t kWidthStep = 16, kWidest = 128;
constexpr std::size_t kViewSlots = 4, kFirstView = 4;  // address and strides; behind the sizes
constexpr std::int64_t kMaxTime = std::numeric_limits<std::int32_t>::max() / 2;

struct AttentionSizes {
  std::int64_t batches, queries, keys, heads, width;

  AttentionSizes(const Tensor& q, const Tensor& k)
      : batches(q.shape()[0]),
        queries(q.shape()[1]),
        keys(k.shape()[1]),
        heads(q.shape()[2]),
        width(q.shape()[3]) {
    require<NotSupported>(queries <= kMaxTime && keys <= kMaxTime,
                          "attention: a sequence is longer than {}", kMaxTime);
  }
  std::int64_t blocks(bool of_keys, const AttentionForm& form) const {
    return ((of_keys ? keys : queries) + form.rows() - 1) / form.rows() * batches * heads;
  }
};

AttentionCode code_of(const KernelContext& context, int q, int mask) {
  const Tensor& tensor = context.in(q);
  return {.dtype = tensor.dtype(),
          .width = tensor.shape()[3],
          .causal = context.attr<bool>("causal"),
          .masked = context.num_inputs() > mask};
}

// The members of the kernels' arguments up to the mask, without addresses.
Slots first_slots(const KernelContext& context, const AttentionSizes& sizes,
                  const std::vector<PackedInput>& views, int mask) {
  Slots slots = {sizes.heads, sizes.queries, sizes.keys,
                 std::bit_cast<std::int64_t>(context.attr<double>("scale"))};
  for (const PackedInput& view : views) {
    slots.insert(slots.end(), {0, view.strides()[0], view.strides()[1], view.strides()[2]});
  }
  const bool masked = context.num_inputs() > mask;
  const Strides strides = masked ? context.in(mask).strides() : Strides{0, 0};
  slots.insert(slots.end(), {0, strides[0], strides[1]});
  return slots;
}

std::vector<PackedInput> views_of(const KernelContext& context, const Context& device,
                                  const std::vector<int>& inputs) {
  std::vector<PackedInput> views;
  for (const int input : inputs) {
    views.push_back(PackedInput::with_aligned_rows(device, context.in(input)));
  }
  return views;
}

dim3 threads_of(const AttentionForm& form) { return dim3(static_cast<unsigned>(form.threads())); }

KernelFunction plan_attention(const KernelContext& context, const Context& device) {
  constexpr int kMask = 3;
  const AttentionSizes sizes(context.in(0), context.in(1));
  const int width = static_cast<int>(sizes.width);
  const auto views =
      std::make_shared<std::vector<PackedInput>>(views_of(context, device, {0, 1, 2}));
  Slots slots = first_slots(context, sizes, *views, kMask);
  const std::size_t mask_slot = slots.size() - 3, first_out = slots.size();
  slots.resize(first_out + 2);
  const bool masked = context.num_inputs() > kMask;
  const AttentionForm form = device::forward_form(width, masked);
  const auto launch =
      std::make_shared<Launch>(device, attention_text(code_of(context, 0, kMask)), "attend",
                               sizes.blocks(false, form), threads_of(form), std::move(slots),
                               static_cast<std::size_t>(device::forward_bytes(width, masked)));
  return [launch, views, mask_slot, first_out](KernelContext& run) {
    for (std::size_t i = 0; i < views->size(); ++i) {
      launch->set(kFirstView + i * kViewSlots, (*views)[i].address(*run.inputs[i]));
    }
    if (run.num_inputs() > kMask) {
      launch->set(mask_slot, run.in(kMask).raw());
    }
    launch->set(first_out, run.out(0).raw());
    launch->set(first_out + 1, run.out(1).raw());
    launch->run();
  };
}

// Of grad and output, of keys and values, of queries.
struct GradientPlan {
  std::vector<PackedInput> views;  // q, k, v, grad, output
  PackedInput lse;
  std::shared_ptr<Buffer> products;
  Launch multiply, keys, queries;
};

KernelFunction plan_gradient(const KernelContext& context, const Context& device) {
  constexpr int kGrad = 0, kQ = 1, kK = 2, kV = 3, kOutput = 4, kLse = 5, kMask = 6;
  const AttentionSizes sizes(context.in(kQ), context.in(kK));
  const int width = static_cast<int>(sizes.width);
  const std::string text = attention_gradient_text(code_of(context, kQ, kMask));
  std::vector<PackedInput> views = views_of(context, device, {kQ, kK, kV, kGrad, kOutput});
  const std::int64_t rows = sizes.batches * sizes.queries * sizes.heads;

  Slots multiply = {sizes.heads, sizes.queries, rows};
  for (const std::size_t view : {3, 4}) {
    const Strides& strides = views[view].strides();
    multiply.insert(multiply.end(), {0, strides[0], strides[1], strides[2]});
  }
  multiply.push_back(0);
  constexpr std::size_t kMultiplyGrad = 3, kMultiplyOutput = 7, kMultiplyProducts = 11;
  constexpr std::int64_t kThreads = 256, kThreadsOfRow = 8;

  const std::vector<PackedInput> of_scores(views.begin(), views.begin() + 4);
  Slots slots = first_slots(context, sizes, of_scores, kMask);
  const std::size_t mask_slot = slots.size() - 3, first = slots.size();
  slots.resize(first + 4);  // lse, products, one or two gradients
  const bool masked = context.num_inputs() > kMask;
  const auto launch = [&](const char* name, bool of_keys) {
    const AttentionForm form = device::backward_form(width, masked, of_keys);
    return Launch(device, text, name, sizes.blocks(of_keys, form), threads_of(form), slots,
                  static_cast<std::size_t>(device::backward_bytes(width, masked, of_keys)));
  };
  const auto planned = std::make_shared<GradientPlan>(GradientPlan{
      .views = std::move(views),
      .lse = PackedInput::whole(device, context.in(kLse)),
      .products = DeviceContext::allocate(device, static_cast<std::size_t>(rows) * sizeof(float)),
      .multiply =
          Launch(device, text, "multiply_grad", (rows * kThreadsOfRow + kThreads - 1) / kThreads,
                 dim3(kThreads), std::move(multiply)),
      .keys = launch("attend_keys", true),
      .queries = launch("attend_queries", false)});
  return [planned, mask_slot, first](KernelContext& run) {
    const int inputs[] = {kQ, kK, kV, kGrad, kOutput};
    const void* addresses[std::size(inputs)];
    for (std::size_t i = 0; i < std::size(inputs); ++i) {
      addresses[i] = planned->views[i].address(run.in(inputs[i]));
    }
    const void* const lse = planned->lse.address(run.in(kLse));
    planned->multiply.set(kMultiplyGrad, addresses[3]);
    planned->multiply.set(kMultiplyOutput, addresses[4]);
    planned->multiply.set(kMultiplyProducts, planned->products->data());
    for (Launch* side : {&planned->keys, &planned->queries}) {
      for (std::size_t i = 0; i < 4; ++i) {
        side->set(kFirstView + i * kViewSlots, addresses[i]);
      }
      if (run.num_inputs() > kMask) {
        side->set(mask_slot, run.in(kMask).raw());
      }
      side->set(first, lse);
      side->set(first + 1, planned->products->data());
    }
    planned->queries.set(first + 2, run.out(0).raw());
    planned->keys.set(first + 2, run.out(1).raw());
    planned->keys.set(first + 3, run.out(2).raw());
    planned->multiply.run();
    planned->keys.run();
    planned->queries.run();
  };
}

// What a block may share, in bytes.
int most_shared_bytes(const DeviceContext& context) {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                               context.device().index),
        "looking at a GPU");
  return bytes;
}

Support supports_attention(Op op, int first, int most_shared) {
  const Var q = op.input(first), v = op.input(first + 2);
  if (q.dtype() != bf16 && q.dtype() != f16) {
    return Support::no("tensor cores add up 16-bit products");
  }
  if (!q.dim(3).is_constant() || q.dim(3) != v.dim(3)) {
    return Support::no("keys and values must have one known width");
  }
  const std::int64_t width = q.dim(3).constant();
  if (width % kWidthStep != 0 || width == 0 || width > kWidest) {
    return Support::no(fmt::format("{} is no multiple of {} up to {}", width, kWidthStep, kWidest));
  }
  if (op.attrs().get<double>("scale") <= 0) {
    return Support::no("it looks for the largest score before scaling");
  }
  const int wide = static_cast<int>(width);
  const int needed =
      std::max({device::forward_bytes(wide, false), device::backward_bytes(wide, false, true),
                device::backward_bytes(wide, false, false)});  // masked: as much, or less
  return needed <= most_shared ? Support{}
                               : Support::no(fmt::format("blocks share {} bytes", needed));
}

std::string text_of(const AttentionCode& code, std::string_view kernels) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/tensor_core.cuh"
#include "antichain/backends/cuda/device/attention_backward.cuh"
using namespace antichain::device;
using T = {};
constexpr int kWidth = {};
constexpr bool kCausal = {}, kMasked = {};
{})",
                     storage_type(code.dtype), code.width, code.causal, code.masked, kernels);
}

}  // namespace

std::string attention_text(const AttentionCode& code) {
  return text_of(code, R"(
constexpr AttentionForm kForm = forward_form(kWidth, kMasked);
extern "C" __global__ void __launch_bounds__(kForm.threads(), kForm.blocks())
attend(const ForwardArguments<T> a) {
  extern __shared__ uint4 shared[];
  antichain::device::attend<T, kWidth, kCausal, kMasked>(a, (T*)shared);
}
)");
}

std::string attention_gradient_text(const AttentionCode& code) {
  return text_of(code, R"(
constexpr AttentionForm kKeyForm = backward_form(kWidth, kMasked, true);
constexpr AttentionForm kQueryForm = backward_form(kWidth, kMasked, false);
extern "C" __global__ void multiply_grad(const RowProductArguments<T> a) {
  multiply_rows<T, kWidth>(a);
}
extern "C" __global__ void __launch_bounds__(kKeyForm.threads())
attend_keys(const BackwardArguments<T> a) {
  extern __shared__ uint4 shared[];
  attend_backwards<T, kWidth, true, kCausal, kMasked>(a, (T*)shared);
}
extern "C" __global__ void __launch_bounds__(kQueryForm.threads())
attend_queries(const BackwardArguments<T> a) {
  extern __shared__ uint4 shared[];
  attend_backwards<T, kWidth, false, kCausal, kMasked>(a, (T*)shared);
}
)");
}

void register_attention(KernelTable& kernels, const Context& context) {
  const int most_shared = most_shared_bytes(*context);
  kernels.add(
      attention_def(),
      {.name = "attention by tiles",
       .supports = [most_shared](Op op) { return supports_attention(op, 0, most_shared); },
       .plan = [context](const KernelContext& seen) { return plan_attention(seen, context); },
       .strided_inputs = true});
  kernels.add(
      attention_gradient_def(),
      {.name = "attention gradient by tiles",
       .supports = [most_shared](Op op) { return supports_attention(op, 1, most_shared); },
       .plan = [context](const KernelContext& seen) { return plan_gradient(seen, context); },
       .strided_inputs = true});
}

}  // namespace antichain::cuda
