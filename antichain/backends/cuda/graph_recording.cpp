#include "antichain/backends/cuda/graph_recording.h"

#include <algorithm>

#include "antichain/backends/cuda/cuda_error.h"

namespace antichain::cuda {

namespace {

class GraphRecording final : public Recording {
 public:
  GraphRecording(Context context, cudaGraphExec_t graph)
      : context_(std::move(context)), graph_(graph) {}
  ~GraphRecording() override { static_cast<void>(cudaGraphExecDestroy(graph_)); }
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;

  void replay() override {
    context_->use();
    check(cudaGraphLaunch(graph_, context_->stream()), "starting a graph of kernels");
  }

 private:
  Context context_;
  cudaGraphExec_t graph_;
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
  context->use();
  check(cudaStreamBeginCapture(context->stream(), cudaStreamCaptureModeThreadLocal),
        "recording kernels");
  cudaGraph_t graph = nullptr;
  try {
    record_steps(context->stream(), count, run, needs);
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(context->stream(), &graph));
    static_cast<void>(cudaGraphDestroy(graph));
    cudaGetLastError();  // the recording's own, which nobody needs to know of
    throw;
  }
  check(cudaStreamEndCapture(context->stream(), &graph), "recording kernels");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  check(status, "recording kernels");
  return std::make_unique<GraphRecording>(context, executable);
}

}  // namespace antichain::cuda
