#include "antichain/backends/cpu/convolution/onednn_staged_conv.h"

#include <algorithm>

#include "antichain/backends/cpu/threads/thread_scratch.h"

namespace antichain::cpu::onednn {

Staging::Staging(const Layout& plain, const Layout& best, Way way) {
  if (plain != best) {
    copy_ = way == Way::in ? make_reorder(plain, best) : make_reorder(best, plain);
    bytes_ = whole_cache_lines(best.get_size());
  }
}

void Staging::run(void* from, void* to, void* scratch) {
  copy_->run(std::array<void*, 2>{from, to}, scratch);
}

StagedConv::StagedConv(const ConvSizes& sizes, ConvPart part, DType dtype, Weight weight)
    : conv_(make_conv(sizes, part, dtype)) {
  const ConvLayouts& best = conv_.layouts;
  ConvLayouts plain = plain_layouts(sizes, part, dtype);
  if (weight == Weight::best) {
    plain.weight = best.weight;
  }
  using enum Staging::Way;
  switch (part) {
    case ConvPart::output:
      staged_ = {
          {plain.x, best.x, in}, {plain.weight, best.weight, in}, {plain.output, best.output, out}};
      break;
    case ConvPart::x:
      staged_ = {
          {plain.output, best.output, in}, {plain.weight, best.weight, in}, {plain.x, best.x, out}};
      break;
    case ConvPart::weight:
      staged_ = {
          {plain.output, best.output, in}, {plain.x, best.x, in}, {plain.weight, best.weight, out}};
      break;
  }
  scratch_bytes_ = conv_.call.scratch_bytes();
  for (const Staging& staging : staged_) {
    staged_bytes_ += staging.bytes();
    scratch_bytes_ = std::max(scratch_bytes_, staging.scratch_bytes());
  }
}

void StagedConv::run(const void* first, const void* second, void* result) {
  std::byte* place = thread_scratch(staged_bytes_ + scratch_bytes_);
  std::byte* const scratch = place + staged_bytes_;
  const std::array<void*, 3> given = {const_cast<void*>(first), const_cast<void*>(second), result};
  std::array<void*, 3> used = given;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (staged_[i].needed()) {
      used[i] = place;
      place += staged_[i].bytes();
    }
  }
  for (const std::size_t i : {0, 1}) {
    if (staged_[i].needed()) {
      staged_[i].run(given[i], used[i], scratch);
    }
  }
  conv_.call.run(used, scratch);
  if (staged_[2].needed()) {
    staged_[2].run(used[2], result, scratch);
  }
}

}  // namespace antichain::cpu::onednn
