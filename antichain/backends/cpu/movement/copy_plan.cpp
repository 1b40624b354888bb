#include "antichain/backends/cpu/movement/copy_plan.h"

#include <cstring>

#include "antichain/backends/cpu/simd/transpose_loops.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/work_blocks.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kCopyBlockBytes = 64 << 10;  // a block and its source fit the second cache
constexpr std::int64_t kCopyTaskBytes =
    128 << 10;  // below this a second thread costs more than it saves
constexpr std::int64_t kTransposedSide = 128;  // elements: source and target fit the second cache
constexpr std::int64_t kShortRun = 32;         // bytes below which calling memcpy costs more

template <class T>
void copy_strided(std::byte* to, const std::byte* from, const CopyAxis& row, const CopyAxis& run) {
  for (std::int64_t r = 0; r < row.size; ++r, to += row.to, from += row.from) {
    for (std::int64_t i = 0; i < run.size; ++i) {
      std::memcpy(to + i * run.to, from + i * run.from, sizeof(T));
    }
  }
}

template <class T>
void copy_runs(std::byte* to, const std::byte* from, const CopyAxis& row, const CopyAxis& run) {
  const std::int64_t bytes = run.size * static_cast<std::int64_t>(sizeof(T));
  if (bytes < kShortRun) {
    const CopyAxis packed{.size = run.size, .to = sizeof(T), .from = sizeof(T)};
    copy_strided<T>(to, from, row, packed);
    return;
  }
  for (std::int64_t r = 0; r < row.size; ++r, to += row.to, from += row.from) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

template <class T>
void fill_runs(std::byte* to, const std::byte* from, const CopyAxis& row, const CopyAxis& run) {
  for (std::int64_t r = 0; r < row.size; ++r, to += row.to, from += row.from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    T* target = reinterpret_cast<T*>(to);
    for (std::int64_t i = 0; i < run.size; ++i) {
      target[i] = value;
    }
  }
}

template <class T>
void reverse_runs(std::byte* to, const std::byte* from, const CopyAxis& row, const CopyAxis& run) {
  for (std::int64_t r = 0; r < row.size; ++r, to += row.to, from += row.from) {
    T* target = reinterpret_cast<T*>(to);
    const T* last = reinterpret_cast<const T*>(from);
    for (std::int64_t i = 0; i < run.size; ++i) {
      target[i] = last[-i];
    }
  }
}

// The axes that need a loop, outermost first: axes of size 1 are dropped, neighbours that walk both
// memories as one axis would are merged.
std::vector<CopyAxis> loop_axes(const Layout& to, const Layout& from, std::int64_t bytes) {
  std::vector<CopyAxis> axes;
  for (std::size_t i = 0; i < to.shape.size(); ++i) {
    const CopyAxis axis{to.shape[i], to.strides[i] * bytes, from.strides[i] * bytes};
    if (axis.size == 1) {
      continue;
    }
    if (!axes.empty() && axes.back().to == axis.size * axis.to &&
        axes.back().from == axis.size * axis.from) {
      axes.back() = {axes.back().size * axis.size, axis.to, axis.from};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

CopyAxis take(std::vector<CopyAxis>& axes, std::size_t index) {
  const CopyAxis axis = axes[index];
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(index));
  return axis;
}

// The one of the widest registers that this CPU has.
CopyBlock best_transpose(std::size_t element_bytes) {
  CopyBlock best = nullptr;
  for_each_simd_level([&]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    if (!best && cpu_supports(kLevel).yes) {
      best = transpose_loop<kLevel>(element_bytes);
    }
  });
  return best;
}

// Elements are moved as unsigned integers of their size.
template <class F>
void visit_size(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
  }
  fail<InternalError>("no element has {} bytes", bytes);
}

}  // namespace

CopyPlan::CopyPlan(const Layout& to, const Layout& from, std::size_t element_bytes) {
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  if (numel(to.shape) == 0) {
    return;
  }
  to_offset_ = to.offset * bytes;
  from_offset_ = from.offset * bytes;
  outer_ = loop_axes(to, from, bytes);
  run_ = outer_.empty() ? CopyAxis{1, bytes, bytes} : take(outer_, outer_.size() - 1);
  bool transposed = false;
  if (run_.to == bytes && run_.from != bytes && run_.from != 0) {
    for (std::size_t i = 0; i < outer_.size() && !transposed; ++i) {
      if (outer_[i].from == bytes) {
        row_ = take(outer_, i);
        transposed = true;
      }
    }
  }
  if (!transposed && !outer_.empty()) {
    row_ = take(outer_, outer_.size() - 1);
  }
  visit_size(element_bytes, [&](auto zero) {
    using T = decltype(zero);
    const bool packed = run_.to == bytes;
    copy_block_ = transposed                      ? best_transpose(element_bytes)
                  : packed && run_.from == bytes  ? copy_runs<T>
                  : packed && run_.from == 0      ? fill_runs<T>
                  : packed && run_.from == -bytes ? reverse_runs<T>
                                                  : copy_strided<T>;
  });
  run_piece_ = std::min(run_.size, transposed ? kTransposedSide : kCopyBlockBytes / bytes);
  row_piece_ = std::min(
      row_.size, transposed ? kTransposedSide
                            : std::max<std::int64_t>(1, kCopyBlockBytes / (run_piece_ * bytes)));
  blocks_ = num_pieces(row_.size, row_piece_) * num_pieces(run_.size, run_piece_);
  for (const CopyAxis& axis : outer_) {
    blocks_ *= axis.size;
  }
  const std::int64_t block_bytes = row_piece_ * run_piece_ * bytes;
  blocks_per_task_ = std::max<std::int64_t>(1, kCopyTaskBytes / block_bytes);
}

void CopyPlan::run(void* to, const void* from) const {
  std::byte* const target = static_cast<std::byte*>(to) + to_offset_;
  const std::byte* const source = static_cast<const std::byte*>(from) + from_offset_;
  const std::int64_t run_pieces = num_pieces(run_.size, run_piece_);
  const std::int64_t row_pieces = num_pieces(row_.size, row_piece_);
  parallel_ranges(blocks_, blocks_per_task_, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t run_first = block % run_pieces * run_piece_;
      const std::int64_t row_first = block / run_pieces % row_pieces * row_piece_;
      std::int64_t to_at = row_first * row_.to + run_first * run_.to;
      std::int64_t from_at = row_first * row_.from + run_first * run_.from;
      std::int64_t rest = block / run_pieces / row_pieces;
      for (std::size_t i = outer_.size(); i-- > 0; rest /= outer_[i].size) {
        to_at += rest % outer_[i].size * outer_[i].to;
        from_at += rest % outer_[i].size * outer_[i].from;
      }
      const CopyAxis row{std::min(row_piece_, row_.size - row_first), row_.to, row_.from};
      const CopyAxis run{std::min(run_piece_, run_.size - run_first), run_.to, run_.from};
      copy_block_(target + to_at, source + from_at, row, run);
    }
  });
}

}  // namespace antichain::cpu
