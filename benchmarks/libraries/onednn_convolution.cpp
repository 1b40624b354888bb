// oneDNN's convolution, with the copies from and to plain channels-first tensors.
#include <vector>

#include "onednn.h"

namespace libraries {

std::string title() { return "oneDNN " + onednn_version(); }
void set_threads(int threads) { omp_set_num_threads(threads); }

namespace {

using dnnl::memory;

// A plain tensor, and its copy in the layout that the primitive wants, or itself.
struct Staged {
  memory plain, best;
  Staged(const memory::dims& sizes, const memory::desc& wanted, float* data)
      : plain({sizes, memory::data_type::f32, memory::format_tag::nchw}, engine(), data),
        best(plain.get_desc() == wanted ? plain : memory(wanted, engine())) {}
  void copy(const memory& from, const memory& to) const {
    if (plain.get() != best.get()) {
      dnnl::reorder(from, to).execute(stream(), const_cast<memory&>(from), const_cast<memory&>(to));
    }
  }
};

}  // namespace

std::function<void()> prepare(const Convolution& conv, Part part, float* x, float* weight,
                              float* output) {
  const memory::dims x_sizes = {conv.batch, conv.in, conv.image, conv.image};
  const memory::dims weight_sizes = {conv.out, conv.in, conv.window, conv.window};
  const memory::dims output_sizes = {conv.batch, conv.out, conv.image, conv.image};
  const memory::dims stride = {1, 1}, padding = {conv.padding(), conv.padding()};
  const auto any = [](const memory::dims& sizes) {
    return memory::desc(sizes, memory::data_type::f32, memory::format_tag::any);
  };
  const auto direct = dnnl::algorithm::convolution_direct;
  const auto forward = describe<dnnl::convolution_forward>(
      dnnl::prop_kind::forward_training, direct, any(x_sizes), any(weight_sizes), any(output_sizes),
      stride, padding, padding);
  const auto run = [=](const dnnl::primitive& primitive, const std::vector<Staged>& in,
                       const Staged& result, const std::vector<int>& names) {
    return std::function<void()>([=] {
      std::unordered_map<int, memory> arguments = {{names[2], result.best}};
      for (std::size_t i = 0; i < in.size(); ++i) {
        in[i].copy(in[i].plain, in[i].best);
        arguments.insert({names[i], in[i].best});
      }
      primitive.execute(stream(), arguments);
      result.copy(result.best, result.plain);
    });
  };
  if (part == Part::output) {
    return run(dnnl::convolution_forward(forward),
               {{x_sizes, forward.src_desc(), x}, {weight_sizes, forward.weights_desc(), weight}},
               {output_sizes, forward.dst_desc(), output},
               {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST});
  }
  if (part == Part::x) {
    const auto backward = describe_gradient<dnnl::convolution_backward_data>(
        forward, direct, any(x_sizes), any(weight_sizes), any(output_sizes), stride, padding,
        padding);
    return run(dnnl::convolution_backward_data(backward),
               {{output_sizes, backward.diff_dst_desc(), output},
                {weight_sizes, backward.weights_desc(), weight}},
               {x_sizes, backward.diff_src_desc(), x},
               {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC});
  }
  const auto backward = describe_gradient<dnnl::convolution_backward_weights>(
      forward, direct, any(x_sizes), any(weight_sizes), any(output_sizes), stride, padding,
      padding);
  return run(dnnl::convolution_backward_weights(backward),
             {{output_sizes, backward.diff_dst_desc(), output}, {x_sizes, backward.src_desc(), x}},
             {weight_sizes, backward.diff_weights_desc(), weight},
             {DNNL_ARG_DIFF_DST, DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS});
}

}  // namespace libraries
