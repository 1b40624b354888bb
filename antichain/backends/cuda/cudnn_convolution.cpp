#include "antichain/backends/cuda/cudnn_convolution.h"

#include "antichain/backends/cuda/cudnn_choice.h"
#include "antichain/backends/cuda/cudnn_plans.h"

namespace antichain::cuda {

CudnnLibrary::CudnnLibrary(Context context, bool tf32) : context_(std::move(context)), tf32_(tf32) {
  context_->use();
  check(cudnn().cudnnCreate(&handle_), "starting cuDNN");
  check(cudnn().cudnnSetStream(handle_, context_->stream()), "starting cuDNN");
}

CudnnLibrary::~CudnnLibrary() { static_cast<void>(cudnn().cudnnDestroy(handle_)); }

CudnnConvolution::CudnnConvolution(std::shared_ptr<const CudnnLibrary> library,
                                   const ConvProblem& problem)
    : library_(std::move(library)),
      plan_(std::make_unique<const CudnnPlan>(choose_plan(*library_, problem))),
      workspace_(DeviceContext::allocate(library_->context(),
                                         static_cast<std::size_t>(plan_->workspace()))) {}

CudnnConvolution::~CudnnConvolution() = default;

void CudnnConvolution::run(const void* x, const void* weight, const void* output) const {
  plan_->run(*library_, {x, weight, output}, workspace_->data());
}

}  // namespace antichain::cuda
