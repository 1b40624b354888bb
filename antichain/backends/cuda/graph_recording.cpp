#include "antichain/backends/cuda/graph_recording.h"

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

}  // namespace

std::unique_ptr<Recording> record_graph(const Context& context, FunctionRef<void()> run) {
  context->use();
  check(cudaStreamBeginCapture(context->stream(), cudaStreamCaptureModeThreadLocal),
        "recording kernels");
  cudaGraph_t graph = nullptr;
  try {
    run();
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
