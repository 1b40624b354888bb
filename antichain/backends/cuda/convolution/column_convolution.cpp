#include "antichain/backends/cuda/convolution/column_convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/elementwise/strided_loop.h"
#include "antichain/tensor/shape.h"

namespace antichain::cuda {

// ColumnConvolution::Sizes holds some, so it is in no anonymous namespace.
struct ColumnAxis {
  std::int64_t input, output, window, stride = 1, padding = 0, dilation = 1;

  bool is_plain() const { return window == 1 && stride == 1 && padding == 0; }
};
using ColumnAxes = std::vector<ColumnAxis>;

namespace {

constexpr std::size_t kAxes = 3;
constexpr std::int64_t kProductTile = 64;          // of a product, along both axes
constexpr std::int64_t kWantedTiles = 264;         // two per multiprocessor
constexpr std::int64_t kWorkspaceAlignment = 256;  // bytes, of pieces of the workspace
constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();

std::int64_t product_over(const ColumnAxes& axes, std::int64_t ColumnAxis::*size) {
  std::int64_t result = 1;
  for (const ColumnAxis& axis : axes) {
    result *= axis.*size;
  }
  return result;
}

// Three axes, the outer ones of size 1 where a problem has fewer.
ColumnAxes axes_of(const ConvProblem& problem) {
  const std::size_t count = problem.stride.size();
  ColumnAxes axes(kAxes - count, ColumnAxis{1, 1, 1});
  for (std::size_t i = 0; i < count; ++i) {
    axes.push_back({problem.x.sizes[2 + i], problem.output.sizes[2 + i],
                    problem.weight.sizes[2 + i], problem.stride[i], problem.padding[i],
                    problem.dilation[i]});
  }
  return axes;
}

bool is_packed(const ConvTensor& tensor) {
  return tensor.strides == contiguous_strides(tensor.sizes);
}

// The launch's slots for the memory that is read and written.
constexpr std::size_t kFrom = 5 + kAxes * 10, kTo = kFrom + 1;
constexpr std::size_t kPartsFrom = 2, kPartsTo = 3;

Launch column_launch(const Context& context, DType dtype, const std::string& name,
                     std::int64_t count, std::int64_t channels, std::int64_t samples,
                     const ColumnAxes& axes) {
  std::vector<std::int64_t> slots = {count, channels, samples, reciprocal_of(channels),
                                     reciprocal_of(samples)};
  for (const ColumnAxis& axis : axes) {
    slots.insert(slots.end(), {axis.input, axis.output, axis.window, axis.stride, axis.padding,
                               axis.dilation, reciprocal_of(axis.input), reciprocal_of(axis.output),
                               reciprocal_of(axis.window), reciprocal_of(axis.stride)});
  }
  slots.resize(kTo + 1);
  return {context, columns_text(dtype), name, count, std::move(slots)};
}

// How many parts samples are divided into so that their products fill a GPU.
std::int64_t parts_of_samples(std::int64_t samples, std::int64_t rows, std::int64_t columns) {
  const auto tiles = [](std::int64_t size) { return (size + kProductTile - 1) / kProductTile; };
  std::int64_t parts = std::min(samples, kWantedTiles / (tiles(rows) * tiles(columns)) + 1);
  while (samples % parts != 0) {
    ++parts;
  }
  return parts;
}

}  // namespace

struct ColumnConvolution::Sizes {
  std::int64_t samples, inputs, outputs;  // channels
  ColumnAxes axes;
  std::int64_t seen, positions;  // entries of a column, and columns per sample

  explicit Sizes(const ConvProblem& problem)
      : samples(problem.x.sizes[0]),
        inputs(problem.x.sizes[1]),
        outputs(problem.output.sizes[1]),
        axes(axes_of(problem)),
        seen(inputs * product_over(axes, &ColumnAxis::window)),
        positions(product_over(axes, &ColumnAxis::output)) {}

  bool are_plain() const { return std::ranges::all_of(axes, &ColumnAxis::is_plain); }
};

std::unique_ptr<ColumnConvolution> ColumnConvolution::of(
    const std::shared_ptr<const BlasLibrary>& library, const ConvProblem& problem) {
  const bool fits = (problem.dtype == f32 || problem.dtype == f64) &&
                    problem.weight.sizes[1] == problem.x.sizes[1] && is_packed(problem.x) &&
                    is_packed(problem.weight) && is_packed(problem.output);
  if (!fits) {
    return nullptr;
  }
  const Sizes sizes(problem);
  const std::int64_t largest =
      std::max({sizes.samples * sizes.seen * sizes.positions, numel(problem.x.sizes),
                numel(problem.output.sizes), sizes.samples * sizes.outputs * sizes.seen});
  if (largest > kMostElements) {
    return nullptr;
  }
  std::unique_ptr<ColumnConvolution> made(new ColumnConvolution(library, problem, sizes));
  return made->product_->is_possible() ? std::move(made) : nullptr;
}

ColumnConvolution::ColumnConvolution(const std::shared_ptr<const BlasLibrary>& library,
                                     const ConvProblem& problem, const Sizes& sizes)
    : result_(problem.result) {
  const auto& [samples, inputs, outputs, axes, seen, positions] = sizes;
  const std::int64_t parts =
      result_ == ConvResult::weight ? parts_of_samples(samples, outputs, seen) : samples;
  const std::int64_t together = samples / parts;  // samples whose columns lie side by side
  const auto bytes = [&](std::int64_t elements) {
    const std::int64_t exact = elements * static_cast<std::int64_t>(size_of(problem.dtype));
    return (exact + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  };
  const auto launch = [&](const char* name, std::int64_t count, std::int64_t channels,
                          const ColumnAxes& along) {
    return column_launch(library->context(), problem.dtype, name, count, channels, together, along);
  };
  if (!(sizes.are_plain() && together == 1)) {
    const std::int64_t count = samples * seen * positions;
    columns_ = bytes(count);
    if (result_ == ConvResult::x) {
      fold_.emplace(launch("fold", numel(problem.x.sizes), inputs, axes));
    } else {
      unfold_.emplace(launch("unfold", count, inputs, axes));
    }
  }
  BlasSizes product{.dtype = problem.dtype,
                    .rows = outputs,
                    .columns = positions,
                    .inner = seen,
                    .count = parts,
                    .b_step = seen * positions};
  switch (result_) {
    case ConvResult::output: break;
    case ConvResult::x:
      product.rows = seen;
      product.inner = outputs;
      product.transpose_a = true;
      product.b_step = outputs * positions;
      break;
    case ConvResult::weight:
      product.columns = seen;
      product.inner = together * positions;
      product.transpose_b = true;
      product.a_step = outputs * product.inner;
      product.b_step = seen * product.inner;
      if (together > 1) {
        ColumnAxes of_output = axes;
        for (ColumnAxis& axis : of_output) {
          axis = {axis.output, axis.output, 1};
        }
        const std::int64_t count = numel(problem.output.sizes);
        moved_ = bytes(count);
        move_.emplace(launch("unfold", count, outputs, of_output));
      }
      if (parts > 1) {
        parts_ = bytes(parts * outputs * seen);
        sum_.emplace(library->context(), columns_text(problem.dtype), "sum_parts", outputs * seen,
                     std::vector<std::int64_t>{outputs * seen, parts, 0, 0});
      }
  }
  product_ = std::make_unique<BlasProduct>(library, product);
}

std::int64_t ColumnConvolution::workspace() const { return columns_ + moved_ + parts_; }

void ColumnConvolution::run(const ConvOperands& operands, void* workspace) {
  std::byte* const columns = static_cast<std::byte*>(workspace);
  std::byte* const moved = columns + columns_;
  std::byte* const parts = moved + moved_;
  const auto from_to = [](std::optional<Launch>& launch, std::size_t first, const void* from,
                          const void* to) {
    if (launch) {
      launch->set(first, from);
      launch->set(first + 1, to);
      launch->run();
    }
  };
  // The result is among the operands, whose memory is handed on as what it is for most of them.
  const auto writable = [](const void* result) { return const_cast<void*>(result); };
  from_to(unfold_, kFrom, operands.x, columns);
  const void* const seen = unfold_ ? columns : operands.x;
  switch (result_) {
    case ConvResult::output: product_->run(operands.weight, seen, writable(operands.output)); break;
    case ConvResult::x:
      product_->run(operands.weight, operands.output, fold_ ? columns : writable(operands.x));
      from_to(fold_, kFrom, columns, operands.x);
      break;
    case ConvResult::weight:
      from_to(move_, kFrom, operands.output, moved);
      product_->run(move_ ? moved : operands.output, seen,
                    sum_ ? parts : writable(operands.weight));
      from_to(sum_, kPartsFrom, parts, operands.weight);
  }
}

std::string columns_text(DType dtype) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/window_columns.cuh"
using namespace antichain::device;
extern "C" __global__ void unfold(const ColumnArguments a) {{ unfold<{0}>(a); }}
extern "C" __global__ void fold(const ColumnArguments a) {{ fold<{0}>(a); }}
extern "C" __global__ void sum_parts(const PartArguments a) {{ sum_parts<{0}>(a); }}
)",
                     storage_type(dtype));
}

}  // namespace antichain::cuda
