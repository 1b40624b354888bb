// IndexGroups: elements by what their indices name, so that whoever adds them up does so in the
// same order in every run, without adding to one place from several threads.
#pragma once

#include "antichain/backends/cuda/core/constant_work.h"
#include "antichain/backends/cuda/indexing/radix_sort.h"

namespace antichain::cuda {

/// Says which group each of `elements` belongs to.
struct Grouping {
  std::int64_t elements = 0, groups = 0;
  DType index = DType::i64;
  /// C++ for the group of element e, below a.groups; reads a.indices, the sizes below, and a.note
  /// and a.source for what is wrong with an index.
  std::string_view group;
  std::int64_t size = 0, inner = 1, count = 1;
  std::int64_t source = 0;
  bool constant = false;  // the indices are the same in every run
  bool starts = true;     // whether somebody asks where groups begin
};

class IndexGroups {
 public:
  IndexGroups(const Context& device, const Grouping& grouping);
  /// Enqueues finding the groups; once where the indices are constant.
  void run(const void* indices);
  /// Returns the elements in order, group by group, those of a group as they come:
  /// long long[elements].
  const void* order() const { return sort_.order(); }
  /// Returns the groups of the elements in that order: unsigned long long[elements].
  const void* keys() const { return sort_.keys(); }
  /// Returns where each group begins, and the end: long long[groups + 1].
  const void* starts() const { return starts_->data(); }

 private:
  RadixSort sort_;
  std::shared_ptr<Buffer> starts_;
  Launch find_groups_, find_starts_;
  int bits_;
  ConstantWork work_;
};

/// Returns the text of its kernels.
std::string grouping_text(DType index, std::string_view group);

}  // namespace antichain::cuda
