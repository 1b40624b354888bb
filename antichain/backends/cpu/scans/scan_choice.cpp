#include "antichain/backends/cpu/scans/scan_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "antichain/ops/scans/affine_scan.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kFewestSteps = 16;  // in a chunk

struct LaneSeconds {
  double run, multiply, apply;  // of one step, or one map
};

// A machine to choose for.
struct Machine {
  int cores;
  const ScanCosts& costs;
};

LaneSeconds lane_seconds(const ScanShape& shape, const ScanCosts& costs) {
  const auto width = static_cast<double>(shape.lane_width());
  const double run =
      costs.step + (shape.matrices ? costs.entry * width * width : costs.column * width);
  const double multiply = shape.matrices ? costs.term * width * width * width : run;
  return {.run = run, .multiply = run + multiply, .apply = 2 * run};
}

// Tasks of one size on all cores: as long as the core that has the most of them.
double shared(double tasks, int cores) { return std::max(1.0, tasks / cores); }

double serial_seconds(const ScanShape& shape, const Machine& machine) {
  return machine.costs.fork + static_cast<double>(shape.steps) *
                                  lane_seconds(shape, machine.costs).run *
                                  shared(static_cast<double>(shape.lanes()), machine.cores);
}

double chunked_seconds(const ScanShape& shape, std::int64_t chunk, const Machine& machine) {
  const LaneSeconds seconds = lane_seconds(shape, machine.costs);
  const int cores = machine.cores;
  const auto lanes = static_cast<double>(shape.lanes()), length = static_cast<double>(chunk);
  const std::int64_t whole_chunks = (shape.steps + chunk - 1) / chunk;
  const auto chunks = static_cast<double>(whole_chunks);
  return 3 * machine.costs.fork + length * seconds.multiply * shared(lanes * (chunks - 1), cores) +
         length * seconds.run * shared(lanes * chunks, cores) +
         chunks * seconds.apply * shared(lanes, cores);
}

// The best of a few lengths, which give every core one task or several.
std::int64_t best_chunk(const ScanShape& shape, const Machine& machine) {
  const std::int64_t lanes = std::max<std::int64_t>(shape.lanes(), 1);
  std::int64_t best = std::max<std::int64_t>(shape.steps, 1);
  for (const std::int64_t tasks_per_core : {1, 2, 4}) {
    const std::int64_t chunks = std::max<std::int64_t>(1, tasks_per_core * machine.cores / lanes);
    const std::int64_t chunk = std::max(kFewestSteps, (shape.steps + chunks - 1) / chunks);
    if (chunked_seconds(shape, chunk, machine) < chunked_seconds(shape, best, machine)) {
      best = chunk;
    }
  }
  return best;
}

std::int64_t block_of_tree(const ScanShape& shape, int cores) {
  std::int64_t block = 1;
  while (block * 2 * cores <= shape.steps) {
    block *= 2;
  }
  return block;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", seconds * 1e3); }

}  // namespace

ScanChoice choose_scan(const ScanShape& shape, const ScanRequest& request, int cores,
                       const ScanCosts& costs) {
  const Machine machine{cores, costs};
  ScanChoice choice{request.algorithm, request.chunk, "asked for"};
  const std::int64_t chunk = request.chunk > 0 ? request.chunk : best_chunk(shape, machine);
  if (request.algorithm.empty()) {
    const double serial = serial_seconds(shape, machine),
                 chunked = chunked_seconds(shape, chunk, machine);
    choice.algorithm = chunked < serial ? kScanChunked : kScanSerial;
    choice.reason = fmt::format("step by step about {}, in chunks {}", milliseconds(serial),
                                milliseconds(chunked));
  }
  if (choice.algorithm == kScanChunked) {
    choice.chunk = chunk;
  } else if (choice.algorithm == kScanHybrid && choice.chunk == 0) {
    choice.chunk = block_of_tree(shape, cores);
  }
  return choice;
}

int cores_of_machine() {
  static const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return cores;
}

}  // namespace antichain::cpu
