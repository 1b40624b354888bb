#include "antichain/backends/cuda/host_arrival.h"

#include <cstring>

#include "antichain/backends/cuda/cuda_error.h"

namespace antichain::cuda {

namespace {

class HostArrival final : public Arrival {
 public:
  HostArrival(Context context, const Tensor& from) : context_(std::move(context)) {
    const auto held = context_->hold();
    context_->use();
    piece_ = context_->pinned().borrow();
    check(cudaMemcpyAsync(piece_->data(), from.raw(), from.bytes(), cudaMemcpyDeviceToHost,
                          context_->stream()),
          "copying memory");
    piece_->use_until_now(context_->stream());
  }
  ~HostArrival() override { context_->pinned().give_back(std::move(piece_)); }
  HostArrival(const HostArrival&) = delete;
  HostArrival& operator=(const HostArrival&) = delete;

  void take(const Tensor& to) override {
    piece_->wait();
    if (context_->report().has_note()) {  // which is whole only when nothing runs any more
      context_->finish();
    }
    std::memcpy(to.raw(), piece_->data(), to.bytes());
  }

 private:
  Context context_;
  std::unique_ptr<PinnedPiece> piece_;
};

}  // namespace

std::unique_ptr<Arrival> send_to_host(const Context& context, const Tensor& tensor) {
  const bool fits = tensor.bytes() > 0 && tensor.bytes() <= PinnedPiece::kBytes;
  return fits ? std::make_unique<HostArrival>(context, tensor) : nullptr;
}

}  // namespace antichain::cuda
