// Matrices of a chain that pass through shared memory in slabs (device/chain_slabs.cuh): those that
// differ from step to step or from group to group and are used by many rows, and large ones.
#pragma once

#include <string>
#include <vector>

#include "antichain/backends/cuda/chains/chain_code.h"
#include "antichain/backends/cuda/device/chain_form.cuh"

namespace antichain::cuda {

/// Says why the products of a body cannot be computed by slabs; empty if they can.
std::string why_not_by_slabs(const ChainBody& body);
/// Returns how many threads products of so many rows keep busy; more than a block can have where
/// they have too many columns.
int slab_threads(const ChainBody& body, int rows);

/// Writes the parts of a kernel that have to do with slabs.
class ChainSlabs {
 public:
  ChainSlabs(Op chain, const ChainBody& body, ChainShape shape);

  std::size_t floats() const;      // of the ring of slabs
  std::size_t sum_floats() const;  // of sums that threads share
  /// Returns declarations that go before the kernel.
  std::string forms() const;
  /// Returns the function `fetch`, which begins to copy the next slab, and the first calls of it.
  std::string fetches(std::string_view memory, std::string_view place_of_step) const;
  /// Returns the product, and whether elements of it are given by threads that do not own them.
  std::string multiply(std::size_t stage, std::string_view out, std::string_view left) const;

 private:
  struct Product {
    std::size_t stage;
    int matrix;
    device::ProductForm form;
  };
  int place_floats() const;

  Op chain_;
  const ChainBody& body_;
  ChainShape shape_;
  std::vector<Product> products_;
};

}  // namespace antichain::cuda
