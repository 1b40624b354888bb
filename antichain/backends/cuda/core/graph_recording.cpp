#include "antichain/backends/cuda/core/graph_recording.h"

#include <algorithm>

#include "antichain/backends/cuda/core/cuda_error.h"

namespace antichain::cuda {

namespace {

// What `run` enqueues, with the memory that it gave back: replays use that again.
class RecordedGraph {
 public:
  RecordedGraph(Context context, FunctionRef<void()> run) : context_(std::move(context)) {
    context_->start_recording();
    try {
      run();
    } catch (...) {
      recorded_ = context_->stop_recording();
      free();
      cudaGetLastError();  // the recording's own, which nobody needs to know of
      throw;
    }
    recorded_ = context_->stop_recording();
  }
  ~RecordedGraph() { free(); }
  RecordedGraph(const RecordedGraph&) = delete;
  RecordedGraph& operator=(const RecordedGraph&) = delete;

  const DeviceContext& context() const { return *context_; }
  cudaGraph_t get() const {
    check(recorded_.status, "recording kernels");
    return recorded_.graph;
  }

 private:
  void free() const noexcept {
    if (recorded_.graph != nullptr) {
      static_cast<void>(cudaGraphDestroy(recorded_.graph));
    }
    for (void* const data : recorded_.memory) {
      context_->free(data);
    }
  }

  Context context_;
  DeviceContext::Recorded recorded_ = {};
};

class GraphRecording final : public Recording {
 public:
  GraphRecording(const Context& context, FunctionRef<void()> run) : recorded_(context, run) {
    check(cudaGraphInstantiate(&graph_, recorded_.get(), 0), "recording kernels");
  }
  ~GraphRecording() override { static_cast<void>(cudaGraphExecDestroy(graph_)); }
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;

  void replay() override {
    const auto held = recorded_.context().hold();
    recorded_.context().use();
    check(cudaGraphLaunch(graph_, recorded_.context().stream()), "starting a graph of kernels");
  }

 private:
  RecordedGraph recorded_;
  cudaGraphExec_t graph_ = nullptr;
};

// A step that enqueues nothing ends when what it needs has ended.
using Ends = std::vector<cudaGraphNode_t>;

// What is enqueued next waits for these.
void set_dependencies(cudaStream_t stream, Ends& nodes) {
  check(cudaStreamUpdateCaptureDependencies(stream, nodes.data(), nullptr, nodes.size(),
                                            cudaStreamSetCaptureDependencies),
        "recording kernels");
}

Ends dependencies(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  std::size_t count = 0;
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, nullptr, &count),
        "recording kernels");
  return {nodes, nodes + count};
}

void record_steps(cudaStream_t stream, std::size_t count, FunctionRef<void(std::size_t)> run,
                  FunctionRef<std::vector<std::size_t>(std::size_t)> needs) {
  std::vector<Ends> ends(count);
  for (std::size_t step = 0; step < count; ++step) {
    Ends before;
    for (const std::size_t needed : needs(step)) {
      before.insert(before.end(), ends[needed].begin(), ends[needed].end());
    }
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
    set_dependencies(stream, before);
    run(step);
    ends[step] = dependencies(stream);
  }
}

}  // namespace

std::unique_ptr<Recording> record_graph(
    const Context& context, std::size_t count, FunctionRef<void(std::size_t step)> run,
    FunctionRef<std::vector<std::size_t>(std::size_t step)> needs) {
  const auto held = context->hold();
  return std::make_unique<GraphRecording>(
      context, [&] { record_steps(context->stream(), count, run, needs); });
}

}  // namespace antichain::cuda
