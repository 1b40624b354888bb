// Kernels with their arguments, ready to be enqueued.
//
// A kernel takes one struct of 8-byte members, numbers and addresses; the host fills them in as an
// array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/graph/kernel_context.h"

namespace antichain::cuda {

/// Its text is compiled in the background from when it is made; the first run waits for that.
class Launch {
 public:
  static constexpr std::size_t kMostSlots = 512;  // what arguments have room for: 4 KiB

  /// One thread for each of `threads`; they take further elements by steps of the whole grid where
  /// there are more than the GPU has room for.
  Launch(const Context& context, const std::string& text, const std::string& name,
         std::int64_t threads, std::vector<std::int64_t> slots);
  /// Blocks of a shape of their own, which share so much memory beside what the text declares.
  Launch(const Context& context, const std::string& text, const std::string& name,
         std::int64_t blocks, dim3 block, std::vector<std::int64_t> slots,
         std::size_t shared_bytes = 0);

  /// Changes how many blocks there are, or threads as above, of a launch that was made with some.
  void set_blocks(std::int64_t blocks) { blocks_ = static_cast<unsigned>(blocks); }
  void set_threads(std::int64_t threads);
  void set(std::size_t slot, std::int64_t value) { slots_[slot] = value; }
  void set(std::size_t slot, const void* address) {
    slots_[slot] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(address));
  }
  /// Sets the addresses of an op's inputs and outputs, which have slots side by side.
  void set_operands(std::size_t first_in, std::size_t first_out, const KernelContext& context);
  /// Enqueues it; nothing where there is nothing to do.
  void run();

 private:
  void load();

  Context context_;
  CodeLoader::Code* code_ = nullptr;  // none of a launch without blocks
  std::string name_;
  cudaKernel_t kernel_ = nullptr;  // from the first run on
  unsigned blocks_ = 0;
  dim3 block_;
  std::size_t shared_bytes_;
  std::vector<std::int64_t> slots_;
};

}  // namespace antichain::cuda
