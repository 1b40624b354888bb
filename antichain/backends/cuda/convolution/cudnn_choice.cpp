#include "antichain/backends/cuda/convolution/cudnn_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "antichain/backends/cuda/convolution/column_convolution.h"
#include "antichain/backends/cuda/convolution/cudnn_plans.h"
#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/backends/cuda/core/measured_choices.h"
#include "antichain/backends/cuda/core/stopwatch.h"
#include "antichain/base/error.h"
#include "antichain/base/out_of_memory.h"

namespace antichain::cuda {

namespace {

constexpr std::size_t kMostMeasured = 8;  // ways, where tensor cores do not compute
constexpr std::int64_t kMostCudnnWorkspace = std::int64_t{256} << 20;  // bytes
constexpr int kMostTimedRuns = 4;            // of a way; the fastest counts
constexpr float kSlowFactor = 2;             // a way that takes so much longer is not run again
constexpr float kFasterThanAdvised = 0.95F;  // of the time: otherwise the earlier advice is kept
constexpr const char* kByColumns = "columns";
constexpr int kPattern = 0x3c;  // bytes that are small numbers in every float type

std::int64_t bytes_of(const ConvTensor& tensor, DType dtype) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < tensor.sizes.size(); ++axis) {
    last += (tensor.sizes[axis] - 1) * tensor.strides[axis];
  }
  return (last + 1) * static_cast<std::int64_t>(size_of(dtype));
}

// A convolution on memory of its own.
class ConvolutionTrial {
 public:
  ConvolutionTrial(const CudnnLibrary& library, const ConvProblem& problem)
      : library_(library),
        x_(scratch(problem.x, problem.dtype)),
        weight_(scratch(problem.weight, problem.dtype)),
        output_(scratch(problem.output, problem.dtype)),
        watch_(library.context()) {}

  // The time of a way, or infinity where it fails, for want of memory for example. One that is no
  // match for `best` is left early.
  float time_of(ConvolutionWay& way, float best) {
    float fastest = std::numeric_limits<float>::infinity();
    try {
      const std::shared_ptr<Buffer> workspace = make_workspace(library_.context(), way);
      const auto run = [&] {
        way.run({x_->data(), weight_->data(), output_->data()}, workspace->data());
      };
      run();  // the first run loads code
      for (int i = 0; i < kMostTimedRuns && (i == 0 || fastest <= kSlowFactor * best); ++i) {
        fastest = std::min(fastest, watch_.milliseconds(run));
      }
    } catch (const DeviceError&) {
      return std::numeric_limits<float>::infinity();
    }
    return fastest;
  }

 private:
  std::shared_ptr<Buffer> scratch(const ConvTensor& tensor, DType dtype) const {
    auto memory = DeviceContext::allocate(library_.context(),
                                          static_cast<std::size_t>(bytes_of(tensor, dtype)));
    check(cudaMemsetAsync(memory->data(), kPattern, memory->bytes(), library_.context()->stream()),
          "measuring a convolution");
    return memory;
  }

  const CudnnLibrary& library_;
  std::shared_ptr<Buffer> x_, weight_, output_;
  Stopwatch watch_;
};

// A way that is ready, and its name on disk.
struct Ready {
  std::string name;
  std::unique_ptr<ConvolutionWay> way;
};

// A place among what is advised, and the number of what computes there, to be sure.
std::string name_of(const CudnnAdvice& advice, std::size_t place) {
  return fmt::format("{} {}", place, advice.engine(place));
}

// The first `most` ways that cuDNN makes ready and that work in little memory; if there is none,
// the first one at all.
std::vector<Ready> ready_ways(const CudnnAdvice& advice, std::size_t most) {
  std::vector<Ready> ready;
  std::optional<Ready> large;
  for (std::size_t n = 0; n < advice.size() && ready.size() < most; ++n) {
    std::unique_ptr<ConvolutionWay> way = advice.plan(n);
    if (way && way->workspace() <= kMostCudnnWorkspace) {
      ready.push_back({name_of(advice, n), std::move(way)});
    } else if (way && !large) {
      large.emplace(Ready{name_of(advice, n), std::move(way)});
    }
  }
  if (ready.empty() && large) {
    ready.push_back(std::move(*large));
  }
  require<DeviceError>(!ready.empty(),
                       "cuDNN has no deterministic way to compute a convolution of this size");
  return ready;
}

std::size_t fastest_of(const std::vector<Ready>& ready, const CudnnLibrary& library,
                       const ConvProblem& problem) {
  ConvolutionTrial trial(library, problem);
  std::size_t chosen = 0;
  float best = std::numeric_limits<float>::infinity();
  for (std::size_t n = 0; n < ready.size(); ++n) {
    const float time = trial.time_of(*ready[n].way, best);
    if (time < kFasterThanAdvised * best) {
      chosen = n;
      best = time;
    }
  }
  return chosen;
}

Ready remembered(const CudnnLibrary& library, const CudnnAdvice& advice, const ConvProblem& problem,
                 const std::string& name) {
  if (name == kByColumns) {
    return {name, ColumnConvolution::of(library.products(), problem)};
  }
  for (std::size_t n = 0; n < advice.size(); ++n) {
    if (name == name_of(advice, n)) {
      return {name, advice.plan(n)};
    }
  }
  return {name, nullptr};
}

// What a choice depends on.
std::string describe_choice(const ConvProblem& problem, bool tf32, std::size_t version) {
  std::string text = fmt::format("convolution {} {}{} by cudnn {}, addresses / {}\n",
                                 static_cast<int>(problem.result), name(problem.dtype),
                                 tf32 ? " (tf32)" : "", version, problem.alignment);
  for (const ConvTensor* tensor : {&problem.x, &problem.weight, &problem.output}) {
    text +=
        fmt::format("{} by {}\n", fmt::join(tensor->sizes, ","), fmt::join(tensor->strides, ","));
  }
  return text +
         fmt::format("stride {} padding {} dilation {}, {} ways within {} bytes and columns\n",
                     fmt::join(problem.stride, ","), fmt::join(problem.padding, ","),
                     fmt::join(problem.dilation, ","), kMostMeasured, kMostCudnnWorkspace);
}

Ready make_choice(const CudnnLibrary& library, const ConvProblem& problem,
                  const std::string& described) {
  const CudnnAdvice advice(library, problem);
  // The first advice is good where tensor cores compute, and every other way may take the library
  // seconds to make ready.
  const bool by_tensor_cores = problem.dtype == bf16 || problem.dtype == f16 || library.tf32();
  if (by_tensor_cores) {
    return std::move(ready_ways(advice, 1).front());
  }
  const MeasuredChoices choices(library.context()->device().index);
  if (const std::optional<std::string> name = choices.find(described)) {
    if (Ready way = remembered(library, advice, problem, *name); way.way) {
      return way;
    }
  }
  const bool measures = MeasuredChoices::may_measure(library.context());
  std::vector<Ready> ready = ready_ways(advice, measures ? kMostMeasured : 1);
  if (measures) {
    try {
      if (auto columns = ColumnConvolution::of(library.products(), problem);
          columns && columns->workspace() <= kMostCudnnWorkspace) {
        ready.push_back({kByColumns, std::move(columns)});
      }
      const std::size_t fastest = ready.size() > 1 ? fastest_of(ready, library, problem) : 0;
      if (choices.keep(described, ready[fastest].name)) {
        return std::move(ready[fastest]);
      }
    } catch (const OutOfMemory&) {  // of the tensors: a smaller program will measure it
    }
  }
  return std::move(ready[0]);
}

}  // namespace

std::shared_ptr<ConvolutionWay> choose_way(const CudnnLibrary& library,
                                           const ConvProblem& problem) {
  const std::string described = describe_choice(problem, library.tf32(), cudnn().cudnnGetVersion());
  if (auto known = library.known_plan(described)) {
    return known;
  }
  const Preparation::Timer timer(library.context()->preparation(), "choosing convolutions");
  Ready choice = make_choice(library, problem, described);
  std::shared_ptr<ConvolutionWay> way = std::move(choice.way);
  if (choice.name != kByColumns) {  // columns lie in memory of their own
    library.keep_plan(described, way);
  }
  return way;
}

}  // namespace antichain::cuda
