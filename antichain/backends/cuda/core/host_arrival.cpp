#include "antichain/backends/cuda/core/host_arrival.h"

#include <cstring>

#include "antichain/backends/cuda/core/cuda_error.h"

namespace antichain::cuda {

namespace {

class HostArrival final : public Arrival {
 public:
  // The GPU is held.
  HostArrival(const Context& context, const Tensor& from)
      : context_(context),
        piece_(context->pinned().borrow()),
        bytes_(from.bytes()),
        report_(context->report()) {
    if (bytes_ > 0) {
      check(cudaMemcpyAsync(piece_->data(), from.raw(), bytes_, cudaMemcpyDeviceToHost,
                            context->stream()),
            "copying memory");
    }
    piece_->use_until_now(context->stream());
  }

  void take(const Tensor& to) override {
    piece_->wait();
    report_.check();
    if (bytes_ > 0) {
      std::memcpy(to.raw(), piece_->data(), bytes_);
    }
  }

 private:
  Context context_;
  PinnedLease piece_;
  std::size_t bytes_;
  IndexReport::Claim report_;
};

}  // namespace

std::unique_ptr<Arrival> send_to_host(const Context& context, const Tensor& tensor) {
  if (tensor.bytes() > PinnedPiece::kBytes) {
    return nullptr;
  }
  const auto held = context->hold();
  context->use();
  return std::make_unique<HostArrival>(context, tensor);
}

}  // namespace antichain::cuda
