#include "antichain/backends/cpu/scans/scan_kernels.h"

#include <fmt/format.h>

#include <bit>
#include <memory>

#include "antichain/backends/cpu/scans/scan_algorithms.h"
#include "antichain/backends/cpu/scans/scan_choice.h"
#include "antichain/ops/scans/affine_scan.h"

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
      make_algorithm(shape, choose_scan(shape, request, cores_of_machine(), known_scan_costs()));
  return [=, &loops](KernelContext& run) {
    algorithm->run(ScanLanes(shape, loops, run.in(0).raw(), run.in(1).raw(), run.in(2).raw(),
                             run.out(0).raw(), run.out(1).raw()));
  };
}

// By the shapes of a and b.
ScanShape shape_of(const Shape& a, const Shape& b, DType dtype, const Attrs& attrs) {
  const bool matrices = a.size() > b.size();
  const std::int64_t size = matrices ? b.back() : 1;
  const std::int64_t numbers = numel(Shape(b.begin() + 1, b.end()));
  const std::int64_t places = size == 0 ? 0 : numbers / size;
  return {.steps = b[0],
          .places = places,
          .size = size,
          .matrices = matrices,
          .transposed = attrs.get<bool>("transposed"),
          .reverse = attrs.get<bool>("reverse"),
          .dtype = dtype,
          .columns = columns_per_lane(places, cores_of_machine())};
}

}  // namespace

ScanShape scan_shape(const KernelContext& context) {
  return shape_of(context.in(0).shape(), context.in(1).shape(), context.in(1).dtype(),
                  *context.attrs);
}

std::string explain_scan(Op affine_scan, const DimEnv& sizes) {
  const Attrs& attrs = affine_scan.attrs();
  const ScanShape shape =
      shape_of(evaluate(affine_scan.input(0).shape(), sizes),
               evaluate(affine_scan.input(1).shape(), sizes), affine_scan.input(1).dtype(), attrs);
  const ScanChoice choice =
      choose_scan(shape, {attrs.get<std::string>("algorithm"), attrs.get<std::int64_t>("chunk")},
                  cores_of_machine(), known_scan_costs());
  const std::string of = shape.matrices
                             ? fmt::format("{0} matrices of {1} x {1}", shape.places, shape.size)
                             : fmt::format("{} entries of diagonals", shape.places);
  const std::string chunk =
      choice.chunk > 0 ? fmt::format(" with chunks of {} steps", choice.chunk) : "";
  return fmt::format("{}{}, for {} steps of {} on {} cores: {}", choice.algorithm, chunk,
                     shape.steps, of, cores_of_machine(), choice.reason);
}

void register_scans(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    kernels.add(affine_scan_def(), {.name = std::string(name(kLevel)) + " scan",
                                    .supports = [](Op) { return cpu_supports(kLevel); },
                                    .plan = plan_scan<kLevel>});
  });
}

}  // namespace antichain::cpu
