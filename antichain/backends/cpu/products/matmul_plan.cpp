#include "antichain/backends/cpu/products/matmul_plan.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "antichain/backends/cpu/products/matmul_operand.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/work_blocks.h"

namespace antichain::cpu {

namespace {

// Thinner blocks spend their time on packing operands.
constexpr std::int64_t kFewestRows = 32, kFewestColumns = 64;
// Cuts at whole vector registers, and at whole tiles of the libraries' inner loops.
constexpr std::int64_t kRowGranule = 8, kColumnGranule = 16;

// One block of each of the products [first, last) of the batch; offsets in bytes.
struct Task {
  std::int64_t first, last;
  std::int64_t a, b;
  Block block;  // of the first product of the batch
  Product product;
};

struct MatmulPlan {
  MatmulOperand left, right;
  std::vector<std::int64_t> left_at, right_at;  // per product of the batch, bytes
  std::vector<Task> tasks;

  void run(const KernelContext& context, const ProductTarget& target) const;
};

void MatmulPlan::run(const KernelContext& context, const ProductTarget& target) const {
  const std::byte *a = left.read(context.in(0)), *b = right.read(context.in(1));
  const std::int64_t one = left.rows * right.columns;
  parallel_tasks(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t i) {
    const Task& task = tasks[static_cast<std::size_t>(i)];
    Block block = task.block;
    for (std::int64_t n = task.first; n < task.last; ++n) {
      const auto at = static_cast<std::size_t>(n);
      block.first = task.block.first + n * one;
      target.make(block, [&](void* elements) {
        task.product(a + left_at[at] + task.a, b + right_at[at] + task.b, elements);
      });
    }
  });
}

// Leading axes along which the right matrix stays the same are rows of one taller left matrix,
// where they lie at equal distances.
void merge_batch_into_rows(MatmulOperand& left, MatmulOperand& right, Shape& batch) {
  while (!batch.empty() && left.strides.column == 1 &&
         (batch.back() == 1 || (right.batch_strides.back() == 0 &&
                                left.batch_strides.back() == left.rows * left.strides.row))) {
    left.rows *= batch.back();
    batch.pop_back();
    left.batch_strides.pop_back();
    right.batch_strides.pop_back();
  }
}

// Gives an operand the leading axes of the result: an axis that is repeated has stride 0.
void broadcast_batch(MatmulOperand& operand, const Shape& batch) {
  const std::size_t missing = batch.size() - operand.batch.size();
  operand.batch_strides.insert(operand.batch_strides.begin(), missing, 0);
  for (std::size_t axis = 0; axis < operand.batch.size(); ++axis) {
    if (operand.batch[axis] == 1) {
      operand.batch_strides[axis + missing] = 0;
    }
  }
}

// Where each matrix of a batch starts, in bytes.
std::vector<std::int64_t> matrix_offsets(const Shape& batch, const Strides& strides,
                                         std::size_t element_bytes) {
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t axis = 0; axis < batch.size(); ++axis) {
    std::vector<std::int64_t> longer;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t n = 0; n < batch[axis]; ++n) {
        longer.push_back(offset + n * strides[axis] * static_cast<std::int64_t>(element_bytes));
      }
    }
    offsets = std::move(longer);
  }
  return offsets;
}

std::vector<Task> cut_into_tasks(const MatmulPlan& plan, std::int64_t count, DType dtype,
                                 bool apart, const MakeProduct& make) {
  const std::int64_t rows = plan.left.rows, columns = plan.right.columns;
  const std::int64_t inner = plan.left.columns;
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  const Grid grid = choose_grid(rows, columns, inner, count);
  const Cut row_cut(rows, grid.rows, kRowGranule),
      column_cut(columns, grid.columns, kColumnGranule);
  const double work = static_cast<double>(rows) * static_cast<double>(columns) *
                      static_cast<double>(inner) * static_cast<double>(count);
  const Cut batch_cut(count, std::min(count, wanted_blocks(work)), 1);
  std::vector<Task> tasks;
  for (std::int64_t n = 0; n < batch_cut.parts(); ++n) {
    for (std::int64_t i = 0; i < row_cut.parts(); ++i) {
      for (std::int64_t j = 0; j < column_cut.parts(); ++j) {
        const std::int64_t row = row_cut.first(i), column = column_cut.first(j);
        const Block block = {.first = row * columns + column,
                             .rows = row_cut.length_of(i),
                             .width = column_cut.length_of(j),
                             .step = columns};
        const ProductSizes sizes = {.dtype = dtype,
                                    .rows = block.rows,
                                    .columns = block.width,
                                    .inner = inner,
                                    .a = plan.left.strides,
                                    .b = plan.right.strides,
                                    .out_row = apart ? block.width : columns};
        tasks.push_back({.first = batch_cut.first(n),
                         .last = batch_cut.first(n) + batch_cut.length_of(n),
                         .a = row * plan.left.strides.row * bytes,
                         .b = column * plan.right.strides.column * bytes,
                         .block = block,
                         .product = make(sizes)});
      }
    }
  }
  return tasks;
}

}  // namespace

Grid choose_grid(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::int64_t count) {
  const double one =
      static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inner);
  std::int64_t blocks = wanted_blocks(one * static_cast<double>(count)) / count;
  for (; blocks > 1; blocks /= 2) {
    Grid best;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t i = 1; i <= blocks; i *= 2) {
      const std::int64_t j = blocks / i;
      // What is read: every part of the rows reads all of b, every part of the columns all of a.
      const double reads = static_cast<double>(i * columns + j * rows);
      const bool wide_enough =
          (i == 1 || rows / i >= kFewestRows) && (j == 1 || columns / j >= kFewestColumns);
      if (wide_enough && reads < least) {
        best = {i, j};
        least = reads;
      }
    }
    if (best.rows * best.columns > 1) {
      return best;
    }
  }
  return {};
}

ProductPlan plan_matmul(const KernelContext& context, DType dtype, const MakeProduct& make,
                        Destination to) {
  const Tensor& out = context.out();
  if (out.numel() == 0) {
    return {.run = [](KernelContext&, const TakeBlock*) {}};
  }
  auto plan = std::make_shared<MatmulPlan>(
      MatmulPlan{.left = MatmulOperand(context.in(0), context.attr<bool>("transpose_a"), dtype),
                 .right = MatmulOperand(context.in(1), context.attr<bool>("transpose_b"), dtype),
                 .left_at = {},
                 .right_at = {},
                 .tasks = {}});
  if (plan->left.columns == 0) {
    return plan_zeros();
  }
  Shape batch(out.shape().begin(), out.shape().end() - 2);
  broadcast_batch(plan->left, batch);
  broadcast_batch(plan->right, batch);
  merge_batch_into_rows(plan->left, plan->right, batch);
  plan->left_at = matrix_offsets(batch, plan->left.batch_strides, size_of(dtype));
  plan->right_at = matrix_offsets(batch, plan->right.batch_strides, size_of(dtype));
  // The product of converted elements has their type; of others it is what the op says.
  const DType computed = context.in(0).dtype() != dtype ? dtype : out.dtype();
  plan->tasks =
      cut_into_tasks(*plan, numel(batch), dtype, ProductTarget::is_apart(out, computed, to), make);
  const bool cuts_rows = std::ranges::any_of(
      plan->tasks, [](const Task& task) { return task.block.width != task.block.step; });
  return {.run =
              [plan, computed](KernelContext& run, const TakeBlock* take) {
                plan->run(run, ProductTarget(run.out(), computed, take));
              },
          .cuts_rows = cuts_rows};
}

}  // namespace antichain::cpu
