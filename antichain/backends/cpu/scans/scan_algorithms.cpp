#include "antichain/backends/cpu/scans/scan_algorithms.h"

#include <algorithm>
#include <cstring>

#include "antichain/backends/cpu/threads/parallel.h"

namespace antichain::cpu {

namespace {

// States, one per lane and place.
class States {
 public:
  States(const ScanShape& shape, std::int64_t per_lane)
      : per_lane_(per_lane),
        width_(shape.lane_width()),
        numbers_(static_cast<std::size_t>(shape.lanes() * per_lane * width_)) {}
  double* at(std::int64_t lane, std::int64_t index) {
    return numbers_.data() + (lane * per_lane_ + index) * width_;
  }

 private:
  std::int64_t per_lane_, width_;
  std::vector<double> numbers_;
};

void copy_state(const double* from, double* to, std::int64_t width) {
  std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof(double));
}

class SerialScan final : public ScanAlgorithm {
 public:
  explicit SerialScan(const ScanShape& shape) : states_(shape, 1) {}

  void run(const ScanLanes& lanes) override {
    const ScanShape& shape = lanes.shape();
    parallel_tasks(shape.lanes(), [&](std::int64_t lane) {
      lanes.start(lane, states_.at(lane, 0));
      lanes.run(lane, 0, shape.steps, states_.at(lane, 0));
      lanes.finish(lane, states_.at(lane, 0));
    });
  }

 private:
  States states_;
};

class ChunkedScan final : public ScanAlgorithm {
 public:
  ChunkedScan(const ScanShape& shape, std::int64_t chunk)
      : chunk_(chunk),
        chunks_(std::max<std::int64_t>(1, (shape.steps + chunk - 1) / chunk)),
        maps_(shape, chunks_),
        states_(shape, chunks_) {}

  void run(const ScanLanes& lanes) override {
    const ScanShape& shape = lanes.shape();
    const auto steps_of = [&](std::int64_t c) {
      return std::min(chunk_, shape.steps - c * chunk_);
    };
    // Nobody asks what the last chunk does.
    for_each(shape.lanes(), chunks_ - 1, [&](std::int64_t lane, std::int64_t c) {
      lanes.multiply(lane, c * chunk_, steps_of(c), maps_.at(lane, c));
    });
    parallel_tasks(shape.lanes(), [&](std::int64_t lane) {
      lanes.start(lane, states_.at(lane, 0));
      for (std::int64_t c = 1; c < chunks_; ++c) {
        lanes.apply(lane, maps_.at(lane, c - 1), states_.at(lane, c - 1), states_.at(lane, c));
      }
    });
    for_each(shape.lanes(), chunks_, [&](std::int64_t lane, std::int64_t c) {
      lanes.run(lane, c * chunk_, steps_of(c), states_.at(lane, c));
      if (c == chunks_ - 1) {
        lanes.finish(lane, states_.at(lane, c));
      }
    });
  }

 private:
  template <class F>
  static void for_each(std::int64_t lanes, std::int64_t chunks, F&& f) {
    parallel_tasks(lanes * chunks, [&](std::int64_t n) { f(n / chunks, n % chunks); });
  }

  std::int64_t chunk_, chunks_;
  AffineMaps maps_;
  States states_;
};

// Elements 0 … steps: the state before the first step, then the steps. What an element holds after
// the sweeps is what all elements before it do together; the first of them makes it a state.
class TreeScan final : public ScanAlgorithm {
 public:
  TreeScan(const ScanShape& shape, int levels)
      : last_(shape.steps),
        maps_(shape, shape.steps + 1),
        states_(shape, shape.steps + 1),
        grain_(std::max<std::int64_t>(1, kTaskNumbers / numbers_per_map(shape))) {
    while (levels_ < levels && (std::int64_t{1} << levels_) <= last_) {
      ++levels_;
    }
  }

  void run(const ScanLanes& lanes) override {
    const std::int64_t count = lanes.shape().lanes();
    for (std::int64_t lane = 0; lane < count; ++lane) {
      read_steps(lanes, lane);
      for (int level = 0; level < levels_; ++level) {
        for_pairs(level, [&](Pair pair) { sweep_up(lanes, lane, pair); });
      }
      walk_trees(lanes, lane);
      for (int level = levels_ - 1; level >= 0; --level) {
        for_pairs(level, [&](Pair pair) { sweep_down(lanes, lane, pair); });
      }
      take_steps(lanes, lane);
    }
  }

 private:
  static constexpr std::int64_t kTaskNumbers = 1 << 13;

  // Two neighbours of a tree: the last elements of what they stand for.
  struct Pair {
    bool first;  // the left one begins with element 0, so it is a state
    std::int64_t left, right;
  };

  static std::int64_t numbers_per_map(const ScanShape& shape) {
    return std::max<std::int64_t>(1, shape.lane_width() * (shape.matrices ? shape.size : 1));
  }

  template <class F>
  void for_pairs(int level, F&& f) {
    const std::int64_t half = std::int64_t{1} << level, distance = 2 * half;
    parallel_ranges(last_ / distance + 1, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        const std::int64_t left = n * distance + half - 1;
        const std::int64_t right = std::min(n * distance + distance - 1, last_);
        if (left < right) {
          f(Pair{n == 0, left, right});
        }
      }
    });
  }

  void read_steps(const ScanLanes& lanes, std::int64_t lane) {
    lanes.start(lane, maps_.at(lane, 0).offset);
    parallel_ranges(last_, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        lanes.multiply(lane, n, 1, maps_.at(lane, n + 1));
      }
    });
  }

  void sweep_up(const ScanLanes& lanes, std::int64_t lane, const Pair& pair) {
    const AffineMap left = maps_.at(lane, pair.left), right = maps_.at(lane, pair.right);
    if (pair.first) {
      double* state = states_.at(lane, pair.right);
      lanes.apply(lane, right, left.offset, state);
      copy_state(state, right.offset, lanes.width(lane));
    } else {
      lanes.join(lane, left, right);
    }
  }

  // From tree to tree: at the last element of each, the state before it instead of what it does.
  void walk_trees(const ScanLanes& lanes, std::int64_t lane) {
    const std::int64_t size = std::int64_t{1} << levels_;
    const std::int64_t width = lanes.width(lane);
    double* before = states_.at(lane, std::min(size - 1, last_));  // of the next tree
    copy_state(maps_.at(lane, std::min(size - 1, last_)).offset, before, width);
    for (std::int64_t first = size; first <= last_; first += size) {
      const std::int64_t root = std::min(first + size - 1, last_);
      double* after = states_.at(lane, root);
      lanes.apply(lane, maps_.at(lane, root), before, after);
      copy_state(before, maps_.at(lane, root).offset, width);
      before = after;
    }
  }

  // In the first tree no state is before the left one: what it is goes to the right.
  void sweep_down(const ScanLanes& lanes, std::int64_t lane, const Pair& pair) {
    const AffineMap left = maps_.at(lane, pair.left), right = maps_.at(lane, pair.right);
    const std::int64_t width = lanes.width(lane);
    if (pair.first) {
      copy_state(left.offset, right.offset, width);
      return;
    }
    double* state = states_.at(lane, pair.right);
    lanes.apply(lane, left, right.offset, state);
    copy_state(right.offset, left.offset, width);
    copy_state(state, right.offset, width);
  }

  void take_steps(const ScanLanes& lanes, std::int64_t lane) {
    parallel_ranges(last_, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        lanes.run(lane, n, 1, maps_.at(lane, n + 1).offset);
      }
    });
    lanes.finish(lane, maps_.at(lane, last_).offset);
  }

  int levels_ = 0;
  std::int64_t last_;
  AffineMaps maps_;
  States states_;
  std::int64_t grain_;
};

}  // namespace

std::unique_ptr<ScanAlgorithm> make_serial_scan(const ScanShape& shape) {
  return std::make_unique<SerialScan>(shape);
}

std::unique_ptr<ScanAlgorithm> make_tree_scan(const ScanShape& shape, int levels) {
  return std::make_unique<TreeScan>(shape, levels);
}

std::unique_ptr<ScanAlgorithm> make_chunked_scan(const ScanShape& shape, std::int64_t chunk) {
  return std::make_unique<ChunkedScan>(shape, chunk);
}

}  // namespace antichain::cpu
