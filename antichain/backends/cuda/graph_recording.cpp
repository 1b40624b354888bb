#include "antichain/backends/cuda/graph_recording.h"

#include "antichain/backends/cuda/cuda_error.h"

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

}  // namespace

std::unique_ptr<Recording> record_graph(const Context& context, FunctionRef<void()> run) {
  const auto held = context->hold();
  return std::make_unique<GraphRecording>(context, run);
}

}  // namespace antichain::cuda
