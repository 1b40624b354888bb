#include "antichain/backends/cpu/onednn_primitives.h"

#include <omp.h>

#include "antichain/base/error.h"

namespace antichain::cpu::onednn {

namespace {

using Layout = dnnl::memory::desc;

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

#else

dnnl::matmul::primitive_desc matmul_primitive(const Layout& a, const Layout& b, const Layout& out) {
  return {{a, b, out}, own_scratch(), cpu_engine()};
}

#endif

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

dnnl::memory::data_type to_onednn(DType dtype) {
  switch (dtype) {
    case DType::f32: return dnnl::memory::data_type::f32;
    case DType::bf16: return dnnl::memory::data_type::bf16;
    case DType::i8: return dnnl::memory::data_type::s8;
    case DType::i32: return dnnl::memory::data_type::s32;
    default: fail<NotSupported>("oneDNN kernels do not compute in {}", name(dtype));
  }
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

}  // namespace antichain::cpu::onednn
