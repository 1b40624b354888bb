#include "antichain/backends/cuda/core/constant_work.h"

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/definition_parts.h"

namespace antichain::cuda {

void ConstantWork::run(FunctionRef<void()> enqueue) {
  if (is_done_) {
    return;
  }
  enqueue();
  if (!constant_) {
    return;
  }
  // What is being recorded has not run yet; it stays part of the recording. That happens when the
  // first run has failed.
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(device_->stream(), &status), "recording kernels");
  if (status == cudaStreamCaptureStatusNone) {
    check(cudaStreamSynchronize(device_->stream()), "running kernels");
    device_->report().check();
    is_done_ = true;
  }
}

bool is_constant(Op op, int input) { return made_by(op.input(input), constant_def()); }

}  // namespace antichain::cuda
