// Runs that a device is given as a whole: when they are recorded, and what is left when that fails.
#include <gtest/gtest.h>

#include <cstring>

#include "antichain/ops/catalogue.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/conformance/far_memory.h"

namespace antichain::recording_test {

struct Counts {
  int recordings = 0, replays = 0;
  int kernels_until_failure = -1;
  std::ptrdiff_t overtaken = 0;  // steps by others that were recorded behind them
};

using Work = std::vector<std::function<void()>>;

struct RecordedStep {
  std::vector<std::size_t> needs;
  Work work;
};

// Does the steps again in an order as far from the recorded one as what they need allows.
class WorkAgain final : public Recording {
 public:
  WorkAgain(std::vector<RecordedStep> steps, Counts& counts)
      : steps_(std::move(steps)), counts_(counts) {}
  void replay() override {
    ++counts_.replays;
    std::vector<bool> done(steps_.size(), false);
    for (std::size_t left = steps_.size(); left > 0; --left) {
      const std::size_t n = last_ready(done);
      counts_.overtaken +=
          std::ranges::count(done.begin(), done.begin() + std::ptrdiff_t(n), false);
      for (const auto& piece : steps_[n].work) {
        piece();
      }
      done[n] = true;
    }
  }

 private:
  std::size_t last_ready(const std::vector<bool>& done) const {
    for (std::size_t n = steps_.size(); n-- > 0;) {
      if (!done[n] &&
          std::ranges::all_of(steps_[n].needs, [&](std::size_t step) { return done[step]; })) {
        return n;
      }
    }
    fail<InternalError>("steps wait for each other");
  }

  std::vector<RecordedStep> steps_;
  Counts& counts_;
};

// A device that negates and copies. What is recorded is not computed before it is replayed.
class RecordingBackend final : public conformance::FarMemoryBackend {
 public:
  explicit RecordingBackend(Counts& counts) : counts_(counts) {
    kernels_.add(find_op("negate"), {.name = "recorded negate",
                                     .supports = [](Op) { return Support{}; },
                                     .run = [this](KernelContext& run) { negate(run); }});
  }

  std::string_view name() const override { return "recording"; }
  bool records() const override { return true; }
  std::unique_ptr<Recording> record(
      std::size_t count, FunctionRef<void(std::size_t)> run,
      FunctionRef<std::vector<std::size_t>(std::size_t)> needs) const override {
    struct Stop {
      std::optional<Work>& work;
      ~Stop() { work.reset(); }
    } const at_the_end{recorded_};
    std::vector<RecordedStep> steps;
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<std::size_t> needed = needs(n);
      recorded_.emplace();
      run(n);
      steps.push_back({std::move(needed), std::move(*recorded_)});
    }
    ++counts_.recordings;
    return std::make_unique<WorkAgain>(std::move(steps), counts_);
  }

 private:
  void enqueue(std::function<void()> work) const {
    if (recorded_) {
      recorded_->push_back(std::move(work));
    } else {
      work();
    }
  }
  void move(const Tensor& from, const Tensor& to) const override {
    enqueue([to = to.raw(), from = from.raw(), bytes = from.bytes()] {
      std::memmove(to, from, bytes);
    });
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
    return session.compile({negate(assign(graph, "w", negate(w)))}, {.compiler = {.level = 0}});
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

// Branches, values that share memory by the plan, and a state that is read before it is written.
TEST_F(RecordedRuns, AreRightInEveryOrderThatTheStepsAllow) {
  const Var w = parameter("w", full(graph, f32, {2}, 3)), x = graph.input("x", f32, {2});
  std::vector<Var> results;
  for (int branch = 0; branch < 4; ++branch) {
    Var value = branch % 2 == 0 ? w : x;
    for (int n = 0; n <= branch; ++n) {
      value = negate(value);
    }
    results.push_back(value);
  }
  results.push_back(negate(assign(graph, "w", negate(w))));
  const Executable step = session.compile(
      results, {.compiler = {.level = 2, .disabled = {"fuse-elementwise", "simplify"}}});
  for (int run = 0; run < 4; ++run) {
    const float old = run % 2 == 0 ? 3 : -3, fed = static_cast<float>(run + 1);
    const Results found = step({{"x", Tensor::full(f32, {2}, fed)}});
    const float expected[] = {-old, fed, -old, fed, old};
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].to_vector<float>()[1], expected[i]) << "result " << i << " of run " << run;
    }
  }
  EXPECT_EQ(counts.recordings, 1);
  EXPECT_GT(counts.overtaken, 0);
}

}  // namespace antichain::recording_test
