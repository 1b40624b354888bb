// What a kernel sees when it runs: values in, values out, attributes with sizes filled in.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "antichain/graph/attrs.h"
#include "antichain/graph/dim.h"
#include "antichain/graph/state_store.h"
#include "antichain/tensor/tensor.h"

namespace antichain {

/// Runs one region of a control-flow op.
using RunRegion = std::function<std::vector<Tensor>(int region, std::span<const Tensor> arguments)>;

/// Serves OpDef::reference and the kernels of backends. Outputs are allocated before the kernel
/// runs, except those of ops with shape_from_data or regions, which set them. Inputs of reference
/// kernels are packed.
class KernelContext {
 public:
  std::span<const Tensor> inputs;
  std::span<Tensor> outputs;
  const Attrs* attrs = nullptr;
  const DimEnv* env = nullptr;
  StateStore* states = nullptr;
  RunRegion run_region;
  std::function<void(std::string_view line)> print_line;  // where `print` writes
  std::span<const std::uint8_t>
      wanted;              // which outputs have a reader; the others may stay unset by region ops
  std::string_view where;  // description of the op, for messages

  const Tensor& in(int index) const { return inputs[static_cast<std::size_t>(index)]; }
  Tensor& out(int index = 0) const { return outputs[static_cast<std::size_t>(index)]; }
  template <class T>
  const T& attr(std::string_view name) const {
    return attrs->get<T>(name);
  }
  /// Returns a dim attribute as a number.
  std::int64_t size(std::string_view name) const { return attrs->get<Dim>(name).evaluate(*env); }
  std::vector<std::int64_t> sizes(std::string_view name) const {
    return evaluate(attrs->get<Dims>(name), *env);
  }
  /// Returns an axis attribute counted from the front of a value of this rank.
  int axis(std::string_view name, int rank) const {
    return normalize_axis(attrs->get<std::int64_t>(name), rank, "axis");
  }
};

}  // namespace antichain
