#include "antichain/backends/cuda/convolution/cudnn_convolution.h"

#include "antichain/backends/cuda/convolution/cudnn_choice.h"

namespace antichain::cuda {

CudnnLibrary::CudnnLibrary(Context context, bool tf32)
    : context_(std::move(context)),
      tf32_(tf32),
      products_(std::make_shared<const BlasLibrary>(context_, tf32)) {
  context_->use();
  const Preparation::Timer timer(context_->preparation(), "starting cuDNN");
  handle_ = make_cudnn_handle(cudnn(), context_->stream());
}

std::shared_ptr<ConvolutionWay> CudnnLibrary::known_plan(const std::string& problem) const {
  const std::lock_guard lock(plans_mutex_);
  const auto found = plans_.find(problem);
  return found == plans_.end() ? nullptr : found->second.lock();
}

void CudnnLibrary::keep_plan(const std::string& problem,
                             const std::shared_ptr<ConvolutionWay>& plan) const {
  const std::lock_guard lock(plans_mutex_);
  std::erase_if(plans_, [](const auto& entry) { return entry.second.expired(); });
  plans_[problem] = plan;
}

std::shared_ptr<Buffer> make_workspace(const Context& context, const ConvolutionWay& way) {
  // cuDNN lays channels out in multiples of eight there and reads what lies between, too.
  return DeviceContext::allocate_zeros(context, static_cast<std::size_t>(way.workspace()));
}

CudnnConvolution::CudnnConvolution(std::shared_ptr<const CudnnLibrary> library,
                                   const ConvProblem& problem)
    : library_(std::move(library)),
      way_(choose_way(*library_, problem)),
      workspace_(make_workspace(library_->context(), *way_)) {}

CudnnConvolution::~CudnnConvolution() = default;

void CudnnConvolution::run(const void* x, const void* weight, const void* output) const {
  way_->run({x, weight, output}, workspace_->data());
}

}  // namespace antichain::cuda
