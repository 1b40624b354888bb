// A oneDNN convolution on the op's own tensors: copied to and from the layouts that it is fast in,
// in memory of the thread. Only for builds that have oneDNN.
#pragma once

#include <array>
#include <optional>

#include "antichain/backends/cpu/products/onednn_primitives.h"

namespace antichain::cpu::onednn {

/// A copy between an op's tensor and the layout that oneDNN computes in, where they differ.
class Staging {
 public:
  enum class Way { in, out };
  Staging(const Layout& plain, const Layout& best, Way way);

  bool needed() const { return copy_.has_value(); }
  std::size_t bytes() const { return bytes_; }  // that the staged tensor takes
  std::size_t scratch_bytes() const { return copy_ ? copy_->scratch_bytes() : 0; }
  void run(void* from, void* to, void* scratch);

 private:
  std::optional<Call> copy_;
  std::size_t bytes_ = 0;
};

/// A convolution of some examples, by one thread at a time.
class StagedConv {
 public:
  enum class Weight { plain, best };
  /// Takes a weight that is an op's own tensor, or one that is in weight_layout() already.
  StagedConv(const ConvSizes& sizes, ConvPart part, DType dtype, Weight weight);

  const Layout& weight_layout() const { return conv_.layouts.weight; }
  /// Computes the result from the other two, in the order of the op's inputs.
  void run(const void* first, const void* second, void* result);

 private:
  ConvCall conv_;
  std::vector<Staging> staged_;  // two inputs, the result
  std::size_t staged_bytes_ = 0, scratch_bytes_ = 0;
};

}  // namespace antichain::cpu::onednn
