// The ways in which cuDNN can compute a convolution.
#pragma once

#include <memory>
#include <vector>

#include "antichain/backends/cuda/convolution/cudnn_convolution.h"

namespace antichain::cuda {

/// A way to compute that is ready to run.
class CudnnPlan final : public ConvolutionWay {
 public:
  CudnnPlan(const CudnnLibrary& library, CudnnDescriptor plan, std::int64_t workspace)
      : library_(library), plan_(std::move(plan)), workspace_(workspace) {}

  std::int64_t workspace() const override { return workspace_; }
  void run(const ConvOperands& operands, void* workspace) override;

 private:
  const CudnnLibrary& library_;
  CudnnDescriptor plan_;
  std::int64_t workspace_;
};

/// The ways that the library advises and that have the same bits in every run, best first.
class CudnnAdvice {
 public:
  CudnnAdvice(const CudnnLibrary& library, const ConvProblem& problem);

  std::size_t size() const { return ways_.size(); }
  /// Returns the library's number of what computes way `n`.
  std::int64_t engine(std::size_t n) const { return ways_[n].engine; }
  /// Makes way `n` ready; nothing where the library refuses after all.
  std::unique_ptr<ConvolutionWay> plan(std::size_t n) const;

 private:
  struct Way {
    CudnnDescriptor config;
    std::int64_t engine;
  };
  const CudnnLibrary& library_;
  std::vector<CudnnDescriptor> parts_;  // that the graph consists of
  std::vector<Way> ways_;
};

}  // namespace antichain::cuda
