#include "antichain/backends/cpu/rows/reduction.h"

#include <limits>

#include "antichain/backends/cpu/threads/work_blocks.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kChunkElements = 1 << 15;     // of one task, at least
constexpr std::int64_t kMaxChunkElements = 1 << 18;  // of one chunk, so that its totals are few
constexpr std::int64_t kEnoughBlocks = 64;           // for any number of threads
constexpr std::int64_t kFewColumns = 32;             // fewer do not fill a few registers

template <class Total>
Total neutral(Fold fold) {
  using Limits = std::numeric_limits<Total>;
  const Total infinity = Limits::has_infinity ? Limits::infinity() : Limits::max();
  switch (fold) {
    case Fold::product: return 1;
    case Fold::smallest: return infinity;
    case Fold::largest: return Limits::has_infinity ? -infinity : Limits::lowest();
    default: return 0;
  }
}

}  // namespace

template <class Total>
void join_totals(Fold fold, Total* totals, const Total* others, std::int64_t count) {
  const auto each = [=](auto join) {
    for (std::int64_t i = 0; i < count; ++i) {
      totals[i] = static_cast<Total>(join(totals[i], others[i]));
    }
  };
  // Integers wrap.
  using Wrapping = std::conditional_t<std::is_integral_v<Total>, std::uint64_t, Total>;
  switch (fold) {
    case Fold::product:
      return each(
          [](Total a, Total b) { return static_cast<Wrapping>(a) * static_cast<Wrapping>(b); });
    case Fold::smallest: return each([](Total a, Total b) { return b < a || b != b ? b : a; });
    case Fold::largest: return each([](Total a, Total b) { return b > a || b != b ? b : a; });
    default:
      return each(
          [](Total a, Total b) { return static_cast<Wrapping>(a) + static_cast<Wrapping>(b); });
  }
}

template void join_totals(Fold, double*, const double*, std::int64_t);
template void join_totals(Fold, std::int64_t*, const std::int64_t*, std::int64_t);

Reduction::Reduction(const Shape& shape, const std::vector<bool>& reduced,
                     std::size_t element_bytes)
    : element_bytes_(static_cast<std::int64_t>(element_bytes)) {
  struct Group {
    Axis axis;
    bool reduced;
  };
  std::vector<Group> groups;  // innermost first
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    (reduced[i] ? count_ : outputs_) *= shape[i];
    if (shape[i] != 1) {
      if (!groups.empty() && groups.back().reduced == reduced[i]) {
        groups.back().axis.size *= shape[i];
      } else {
        groups.push_back({{shape[i], stride}, reduced[i]});
      }
    }
    stride *= shape[i];
  }
  if (outputs_ == 0) {
    return;
  }
  by_columns_ = !groups.empty() && !groups[0].reduced;
  line_.stride = width_.stride = 1;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Axis axis = groups[i].axis;
    if (i < 2) {
      (groups[i].reduced ? line_ : width_) = axis;
    } else {
      auto& axes = groups[i].reduced ? reduced_ : kept_;
      axes.insert(axes.begin(), axis);
    }
  }
  blocks_ = 1;
  for (const Axis& axis : kept_) {
    blocks_ *= axis.size;
  }
  const std::int64_t few = kChunkElements / std::max<std::int64_t>(count_, 1);
  block_ =
      std::clamp<std::int64_t>(by_columns_ ? kMaxBlock : few, 1, std::min(width_.size, kMaxBlock));
  if (by_columns_ && block_ == width_.size && block_ < kFewColumns) {
    repeats_ = std::clamp<std::int64_t>(2 * kFewColumns / block_, 1,
                                        std::max<std::int64_t>(line_.size, 1));
  }
  blocks_ *= num_pieces(width_.size, block_);
  chunk_ = std::max<std::int64_t>(count_, 1);
  if (blocks_ < kEnoughBlocks && count_ * block_ > kChunkElements) {
    // Every chunk of columns has as many totals as the block: they should be few for its elements.
    const std::int64_t fewest = by_columns_ ? 2 * kChunkElements : kChunkElements;
    const std::int64_t elements =
        std::clamp(outputs_ * count_ / kEnoughBlocks, fewest, kMaxChunkElements);
    chunk_ = std::max<std::int64_t>(1, elements / block_);
    chunks_ = num_pieces(count_, chunk_);
    partial_.resize(static_cast<std::size_t>(chunks_ * outputs_) * sizeof(double));
    shifts_.resize(static_cast<std::size_t>(outputs_));
  }
}

Reduction::Block Reduction::block_of(std::int64_t first_output, std::int64_t width) const {
  const std::int64_t start = first_output % width_.size;
  std::int64_t rest = first_output / width_.size, offset = start * width_.stride;
  for (std::size_t i = kept_.size(); i-- > 0; rest /= kept_[i].size) {
    offset += rest % kept_[i].size * kept_[i].stride;
  }
  return {offset, first_output, width};
}

Reduction::Block Reduction::block_at(std::int64_t index) const {
  const std::int64_t per_row = num_pieces(width_.size, block_);
  const std::int64_t start = index % per_row * block_;
  return block_of(index / per_row * width_.size + start, std::min(block_, width_.size - start));
}

std::int64_t Reduction::grain() const {
  return std::max<std::int64_t>(1, kChunkElements / std::max<std::int64_t>(1, chunk_ * block_));
}

// Folds positions [first, last) of what is reduced into the outputs of a block.
template <class Total>
void Reduction::fold_chunk(const std::byte* x, const Block& block, std::int64_t first,
                           std::int64_t last, const FoldStage& stage, const double* shifts,
                           Total* totals) const {
  Total repeated[kMaxBlock];
  double wide_shifts[kMaxBlock];
  const std::int64_t columns = block.width * repeats_;
  Total* wide = repeats_ > 1 ? repeated : totals;
  std::fill_n(wide, columns, neutral<Total>(stage.fold));
  const double* given = shifts;
  if (shifts && repeats_ > 1) {
    for (std::int64_t i = 0; i < columns; ++i) {
      wide_shifts[i] = shifts[i % block.width];
    }
    given = wide_shifts;
  }
  for_each_matrix_of(block, first, last, [&](const ReductionMatrix& matrix) {
    const std::byte* from = x + matrix.offset * element_bytes_;
    if (by_columns_) {
      const std::int64_t together = matrix.rows / repeats_, stride = matrix.stride;
      const std::byte* behind = from + together * repeats_ * stride * element_bytes_;
      stage.loops.columns(from, together, repeats_ * stride, columns, given, wide);
      stage.loops.columns(behind, matrix.rows - together * repeats_, stride, block.width, given,
                          wide);
    } else {
      stage.loops.rows(from, matrix.rows, matrix.stride, matrix.columns, given, wide);
    }
  });
  if (repeats_ > 1) {
    std::copy_n(wide, block.width, totals);
  }
  for (std::int64_t k = 1; k < repeats_; ++k) {
    join_totals(stage.fold, totals, wide + k * block.width, block.width);
  }
}

template <class Total>
void Reduction::fold_all_chunks(const std::byte* x, const FoldStage& stage, const double* shifts,
                                Finish<Total> finish) {
  auto* partial = reinterpret_cast<Total*>(partial_.data());
  parallel_tasks(blocks_ * chunks_, [&](std::int64_t task) {
    const Block block = block_at(task / chunks_);
    const std::int64_t chunk = task % chunks_;
    fold_chunk(x, block, chunk * chunk_, std::min(count_, (chunk + 1) * chunk_), stage,
               shifts ? shifts + block.first_output : nullptr,
               partial + chunk * outputs_ + block.first_output);
  });
  const std::int64_t grain = std::clamp<std::int64_t>(kChunkElements / chunks_, 1, kMaxBlock);
  parallel_ranges(outputs_, grain, [&](std::int64_t first, std::int64_t last) {
    Total totals[kMaxBlock];
    std::copy(partial + first, partial + last, totals);
    for (std::int64_t chunk = 1; chunk < chunks_; ++chunk) {
      join_totals(stage.fold, totals, partial + chunk * outputs_ + first, last - first);
    }
    finish(first, last - first, totals, shifts ? shifts + first : nullptr);
  });
}

template <class Total>
void Reduction::run(const void* x, const FoldStage& stage, Finish<Total> finish) {
  const auto* data = static_cast<const std::byte*>(x);
  if (chunks_ > 1) {
    fold_all_chunks(data, stage, nullptr, finish);
    return;
  }
  parallel_ranges(blocks_, grain(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t n = first; n < last; ++n) {
      const Block block = block_at(n);
      Total totals[kMaxBlock];
      fold_chunk(data, block, 0, count_, stage, nullptr, totals);
      finish(block.first_output, block.width, totals, nullptr);
    }
  });
}

template <class Total>
void Reduction::fold_rows(const void* x, std::int64_t outputs, std::int64_t first,
                          std::int64_t last, const FoldStage& stage, Total* totals) const {
  fold_chunk(static_cast<const std::byte*>(x), {-first, 0, outputs}, first, last, stage, nullptr,
             totals);
}

template void Reduction::fold_rows(const void*, std::int64_t, std::int64_t, std::int64_t,
                                   const FoldStage&, double*) const;
template void Reduction::fold_rows(const void*, std::int64_t, std::int64_t, std::int64_t,
                                   const FoldStage&, std::int64_t*) const;

template void Reduction::run(const void*, const FoldStage&, Finish<double>);
template void Reduction::run(const void*, const FoldStage&, Finish<std::int64_t>);

void Reduction::run_twice(const void* x, const FoldStage& first_stage,
                          FunctionRef<double(double)> shift, const FoldStage& second_stage,
                          Finish<double> finish) {
  const auto* data = static_cast<const std::byte*>(x);
  if (chunks_ > 1) {
    const auto keep = [&](std::int64_t first, std::int64_t count, const double* totals,
                          const double*) {
      std::transform(totals, totals + count, shifts_.data() + first, shift);
    };
    fold_all_chunks<double>(data, first_stage, nullptr, keep);
    fold_all_chunks(data, second_stage, shifts_.data(), finish);
    return;
  }
  // Block by block, so that the second walk finds its elements in a cache.
  parallel_ranges(blocks_, grain(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t n = first; n < last; ++n) {
      const Block block = block_at(n);
      double totals[kMaxBlock], shifts[kMaxBlock];
      fold_chunk(data, block, 0, count_, first_stage, nullptr, totals);
      std::transform(totals, totals + block.width, shifts, shift);
      fold_chunk(data, block, 0, count_, second_stage, shifts, totals);
      finish(block.first_output, block.width, totals, shifts);
    }
  });
}

}  // namespace antichain::cpu
