#include "antichain/backends/cpu/products/onednn_primitives.h"

#include <omp.h>

#include "antichain/base/error.h"

namespace antichain::cpu::onednn {

namespace {

using Sizes = dnnl::memory::dims;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

struct Steps {
  Sizes stride, dilation, padding;
};

dnnl::memory::data_type to_onednn(DType dtype) {
  switch (dtype) {
    case DType::f32: return dnnl::memory::data_type::f32;
    case DType::bf16: return dnnl::memory::data_type::bf16;
    case DType::i8: return dnnl::memory::data_type::s8;
    case DType::i32: return dnnl::memory::data_type::s32;
    default: fail<NotSupported>("oneDNN kernels do not compute in {}", name(dtype));
  }
}

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// Holds no state on a CPU, so all threads may use one.
const dnnl::stream& cpu_stream() {
  static const dnnl::stream stream(cpu_engine());
  return stream;
}

dnnl::primitive_attr own_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// Version 3 dropped the descriptors of operations and gives their arguments to the primitive's.
#if DNNL_VERSION_MAJOR >= 3

dnnl::matmul::primitive_desc matmul_primitive(const Layout& a, const Layout& b, const Layout& out) {
  return {cpu_engine(), a, b, out, own_scratch()};
}

Forward::primitive_desc forward_primitive(const ConvLayouts& at, const Steps& steps) {
  return {cpu_engine(),  dnnl::prop_kind::forward_training,
          kDirect,       at.x,
          at.weight,     at.output,
          steps.stride,  steps.dilation,
          steps.padding, steps.padding,
          own_scratch()};
}

// The gradients ask for the forward primitive that they belong to.
template <class Primitive>
auto backward_primitive(const Layout& first, const Layout& second, const Layout& third,
                        const Steps& steps, const Forward::primitive_desc& forward) {
  return typename Primitive::primitive_desc(cpu_engine(), kDirect, first, second, third,
                                            steps.stride, steps.dilation, steps.padding,
                                            steps.padding, forward, own_scratch());
}

#else

dnnl::matmul::primitive_desc matmul_primitive(const Layout& a, const Layout& b, const Layout& out) {
  return {{a, b, out}, own_scratch(), cpu_engine()};
}

Forward::primitive_desc forward_primitive(const ConvLayouts& at, const Steps& steps) {
  return {{dnnl::prop_kind::forward_training, kDirect, at.x, at.weight, at.output, steps.stride,
           steps.dilation, steps.padding, steps.padding},
          own_scratch(),
          cpu_engine()};
}

// The gradients ask for the forward primitive that they belong to.
template <class Primitive>
auto backward_primitive(const Layout& first, const Layout& second, const Layout& third,
                        const Steps& steps, const Forward::primitive_desc& forward) {
  return typename Primitive::primitive_desc(
      {kDirect, first, second, third, steps.stride, steps.dilation, steps.padding, steps.padding},
      own_scratch(), cpu_engine(), forward);
}

#endif

// oneDNN counts the elements between those of a window, not the distance.
Steps to_onednn(const WindowSteps& steps) {
  Steps result{steps.stride, steps.dilation, steps.padding};
  for (auto& dilation : result.dilation) {
    --dilation;
  }
  return result;
}

Sizes joined(Sizes first, const Shape& spatial) {
  first.insert(first.end(), spatial.begin(), spatial.end());
  return first;
}

// The distances between elements along each axis; empty: whatever oneDNN likes.
struct ConvStrides {
  Sizes x = {}, weight = {}, output = {};
};

Sizes to_strides(const ConvSteps& steps, const Shape& spatial) {
  Sizes strides = contiguous_strides(spatial);
  for (auto& stride : strides) {
    stride *= steps.position;
  }
  strides.insert(strides.begin(), {steps.example, steps.channel});
  return strides;
}

// oneDNN computes on packed tensors with channels last as they are. With groups that may be slow,
// gradients of weights in bf16 always are, and version 2.6 gets some of those wrong.
ConvStrides fast_strides(const ConvSizes& sizes, ConvPart part, DType dtype) {
  const bool staged = sizes.groups > 1 || (part == ConvPart::weight && dtype == bf16);
  return sizes.order.channels_last && !staged
             ? ConvStrides{.x = to_strides(sizes.packed_x(), sizes.windows.input),
                           .output = to_strides(sizes.packed_output(), sizes.windows.output)}
             : ConvStrides{};
}

Layout make_layout(const Sizes& sizes, DType dtype, const Sizes& strides) {
  return strides.empty() ? Layout(sizes, to_onednn(dtype), dnnl::memory::format_tag::any)
                         : Layout(sizes, to_onednn(dtype), strides);
}

ConvLayouts conv_layouts(const ConvSizes& sizes, ConvPart part, DType dtype,
                         const ConvStrides& strides = {}) {
  const Windows& windows = sizes.windows;
  const Sizes weight =
      sizes.groups == 1 ? Sizes{sizes.out, sizes.in} : Sizes{sizes.groups, sizes.out, sizes.in};
  return {.x = make_layout(joined({sizes.batch, sizes.groups * sizes.in}, windows.input), dtype,
                           strides.x),
          .weight = make_layout(joined(weight, windows.window),
                                part == ConvPart::weight ? f32 : dtype, strides.weight),
          .output = make_layout(joined({sizes.batch, sizes.groups * sizes.out}, windows.output),
                                dtype, strides.output)};
}

}  // namespace

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

Call::Call(const dnnl::primitive& primitive, const Layout& scratch,
           const std::vector<Argument>& arguments)
    : primitive_(primitive), scratch_bytes_(scratch.get_size()) {
  const auto add = [this](int id, const Layout& layout) {
    memories_.push_back(dnnl::memory(layout, cpu_engine(), DNNL_MEMORY_NONE));
    arguments_.push_back({id, memories_.back().get()});
  };
  for (const Argument& argument : arguments) {
    add(argument.id, argument.layout);
  }
  add(DNNL_ARG_SCRATCHPAD, scratch);
}

void Call::run(std::span<void* const> addresses, void* scratch) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    memories_[i].set_data_handle(addresses[i]);
  }
  memories_.back().set_data_handle(scratch);
  const OneThread one_thread;
  // The C interface takes a list that already exists; the C++ one would build a map here.
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), cpu_stream().get(),
                             static_cast<int>(arguments_.size()), arguments_.data()),
      "could not run a oneDNN primitive");
}

Call make_matmul(const ProductSizes& sizes) {
  const auto type = to_onednn(sizes.dtype);
  const auto out_type = to_onednn(sizes.dtype == i8 ? i32 : sizes.dtype);
  const Layout a({sizes.rows, sizes.inner}, type, {sizes.a.row, sizes.a.column});
  const Layout b({sizes.inner, sizes.columns}, type, {sizes.b.row, sizes.b.column});
  const Layout out({sizes.rows, sizes.columns}, out_type, {sizes.out_row, 1});
  const OneThread one_thread;
  const auto primitive = matmul_primitive(a, b, out);
  return {dnnl::matmul(primitive),
          primitive.scratchpad_desc(),
          {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, out}}};
}

ConvLayouts plain_layouts(const ConvSizes& sizes, ConvPart part, DType dtype) {
  const Windows& windows = sizes.windows;
  const std::int64_t window = numel(windows.window), step = sizes.weight_step;
  return conv_layouts(sizes, part, dtype,
                      {.x = to_strides(sizes.x, windows.input),
                       .weight = joined(sizes.groups == 1 ? Sizes{step, window}
                                                          : Sizes{sizes.out * step, step, window},
                                        contiguous_strides(windows.window)),
                       .output = to_strides(sizes.output, windows.output)});
}

ConvCall make_conv(const ConvSizes& sizes, ConvPart part, DType dtype) {
  const OneThread one_thread;
  const Steps steps = to_onednn(sizes.windows.steps);
  const ConvStrides strides = fast_strides(sizes, part, dtype);
  const auto forward =
      forward_primitive(conv_layouts(sizes, ConvPart::output, dtype, strides), steps);
  if (part == ConvPart::output) {
    const ConvLayouts at{forward.src_desc(), forward.weights_desc(), forward.dst_desc()};
    return {at,
            Call(Forward(forward), forward.scratchpad_desc(),
                 {{DNNL_ARG_SRC, at.x}, {DNNL_ARG_WEIGHTS, at.weight}, {DNNL_ARG_DST, at.output}})};
  }
  const ConvLayouts free = conv_layouts(sizes, part, dtype, strides);
  if (part == ConvPart::x) {
    const auto primitive =
        backward_primitive<BackwardData>(free.x, free.weight, free.output, steps, forward);
    const ConvLayouts at{primitive.diff_src_desc(), primitive.weights_desc(),
                         primitive.diff_dst_desc()};
    return {at, Call(BackwardData(primitive), primitive.scratchpad_desc(),
                     {{DNNL_ARG_DIFF_DST, at.output},
                      {DNNL_ARG_WEIGHTS, at.weight},
                      {DNNL_ARG_DIFF_SRC, at.x}})};
  }
  const auto primitive =
      backward_primitive<BackwardWeights>(free.x, free.weight, free.output, steps, forward);
  const ConvLayouts at{primitive.src_desc(), primitive.diff_weights_desc(),
                       primitive.diff_dst_desc()};
  return {at, Call(BackwardWeights(primitive), primitive.scratchpad_desc(),
                   {{DNNL_ARG_DIFF_DST, at.output},
                    {DNNL_ARG_SRC, at.x},
                    {DNNL_ARG_DIFF_WEIGHTS, at.weight}})};
}

Call make_reorder(const Layout& from, const Layout& to) {
  const OneThread one_thread;
  const dnnl::reorder::primitive_desc primitive(cpu_engine(), from, cpu_engine(), to,
                                                own_scratch());
  return {dnnl::reorder(primitive),
          primitive.scratchpad_desc(),
          {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

}  // namespace antichain::cpu::onednn
