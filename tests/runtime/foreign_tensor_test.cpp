#include "antichain/runtime/foreign_tensor.h"

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/session/session.h"
#include "antichain/tensor/dlpack.h"
#include "tests/conformance/remote_backend.h"
#include "tests/tensor/expect_error.h"

namespace antichain::foreign_tensor_test {

using Log = std::vector<std::string>;

// Notes in which order streams and runs come.
class OrderedBackend final : public Backend {
 public:
  explicit OrderedBackend(Log& log) : log_(log) {}
  std::string_view name() const override { return "ordered"; }
  Device device() const override { return remote_->device(); }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    return remote_->allocate(dtype, shape);
  }
  Tensor to_device(const Tensor& tensor) const override { return remote_->to_device(tensor); }
  Tensor to_host(const Tensor& tensor) const override { return remote_->to_host(tensor); }
  void copy(const Tensor& to, const Tensor& from) const override { remote_->copy(to, from); }
  void end_run() const override { log_.push_back("run"); }
  std::function<void()> order_after(void* stream) const override {
    log_.push_back(stream == &log_ ? "after the stream" : "after another stream");
    return [this] { log_.push_back("the stream after"); };
  }

 private:
  Log& log_;
  std::unique_ptr<Backend> remote_ = conformance::make_remote_backend();
};

TEST(ForeignTensor, IsReadBehindItsStreamAndGivenBackBehindTheRun) {
  Log log;
  Session session(std::make_unique<OrderedBackend>(log));
  Graph graph = session.graph();
  const Executable run = session.compile({graph.input("x", f32, {3}) + 1});
  log.clear();
  DLManagedTensor* managed =
      to_dlpack(session.backend().to_device(Tensor::full(f32, {3}, 2)).slice(0, 0, 3));
  // Its own library is told last of all.
  static Log* told = nullptr;
  static void (*deleter)(DLManagedTensor*) = nullptr;
  told = &log;
  deleter = managed->deleter;
  managed->deleter = [](DLManagedTensor* self) {
    told->push_back("deleted");
    deleter(self);
  };
  {
    const Tensor x = from_dlpack(managed, session.backend(), &log);
    EXPECT_EQ(run({{"x", x}})[0].to_vector<float>(), (std::vector<float>{3, 3, 3}));
  }
  EXPECT_THAT(log, testing::ElementsAre("after the stream", "run", "the stream after", "deleted"));
}

TEST(ForeignTensor, RefusesWhatItCannotOrder) {
  Log log;
  const OrderedBackend backend(log);
  expect_error<InvalidArgument>("DLPack handle is null",
                                [&] { from_dlpack(nullptr, backend, &log); });
  DLManagedTensor* managed = to_dlpack(Tensor::zeros(f32, {3}));
  expect_error<InvalidArgument>(
      "a null pointer is no stream; give cudaStreamLegacy for the default one, or leave the stream "
      "out when the tensor is there already",
      [&] { from_dlpack(managed, backend, nullptr); });
  expect_error<InvalidArgument>("a stream orders tensors of the backend's own device, cuda:0",
                                [&] { from_dlpack(managed, backend, &log); });
  managed->deleter(managed);  // it was not taken
  EXPECT_TRUE(log.empty());
}

}  // namespace antichain::foreign_tensor_test
