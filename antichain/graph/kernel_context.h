// What a kernel sees when it runs: values in, values out, attributes with sizes filled in.
#pragma once

#include <any>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "antichain/graph/attrs.h"
#include "antichain/graph/dim.h"
#include "antichain/graph/state_store.h"
#include "antichain/graph/var.h"
#include "antichain/tensor/tensor_memory.h"

namespace antichain {

/// Runs one region of a control-flow op. A result goes into the memory of the tensor given for it;
/// a tensor without memory is set; null says that nobody wants it. Results must not share memory
/// with arguments.
using RunRegion = std::function<void(int region, std::span<const Tensor* const> arguments,
                                     std::span<Tensor* const> results)>;
using PrintLine = std::function<void(std::string_view line)>;

/// Serves OpDef::reference and the kernels of backends. Outputs are allocated before the kernel
/// runs, except those of ops with shape_from_data or forwards, which set them, and those of ops
/// with regions that nobody wants or whose size only a body finds out. Inputs are packed, unless
/// the kernel says that it takes others.
class KernelContext {
 public:
  std::span<const Tensor* const> inputs;
  std::span<Tensor* const> outputs;
  Op op;  // for what it consists of; attributes are below
  const Attrs* attrs = nullptr;
  const DimEnv* env = nullptr;
  StateStore* states = nullptr;
  RunRegion run_region;
  const PrintLine* print_line = nullptr;  // where `print` writes
  std::span<const std::uint8_t>
      wanted;              // which outputs have a reader; the others may stay unset by region ops
  std::string_view where;  // description of the op, for messages
  std::any* memory = nullptr;                   // behind kept()
  const TensorMemory* device = &host_memory();  // where inputs and outputs lie
  const Tensor* workspace = nullptr;            // as many u8 as OpDef::workspace asked for

  int num_inputs() const { return static_cast<int>(inputs.size()); }
  int num_outputs() const { return static_cast<int>(outputs.size()); }
  const Tensor& in(int index) const { return *inputs[static_cast<std::size_t>(index)]; }
  Tensor& out(int index = 0) const { return *outputs[static_cast<std::size_t>(index)]; }
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
  /// Returns what this op keeps from one run to the next at the same sizes, so that a run need not
  /// allocate; a new T at first.
  template <class T>
  T& kept() const {
    if (!memory->has_value()) {
      *memory = T();
    }
    return *std::any_cast<T>(memory);
  }
};

}  // namespace antichain
