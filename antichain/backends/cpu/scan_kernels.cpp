#include "antichain/backends/cpu/scan_kernels.h"

#include <bit>
#include <memory>

#include "antichain/backends/cpu/scan_algorithms.h"
#include "antichain/backends/cpu/scan_choice.h"
#include "antichain/ops/affine_scan.h"

namespace antichain::cpu {

namespace {

std::unique_ptr<ScanAlgorithm> make_algorithm(const ScanShape& shape, const ScanChoice& choice) {
  if (choice.algorithm == kScanBlelloch) {
    return make_tree_scan(shape, kWholeTree);
  }
  if (choice.algorithm == kScanHybrid) {
    return make_tree_scan(shape, std::countr_zero(static_cast<std::uint64_t>(choice.chunk)));
  }
  return choice.algorithm == kScanChunked ? make_chunked_scan(shape, choice.chunk)
                                          : make_serial_scan(shape);
}

template <SimdLevel kLevel>
KernelFunction plan_scan(const KernelContext& context) {
  const ScanShape shape = scan_shape(context);
  const ScanRequest request{context.attr<std::string>("algorithm"),
                            context.attr<std::int64_t>("chunk")};
  const ScanLoops& loops = scan_loops<kLevel>(shape.matrices, shape.dtype);
  const std::shared_ptr<ScanAlgorithm> algorithm =
      make_algorithm(shape, choose_scan(shape, request, cores_of_machine()));
  return [=, &loops](KernelContext& run) {
    algorithm->run(ScanLanes(shape, loops, run.in(0).raw(), run.in(1).raw(), run.in(2).raw(),
                             run.out(0).raw(), run.out(1).raw()));
  };
}

}  // namespace

ScanShape scan_shape(const KernelContext& context) {
  const Shape& b = context.in(1).shape();
  const bool matrices = context.in(0).rank() > context.in(1).rank();
  const std::int64_t size = matrices ? b.back() : 1;
  const std::int64_t places = size == 0 ? 0 : context.in(2).numel() / size;
  return {.steps = b[0],
          .places = places,
          .size = size,
          .matrices = matrices,
          .transposed = context.attr<bool>("transposed"),
          .reverse = context.attr<bool>("reverse"),
          .dtype = context.in(1).dtype(),
          .columns = columns_per_lane(places, cores_of_machine())};
}

void register_scans(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    kernels.add(affine_scan_def(), {.name = std::string(name(kLevel)) + " scan",
                                    .supports = [](Op) { return cpu_supports(kLevel); },
                                    .plan = plan_scan<kLevel>});
  });
}

}  // namespace antichain::cpu
