#include "antichain/backends/cuda/tall_kernels.h"

#include <fmt/format.h>

#include <algorithm>

namespace antichain::cuda {

namespace {

constexpr std::int64_t kJoinedTogether = 32, kJoiningThreads = 1024;  // see join_parts
constexpr std::int64_t kProductBlocks = 2 * kTallBlocks;  // as many as are there at once

bool is_aligned(const void* address) {
  constexpr std::uintptr_t kWidest = 16;  // bytes that are copied at once
  return reinterpret_cast<std::uintptr_t>(address) % kWidest == 0;
}

// The members of the kernels' arguments.
enum ReductionSlot : std::size_t {
  kReducedCount,
  kReducedTiles,
  kParts,
  kReducedAlignedA,
  kReducedAlignedB,
  kReducedA,
  kReducedB,
  kFound,
  kReducedOut,
  kReductionSlots
};
enum ProductSlot : std::size_t {
  kCount,
  kTiles,
  kBlocks,
  kAlignedA,
  kAlignedOut,
  kA,
  kB,
  kBias,
  kOut,
  kProductSlots
};

TallReductionForm reduction_form(const BlasSizes& s) {
  return choose_tall_reduction(s.rows, s.columns, s.inner, !s.transpose_a, s.transpose_b);
}

std::int64_t tiles_of(const BlasSizes& s) { return divided_up(s.inner, reduction_form(s).tile); }
std::int64_t parts_of(const BlasSizes& s) {
  return std::min<std::int64_t>(tiles_of(s), kTallBlocks);
}

TallProductForm product_form(const BlasSizes& s) {
  return choose_tall_product(s.rows, s.inner, s.columns, {s.transpose_b, s.bias, s.relu});
}

std::vector<std::int64_t> reduction_slots(const BlasSizes& s) {
  std::vector<std::int64_t> slots(kReductionSlots);
  slots[kReducedCount] = s.inner;
  slots[kReducedTiles] = tiles_of(s);
  slots[kParts] = parts_of(s);
  return slots;
}

Launch sum_launch(const Context& context, const BlasSizes& s) {
  const TallReductionForm form = reduction_form(s);
  return {context,
          tall_reduction_text(form),
          "sum_tiles",
          parts_of(s),
          dim3(TallReductionForm::kThreads),
          reduction_slots(s),
          static_cast<std::size_t>(form.shared_floats()) * sizeof(float)};
}

Launch join_launch(const Context& context, const BlasSizes& s) {
  const TallReductionForm form = reduction_form(s);
  return {context,
          tall_reduction_text(form),
          "join_parts",
          divided_up(s.rows * s.columns, kJoinedTogether),
          dim3(kJoiningThreads),
          reduction_slots(s)};
}

Launch product_launch(const Context& context, const BlasSizes& s) {
  const TallProductForm form = product_form(s);
  const std::int64_t tiles = divided_up(s.rows, form.tile());
  // Blocks that go through equally many tiles.
  const std::int64_t turns = divided_up(tiles, kProductBlocks);
  const std::int64_t blocks = divided_up(tiles, turns);
  std::vector<std::int64_t> slots(kProductSlots);
  slots[kCount] = s.rows;
  slots[kTiles] = tiles;
  slots[kBlocks] = blocks;
  return {context,
          tall_product_text(form),
          "multiply_tiles",
          blocks,
          dim3(TallProductForm::kThreads),
          std::move(slots),
          static_cast<std::size_t>(form.shared_floats()) * sizeof(float)};
}

}  // namespace

std::string tall_reduction_text(const TallReductionForm& form) {
  return fmt::format(
      R"(#include "antichain/backends/cuda/device/tensor_core.cuh"
#include "antichain/backends/cuda/device/tall_reduction.cuh"
using namespace antichain::device;
constexpr TallReductionForm kForm = {{
    .rows = {}, .columns = {}, .along_a = {}, .along_b = {}, .down = {}, .across = {},
    .own_rows = {}, .own_columns = {}, .tile = {}}};
extern __shared__ uint4 shared[];
extern "C" __global__ void __launch_bounds__(TallReductionForm::kThreads, 2)
sum_tiles(const __grid_constant__ TallReductionArguments a) {{
  sum_tiles<kForm>(a, (float*)shared);
}}
extern "C" __global__ void __launch_bounds__(kJoiningThreads)
join_parts(const __grid_constant__ TallReductionArguments a) {{
  __shared__ double sums[kJoinedTogether * (kJoinedTogether + 1)];
  join_parts<kForm>(a, sums);
}}
)",
      form.rows, form.columns, form.along_a, form.along_b, form.down, form.across, form.own_rows,
      form.own_columns, form.tile);
}

std::string tall_product_text(const TallProductForm& form) {
  return fmt::format(
      R"(#include "antichain/backends/cuda/device/tensor_core.cuh"
#include "antichain/backends/cuda/device/tall_product.cuh"
using namespace antichain::device;
constexpr TallProductForm kForm = {{
    .inner = {}, .columns = {}, .transpose_b = {}, .bias = {}, .relu = {}, .down = {},
    .across = {}, .own_rows = {}, .own_quads = {}}};
extern __shared__ FourNumbers shared[];
extern "C" __global__ void __launch_bounds__(TallProductForm::kThreads, 4)
multiply_tiles(const __grid_constant__ TallProductArguments a) {{
  multiply_tiles<kForm>(a, shared);
}}
)",
      form.inner, form.columns, form.transpose_b, form.bias, form.relu, form.down, form.across,
      form.own_rows, form.own_quads);
}

bool TallReduction::fits(const BlasSizes& s) {
  return s.dtype == DType::f32 && s.count == 1 && !s.bias && !s.relu && s.inner >= kLeastTall &&
         s.rows <= kMostNarrow && s.columns <= kMostNarrow;
}

TallReduction::TallReduction(const Context& context, const BlasSizes& s)
    : rows_aligned_a_(s.transpose_a || s.inner % 4 == 0),
      rows_aligned_b_(!s.transpose_b || s.inner % 4 == 0),
      found_(DeviceContext::allocate(
          context, static_cast<std::size_t>(parts_of(s) * s.rows * s.columns) * sizeof(float))),
      sum_(sum_launch(context, s)),
      join_(join_launch(context, s)) {
  sum_.set(kFound, found_->data());
  join_.set(kFound, found_->data());
}

void TallReduction::run(const void* a, const void* b, void* out) {
  sum_.set(kReducedAlignedA, std::int64_t{rows_aligned_a_ && is_aligned(a)});
  sum_.set(kReducedAlignedB, std::int64_t{rows_aligned_b_ && is_aligned(b)});
  sum_.set(kReducedA, a);
  sum_.set(kReducedB, b);
  sum_.run();
  join_.set(kReducedOut, out);
  join_.run();
}

bool TallProduct::fits(const BlasSizes& s) {
  return s.dtype == DType::f32 && s.count == 1 && !s.transpose_a && s.rows >= kLeastTall &&
         s.inner <= kMostNarrow && s.columns <= kMostNarrow;
}

TallProduct::TallProduct(const Context& context, const BlasSizes& s)
    : multiply_(product_launch(context, s)) {}

void TallProduct::run(const void* a, const void* b, void* out, const void* bias) {
  multiply_.set(kAlignedA, std::int64_t{is_aligned(a)});
  multiply_.set(kAlignedOut, std::int64_t{is_aligned(out)});
  multiply_.set(kA, a);
  multiply_.set(kB, b);
  multiply_.set(kBias, bias);
  multiply_.set(kOut, out);
  multiply_.run();
}

}  // namespace antichain::cuda
