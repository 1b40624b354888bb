#include "tests/conformance/remote_backend.h"

#include <gtest/gtest.h>

#include <cstring>

#include "antichain/ops/catalogue.h"
#include "tests/conformance/far_memory.h"

namespace antichain::conformance {

namespace {

// What was there when it was sent, and is told only when it is asked for.
class LateValues final : public Arrival {
 public:
  explicit LateValues(Tensor values) : values_(std::move(values)) {}
  void take(const Tensor& to) override {
    if (values_.numel() > 0) {
      to.copy_from(values_);
    }
  }

 private:
  Tensor values_;
};

class RemoteBackend final : public FarMemoryBackend {
 public:
  RemoteBackend() {
    kernels_.add(
        find_op("negate"),
        {"remote negate",
         [](Op op) { return op.output().dtype() == f32 ? Support{} : Support::no("f32 only"); },
         [](KernelContext& context) {
           const float* in = context.in(0).data<float>();
           float* out = context.out().data<float>();
           for (std::int64_t i = 0; i < context.out().numel(); ++i) {
             out[i] = -in[i];
           }
         }});
  }

  std::string_view name() const override { return "remote"; }
  std::unique_ptr<Arrival> send_to_host(const Tensor& tensor) const override {
    return std::make_unique<LateValues>(to_host(tensor));
  }

 private:
  void move(const Tensor& from, const Tensor& to) const override {
    ASSERT_TRUE(to.is_contiguous() && from.is_contiguous());
    if (from.bytes() > 0) {
      std::memcpy(to.raw(), from.raw(), from.bytes());
    }
  }
};

}  // namespace

std::unique_ptr<Backend> make_remote_backend() { return std::make_unique<RemoteBackend>(); }

}  // namespace antichain::conformance
