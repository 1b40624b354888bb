// Runs that a device is given as a whole: when they are recorded, and what is left when that fails.
#include <gtest/gtest.h>

#include <cstring>

#include "antichain/ops/catalogue.h"
#include "antichain/ops/creation.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/state_ops.h"
#include "antichain/session/session.h"

namespace antichain {
namespace {

struct Counts {
  int recordings = 0, replays = 0;
  int kernels_until_failure = -1;
};

using Work = std::vector<std::function<void()>>;

class WorkAgain final : public Recording {
 public:
  WorkAgain(Work work, Counts& counts) : work_(std::move(work)), counts_(counts) {}
  void replay() override {
    ++counts_.replays;
    for (const auto& piece : work_) {
      piece();
    }
  }

 private:
  Work work_;
  Counts& counts_;
};

// A device that negates and copies. What is recorded is not computed before it is replayed.
class RecordingBackend final : public Backend {
 public:
  explicit RecordingBackend(Counts& counts) : counts_(counts) {
    kernels_.add(find_op("negate"), {.name = "recorded negate",
                                     .supports = [](Op) { return Support{}; },
                                     .run = [this](KernelContext& run) { negate(run); }});
  }

  std::string_view name() const override { return "recording"; }
  Device device() const override { return {DeviceKind::cuda, 0}; }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    const std::shared_ptr<Buffer> memory = Tensor::empty(dtype, shape).buffer();
    return Tensor(dtype, shape, contiguous_strides(shape), 0,
                  std::make_shared<Buffer>(memory->data(), memory->bytes(), device(), [memory] {}));
  }
  Tensor to_device(const Tensor& tensor) const override {
    return tensor.device() == device() ? tensor
                                       : copied(allocate(tensor.dtype(), tensor.shape()), tensor);
  }
  Tensor to_host(const Tensor& tensor) const override {
    return tensor.device() == Device{}
               ? tensor
               : copied(Tensor::empty(tensor.dtype(), tensor.shape()), tensor);
  }
  void copy(const Tensor& to, const Tensor& from) const override { copied(to, from); }
  bool records() const override { return true; }
  std::unique_ptr<Recording> record(FunctionRef<void()> run) const override {
    recorded_.emplace();
    struct Stop {
      std::optional<Work>& work;
      ~Stop() { work.reset(); }
    } const at_the_end{recorded_};
    run();
    ++counts_.recordings;
    return std::make_unique<WorkAgain>(std::move(*recorded_), counts_);
  }

 private:
  void enqueue(std::function<void()> work) const {
    if (recorded_) {
      recorded_->push_back(std::move(work));
    } else {
      work();
    }
  }
  Tensor copied(const Tensor& to, const Tensor& from) const {
    enqueue([to = to.raw(), from = from.raw(), bytes = from.bytes()] {
      std::memmove(to, from, bytes);
    });
    return to;
  }
  void negate(KernelContext& run) const {
    require<DeviceError>(counts_.kernels_until_failure-- != 0, "the device is lost");
    enqueue([to = static_cast<float*>(run.out().raw()),
             from = static_cast<const float*>(run.in(0).raw()), count = run.out().numel()] {
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = -from[i];
      }
    });
  }

  Counts& counts_;
  mutable std::optional<Work> recorded_;
};

class RecordedRuns : public testing::Test {
 protected:
  // w becomes -w, of which it returns the negative: the old value.
  Executable negating_step() {
    const Var w = parameter("w", full(graph, f32, {2}, 3));
    return session.compile({negate(assign(graph, "w", negate(w)))}, {.optimiser = {.level = 0}});
  }
  float state() { return session.states().get("w").to_vector<float>()[0]; }

  Counts counts;
  Session session{std::make_unique<RecordingBackend>(counts)};
  Graph graph = session.graph();
};

TEST_F(RecordedRuns, FollowARunThatEndedWell) {
  const Executable run = session.compile({negate(graph.input("x", f32, {2}))});
  const Feeds feeds = {{"x", Tensor::full(f32, {2}, 3)}};
  counts.kernels_until_failure = 0;
  EXPECT_THROW(run(feeds), DeviceError);
  EXPECT_EQ(run(feeds)[0].to_vector<float>()[0], -3);
  EXPECT_EQ(counts.recordings, 0);
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(run(feeds)[0].to_vector<float>()[0], -3);
    EXPECT_EQ(counts.recordings, 1);
    EXPECT_EQ(counts.replays, i);
  }
}

TEST_F(RecordedRuns, LeaveStatesAloneWhenRecordingFails) {
  const Executable step = negating_step();
  EXPECT_EQ(step({})[0].to_vector<float>()[0], 3);
  for (const int kernels : {0, 1}) {
    counts.kernels_until_failure = kernels;
    EXPECT_THROW(step({}), DeviceError);
    EXPECT_EQ(state(), -3);
  }
  EXPECT_EQ(step({})[0].to_vector<float>()[0], -3);
  EXPECT_EQ(state(), 3);
  EXPECT_EQ(counts.recordings, 1);
}

TEST_F(RecordedRuns, LeaveValuesToWhoHoldsThem) {
  const Executable step = negating_step();
  for (int i = 0; i < 3; ++i) {
    step({});
  }
  EXPECT_EQ(counts.replays, 2);
  const Tensor held = session.states().get("w", session.backend());
  EXPECT_EQ(step({})[0].to_vector<float>()[0], -3);
  EXPECT_EQ(step({})[0].to_vector<float>()[0], 3);
  EXPECT_EQ(session.backend().to_host(held).to_vector<float>()[0], -3);
  EXPECT_EQ(state(), -3);
}

}  // namespace
}  // namespace antichain
