#include "antichain/backends/cuda/products/tall_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "antichain/backends/cuda/elementwise/element_runs.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kJoinedTogether = 32, kJoiningThreads = 1024;  // see join_parts
constexpr std::int64_t kProductBlocks = 2 * kTallBlocks;  // as many as are there at once

// The members of the kernels' arguments.
struct ReductionSlot {
  enum : std::size_t {
    kCount,
    kTiles,
    kParts,
    kFound,
    kOut,
    kAlignedA,
    kAlignedB,
    kA,
    kB = kA + TallSources::kMost,
    kNumSlots = kB + TallSources::kMost
  };
};
struct ProductSlot {
  enum : std::size_t {
    kCount,
    kTiles,
    kBlocks,
    kAlignedA,
    kAlignedOut,
    kA,
    kB,
    kBias,
    kOut,
    kNumSlots
  };
};

std::int64_t reduction_tiles(const TallReductionForm& form, std::int64_t count) {
  return divided_up(count, form.tile);
}
std::int64_t reduction_parts(const TallReductionForm& form, std::int64_t count) {
  return std::min<std::int64_t>(reduction_tiles(form, count), kTallBlocks);
}

TallProductForm product_form(const BlasSizes& s) {
  return choose_tall_product(s.rows, s.inner, s.columns, {s.transpose_b, s.bias, s.relu});
}

std::vector<std::int64_t> reduction_slots(const TallReductionForm& form, std::int64_t count) {
  std::vector<std::int64_t> slots(ReductionSlot::kNumSlots);
  slots[ReductionSlot::kCount] = count;
  slots[ReductionSlot::kTiles] = reduction_tiles(form, count);
  slots[ReductionSlot::kParts] = reduction_parts(form, count);
  return slots;
}

Launch sum_launch(const Context& context, const TallReductionForm& form, std::int64_t count) {
  return {context,
          tall_reduction_text(form),
          "sum_tiles",
          reduction_parts(form, count),
          dim3(TallReductionForm::kThreads),
          reduction_slots(form, count),
          static_cast<std::size_t>(form.shared_floats()) * sizeof(float)};
}

Launch join_launch(const Context& context, const TallReductionForm& form, std::int64_t count) {
  return {context,
          tall_reduction_text(form),
          "join_parts",
          divided_up(std::int64_t{form.rows()} * form.columns(), kJoinedTogether),
          dim3(kJoiningThreads),
          reduction_slots(form, count)};
}

// Sets the addresses of the matrices of one side, and which of them are multiples of 16 bytes.
void set_sources(Launch& launch, std::size_t first, std::size_t aligned_slot,
                 TallReduction::Addresses addresses, bool steps_aligned) {
  std::int64_t aligned = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    launch.set(first + i, addresses[i]);
    aligned |= std::int64_t{steps_aligned && is_aligned(addresses[i])} << i;
  }
  launch.set(aligned_slot, aligned);
}

// C++ for the matrices of one side.
std::string sources_text(const TallSources& sources) {
  return fmt::format("{{.widths = {{{}}}, .ones = {}}}",
                     fmt::join(sources.widths, sources.widths + sources.count(), ", "),
                     sources.ones);
}

Launch product_launch(const Context& context, const BlasSizes& s) {
  const TallProductForm form = product_form(s);
  const std::int64_t tiles = divided_up(s.rows, form.tile());
  // Blocks that go through equally many tiles.
  const std::int64_t turns = divided_up(tiles, kProductBlocks);
  const std::int64_t blocks = divided_up(tiles, turns);
  std::vector<std::int64_t> slots(ProductSlot::kNumSlots);
  slots[ProductSlot::kCount] = s.rows;
  slots[ProductSlot::kTiles] = tiles;
  slots[ProductSlot::kBlocks] = blocks;
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
    .left = {}, .right = {},
    .along_a = {}, .along_b = {}, .down = {}, .across = {}, .own_rows = {}, .own_columns = {},
    .tile = {}}};
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
      sources_text(form.left), sources_text(form.right), form.along_a, form.along_b, form.down,
      form.across, form.own_rows, form.own_columns, form.tile);
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
    : TallReduction(context,
                    choose_tall_reduction(one_source(s.rows), one_source(s.columns), s.inner,
                                          !s.transpose_a, s.transpose_b),
                    s.inner) {}

TallReduction::TallReduction(const Context& context, const TallSources& left,
                             const TallSources& right, std::int64_t count)
    : TallReduction(context, choose_tall_reduction(left, right, count, false, false), count) {}

TallReduction::TallReduction(const Context& context, const TallReductionForm& form,
                             std::int64_t count)
    : steps_aligned_a_(!form.along_a || count % 4 == 0),
      steps_aligned_b_(!form.along_b || count % 4 == 0),
      found_(DeviceContext::allocate(
          context,
          static_cast<std::size_t>(reduction_parts(form, count) * form.rows() * form.columns()) *
              sizeof(float))),
      sum_(sum_launch(context, form, count)),
      join_(join_launch(context, form, count)) {
  sum_.set(ReductionSlot::kFound, found_->data());
  join_.set(ReductionSlot::kFound, found_->data());
}

void TallReduction::run(Addresses a, Addresses b, void* out) {
  set_sources(sum_, ReductionSlot::kA, ReductionSlot::kAlignedA, a, steps_aligned_a_);
  set_sources(sum_, ReductionSlot::kB, ReductionSlot::kAlignedB, b, steps_aligned_b_);
  sum_.run();
  join_.set(ReductionSlot::kOut, out);
  join_.run();
}

bool TallProduct::fits(const BlasSizes& s) {
  return s.dtype == DType::f32 && s.count == 1 && !s.transpose_a && s.rows >= kLeastTall &&
         s.inner <= kMostNarrow && s.columns <= kMostNarrow;
}

TallProduct::TallProduct(const Context& context, const BlasSizes& s)
    : multiply_(product_launch(context, s)) {}

void TallProduct::run(const void* a, const void* b, void* out, const void* bias) {
  multiply_.set(ProductSlot::kAlignedA, std::int64_t{is_aligned(a)});
  multiply_.set(ProductSlot::kAlignedOut, std::int64_t{is_aligned(out)});
  multiply_.set(ProductSlot::kA, a);
  multiply_.set(ProductSlot::kB, b);
  multiply_.set(ProductSlot::kBias, bias);
  multiply_.set(ProductSlot::kOut, out);
  multiply_.run();
}

}  // namespace antichain::cuda
