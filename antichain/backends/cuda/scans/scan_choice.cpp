#include "antichain/backends/cuda/scans/scan_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/backends/cuda/device/affine_sizes.cuh"
#include "antichain/backends/cuda/scans/weighted_choice.h"
#include "antichain/backends/cuda/scans/weighted_tuning.h"
#include "antichain/ops/scans/affine_scan.h"

namespace antichain::cuda {

namespace {

// Estimates for an H200, in seconds and per second, from what bounds the kernels: latencies of
// memory and of sums, arithmetic without tensor cores at a third of its peak, memory at a half.
constexpr double kLaunch = 3e-6, kBytes = 2.5e12, kMultiplyAdds = 1e13;
constexpr double kBytesOfBlock = 6e10;  // that one multiprocessor reads
constexpr std::int64_t kFewestSteps = 8, kMostSteps = 4096;

struct StepSeconds {
  double run;       // a step of a walk, after another
  double multiply;  // a step of a product, likewise
};

StepSeconds step_seconds(const AffineSizes& sizes, double bytes) {
  const auto n = static_cast<double>(sizes.size);
  if (!sizes.matrices) {
    return {.run = 0.1e-6, .multiply = 0.1e-6};
  }
  if (sizes.size <= device::kMostNarrow) {
    return {.run = 0.12e-6 + 4e-9 * n, .multiply = 0.1e-6 + 1.5e-9 * n * n};
  }
  return {.run = 1e-6 + n * n * bytes / kBytesOfBlock, .multiply = kLaunch + 30e-9 * n};
}

struct Estimates {
  double serial, chunked;
};

Estimates estimate(const AffineSizes& sizes, std::int64_t chunk) {
  const auto bytes = static_cast<double>(size_of(sizes.dtype));
  const auto steps = static_cast<double>(sizes.steps), places = static_cast<double>(sizes.places),
             n = static_cast<double>(sizes.size), length = static_cast<double>(chunk);
  const StepSeconds step = step_seconds(sizes, bytes);
  const double vectors = steps * places * n, read = vectors * (sizes.matrices ? n + 1 : 2) * bytes;
  const double all_read = read / kBytes, all_walked = (read + vectors * bytes) / kBytes;
  const double slower = bytes > 4 ? 2 : 1;
  const double multiplied = sizes.matrices ? slower * vectors * n * n / kMultiplyAdds : 0;
  const std::int64_t chunks = (sizes.steps + chunk - 1) / chunk;
  // Sums, not the larger one: the fewer walks there are, the less they fill the GPU.
  return {.serial = kLaunch + steps * step.run + all_walked,
          .chunked = 3 * kLaunch + length * step.multiply + std::max(multiplied, all_read) +
                     static_cast<double>(chunks) * step.run + length * step.run + all_walked};
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", seconds * 1e3); }

std::string words(const ScanChoice& choice) {
  return choice.algorithm == kScanChunked
             ? fmt::format("{} with chunks of {} steps", choice.algorithm, choice.chunk)
             : choice.algorithm;
}

std::string explain_affine_scan(Op op, const DimEnv& env) {
  const AffineSizes sizes = AffineSizes::of(
      evaluate(op.input(0).shape(), env), evaluate(op.input(1).shape(), env), op.input(1).dtype());
  const ScanChoice choice = choose_affine_scan(sizes, ScanRequest::of(op.attrs()));
  const std::string of = sizes.matrices
                             ? fmt::format("{0} matrices of {1} x {1}", sizes.places, sizes.size)
                             : fmt::format("{} entries of diagonals", sizes.places);
  return fmt::format("{}, for {} steps of {} on a GPU: {}", words(choice), sizes.steps, of,
                     choice.reason);
}

std::string explain_weighted_scan(Op op, const DimEnv& env, const MeasuredChoices* measured) {
  const WeightedForm form = WeightedForm::of(op.attrs());
  const ScanRequest request = ScanRequest::of(op.attrs());
  const Shape weights = evaluate(op.input(0).shape(), env),
              all = evaluate(op.output(0).shape(), env);
  const std::int64_t state = form.states * weights[1];
  const WeightedSizes sizes{all[0],
                            state == 0 ? 0 : numel(Shape(all.begin() + 1, all.end())) / state,
                            weights[1], op.attrs().get<bool>("adds")};
  ScanChoice choice{kScanSerial, sizes.steps, "asked for"};
  if (request.algorithm.empty()) {
    choice.reason = "by estimates of both";
  }
  if (request.algorithm != kScanSerial) {
    std::int64_t chunk = request.chunk;
    if (chunk <= 0) {
      chunk = choose_chunk(form, sizes);
      const std::optional<std::int64_t> found =
          measured != nullptr ? remembered_chunk(*measured, form, sizes) : std::nullopt;
      if (found && chunk < sizes.steps) {
        chunk = *found;
        choice.reason = "the fastest when it was measured";
      }
    }
    choice.chunk = std::min(sizes.steps, chunk);
    choice.algorithm = choice.chunk < sizes.steps ? kScanChunked : kScanSerial;
  }
  return fmt::format("{}, for {} steps of {} states of {} with weights of {} x {} on a GPU: {}",
                     words(choice), sizes.steps, sizes.places, state, sizes.units, sizes.units,
                     choice.reason);
}

}  // namespace

AffineSizes AffineSizes::of(const Shape& a, const Shape& b, DType dtype) {
  const bool matrices = a.size() > b.size();
  const std::int64_t size = matrices ? b.back() : 1;
  const std::int64_t numbers = numel(Shape(b.begin() + 1, b.end()));
  return {.steps = b[0],
          .places = size == 0 ? 0 : numbers / size,
          .size = size,
          .matrices = matrices,
          .dtype = dtype};
}

ScanRequest ScanRequest::of(const Attrs& attrs) {
  return {attrs.get<std::string>("algorithm"), attrs.get<std::int64_t>("chunk")};
}

ScanChoice choose_affine_scan(const AffineSizes& sizes, const ScanRequest& request) {
  std::int64_t chunk = request.chunk;
  if (chunk == 0) {
    chunk = kFewestSteps;
    for (std::int64_t longer = 2 * chunk; longer <= kMostSteps && longer < sizes.steps;
         longer *= 2) {
      chunk = estimate(sizes, longer).chunked < estimate(sizes, chunk).chunked ? longer : chunk;
    }
  }
  const Estimates seconds = estimate(sizes, chunk);
  const bool chunked =
      chunk < sizes.steps && (request.algorithm.empty() ? seconds.chunked < seconds.serial
                                                        : request.algorithm == kScanChunked);
  return {.algorithm = chunked ? kScanChunked : kScanSerial,
          .chunk = chunked ? chunk : sizes.steps,
          .reason = request.algorithm.empty()
                        ? fmt::format("step by step about {}, in chunks {}",
                                      milliseconds(seconds.serial), milliseconds(seconds.chunked))
                        : "asked for"};
}

std::string explain_scan(Op op, const DimEnv& sizes, const MeasuredChoices* measured) {
  if (&op.def() == &affine_scan_def()) {
    return explain_affine_scan(op, sizes);
  }
  return &op.def() == &weighted_scan_def() ? explain_weighted_scan(op, sizes, measured)
                                           : std::string();
}

}  // namespace antichain::cuda
