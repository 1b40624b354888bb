// How fused rows are computed: block by block of rows, or chunk by chunk of long ones.
#include <algorithm>

#include "antichain/backends/cpu/rows/fused_rows.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/thread_scratch.h"

namespace antichain::cpu {

namespace {

// The address of element 0 of something of which only what follows `bytes` is there.
std::byte* before(std::byte* address, std::int64_t bytes) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) -
                                      static_cast<std::uintptr_t>(bytes));
}

}  // namespace

std::byte* FusedRows::scratch() const {
  return thread_scratch(std::max(kCacheLine, block_bytes_ + loops_bytes_));
}

// Where element 0 of a value is, or would be.
std::byte* FusedRows::address(const Value& value, const Block& block) const {
  if (value.home == Home::block) {
    const std::int64_t first =
        value.of_rows ? block.first_row : block.first_row * row_ + block.first;
    return before(block.scratch + value.at, first * bytes_of(value.dtype));
  }
  return given_[static_cast<std::size_t>(&value - values_.data())];
}

void FusedRows::run_loops(const Loops& loops, const Block& block, std::int64_t first,
                          std::int64_t last) const {
  if (!loops.plan) {
    return;
  }
  ElementwisePlan::Operands operands;
  for (std::size_t i = 0; i < loops.in.size(); ++i) {
    operands.in[i] = address(values_[static_cast<std::size_t>(loops.in[i])], block);
  }
  for (std::size_t i = 0; i < loops.out.size(); ++i) {
    operands.out[i] = address(values_[static_cast<std::size_t>(loops.out[i])], block);
  }
  loops.plan->run_range(operands, first, last, block.scratch + block_bytes_);
}

void FusedRows::run_domain(const Round& round, const Block& block) const {
  run_loops(round.domain, block, block.first_row * row_ + block.first,
            (block.last_row - 1) * row_ + block.last);
}

void FusedRows::fold(const FoldStep& step, const Block& block, void* totals) const {
  const Value& from = values_[static_cast<std::size_t>(step.from)];
  const std::int64_t first = block.first_row * row_ + block.first;
  step.fold.fold(step.reduction, address(from, block) + first * bytes_of(from.dtype),
                 block.last_row - block.first_row, block.first, block.last, totals);
}

void FusedRows::run_block(const Block& block) const {
  const std::int64_t rows = block.last_row - block.first_row;
  for (const Round& round : rounds_) {
    run_loops(round.rows, block, block.first_row, block.last_row);
    run_domain(round, block);
    for (const FoldStep& step : round.folds) {
      alignas(RowFold::kTotalBytes) std::byte totals[Reduction::kMaxBlock * RowFold::kTotalBytes];
      fold(step, block, totals);
      const Value& to = values_[static_cast<std::size_t>(step.to)];
      step.fold.write(totals, rows, row_,
                      address(to, block) + block.first_row * bytes_of(to.dtype));
    }
  }
}

void FusedRows::run_in_chunks() {
  const std::int64_t chunks = cut_->chunks(), size = cut_->chunk();
  // Totals of one reduction follow each other by chunk, then by row.
  const auto totals_of = [&](std::size_t fold, std::int64_t chunk) {
    const std::int64_t part = static_cast<std::int64_t>(fold) * chunks + chunk;
    return partial_.data() + static_cast<std::size_t>(part * rows_) * RowFold::kTotalBytes;
  };
  for (const Round& round : rounds_) {
    run_loops(round.rows, {0, rows_, 0, row_, scratch()}, 0, rows_);
    parallel_tasks(rows_ * chunks, [&](std::int64_t n) {
      const std::int64_t row = n / chunks, chunk = n % chunks;
      const Block block{row, row + 1, chunk * size, std::min(row_, (chunk + 1) * size), scratch()};
      run_domain(round, block);
      for (std::size_t i = 0; i < round.folds.size(); ++i) {
        fold(round.folds[i], block,
             totals_of(i, chunk) + static_cast<std::size_t>(row) * RowFold::kTotalBytes);
      }
    });
    for (std::size_t i = 0; i < round.folds.size(); ++i) {
      const FoldStep& step = round.folds[i];
      for (std::int64_t chunk = 1; chunk < chunks; ++chunk) {
        step.fold.join(totals_of(i, 0), totals_of(i, chunk), rows_);
      }
      step.fold.write(totals_of(i, 0), rows_, row_, given_[static_cast<std::size_t>(step.to)]);
    }
  }
}

void FusedRows::run(const KernelContext& context) {
  for (const Round& round : rounds_) {
    for (const FoldStep& step : round.folds) {
      step.fold.op.require_elements(step.reduction, context.where);
    }
  }
  if (rows_ == 0) {
    return;
  }
  for (std::size_t n = 0; n < values_.size(); ++n) {
    const Value& value = values_[n];
    const auto index = static_cast<std::size_t>(value.index);
    if (value.home == Home::input) {
      const Tensor& tensor = index < context.inputs.size()
                                 ? *context.inputs[index]
                                 : numbers_[index - context.inputs.size()];
      given_[n] = static_cast<std::byte*>(tensor.raw());
    } else if (value.home == Home::output) {
      given_[n] = static_cast<std::byte*>(context.out(value.index).raw());
    } else if (value.home == Home::shared) {
      given_[n] = shared_.data() + value.at;
    }
  }
  if (cut_->in_chunks()) {
    run_in_chunks();
    return;
  }
  const auto run_some = [this](std::int64_t first, std::int64_t last) {
    std::byte* const memory = scratch();
    for (std::int64_t row = first; row < last; row += block_rows_) {
      run_block({row, std::min(last, row + block_rows_), 0, row_, memory});
    }
  };
  const std::int64_t blocks =
      std::max<std::int64_t>(1, kElementGrain / std::max<std::int64_t>(1, block_rows_ * row_));
  if (rows_ * row_ * static_cast<std::int64_t>(rounds_.size()) < kParallelFrom) {
    run_some(0, rows_);
  } else {
    parallel_ranges(rows_, blocks * block_rows_, run_some);
  }
}

}  // namespace antichain::cpu
