// The one place that knows oneDNN's interface, versions 2 and 3. Only for builds that have it.
//
// Every primitive is made for one thread and run by one thread: this backend cuts the work itself,
// by shape, so that results do not depend on the number of threads.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

#include "antichain/backends/cpu/convolution/conv_plan.h"
#include "antichain/backends/cpu/products/matmul_plan.h"

namespace antichain::cpu::onednn {

using Layout = dnnl::memory::desc;

/// Keeps oneDNN, called from this thread, from using others.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// One argument of a primitive: what oneDNN calls it, and how it lies in memory.
struct Argument {
  int id;
  Layout layout;
};

/// A primitive with its arguments, run by one thread at a time.
class Call {
 public:
  /// Throws dnnl::error when the primitive cannot be made.
  Call(const dnnl::primitive& primitive, const Layout& scratch,
       const std::vector<Argument>& arguments);

  std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// Runs on the arguments at these addresses, in the order in which they were given.
  void run(std::span<void* const> addresses, void* scratch);

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  // the arguments, then the scratch memory
  std::vector<dnnl_exec_arg_t> arguments_;
  std::size_t scratch_bytes_;
};

/// Makes a matrix product; a product of i8 is i32.
Call make_matmul(const ProductSizes& sizes);

/// The tensors of a convolution, as they lie in memory.
struct ConvLayouts {
  Layout x, weight, output;
};
/// Returns the layouts of the op's own tensors, channels first. A gradient of the weight is f32: it
/// is a sum over the batch, which is not finished when one part of the batch is.
ConvLayouts plain_layouts(const ConvSizes& sizes, ConvPart part, DType dtype);

/// A convolution or gradient, in the layouts in which oneDNN computes it best.
struct ConvCall {
  ConvLayouts layouts;
  Call call;  // its arguments are in the order of the op's: two inputs, the result
};
/// Makes a convolution or gradient; only the sizes matter, not the steps between examples.
ConvCall make_conv(const ConvSizes& sizes, ConvPart part, DType dtype);

/// Makes a copy from one layout to another.
Call make_reorder(const Layout& from, const Layout& to);

}  // namespace antichain::cpu::onednn
