// Trainings beside others that want the same cores: threads come late or not at all, and no bit
// depends on it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "antichain/antichain.h"
#include "antichain/base/usable_cores.h"
#include "tests/backends_cpu/threads.h"

namespace antichain::cpu::foreign_load_test {

// Processes that do nothing but compute, more of them than there are cores.
class BusyProcesses {
 public:
  BusyProcesses() {
    for (int n = 0; n <= usable_cores(); ++n) {
      const pid_t child = fork();
      if (child == 0) {
        for (volatile unsigned turns = 0;;) {
          turns = turns + 1;
        }
      }
      children_.push_back(child);
    }
  }
  ~BusyProcesses() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;

 private:
  std::vector<pid_t> children_;
};

Tensor numbers(const Shape& shape) {
  Tensor result = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  }
  return result;
}

// Returns losses and states of a few steps of a recurrent layer and a perceptron behind it.
std::vector<Tensor> trained() {
  constexpr std::int64_t kTime = 7, kBatch = 48, kInputs = 65, kClasses = 10;
  Session session({.seed = 3});
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f32, {kTime, kBatch, kInputs});
  const Var label = modulo(iota(graph, i64, kBatch), kClasses);
  const Var last = antichain::index(nn::gru(xs, 67).last, 0, 0);
  const Var loss = mean(cross_entropy(nn::mlp(last, {257, kClasses}), label));
  const Executable step = session.compile({loss}, {.updates = optim::adam(loss)});
  const Feeds feeds = {{"xs", numbers({kTime, kBatch, kInputs})}};
  std::vector<Tensor> found;
  for (int n = 0; n < 6; ++n) {
    found.push_back(step(feeds)[0]);
  }
  for (const auto& [name, value] : session.states().all()) {
    found.push_back(value);
  }
  return found;
}

void expect_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                      const std::string& how) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(bit_equal(got[i], want[i])) << how << ", value " << i;
  }
}

std::vector<Tensor> trained_alone_by_one_thread() {
  const Threads scope(1);
  return trained();
}

TEST(ForeignLoad, OfProcessesChangesNoBit) {
  const std::vector<Tensor> want = trained_alone_by_one_thread();
  const BusyProcesses busy;
  for (const int threads : {1, 2, 3, 7}) {
    const Threads scope(threads);
    expect_same_bits(trained(), want, std::to_string(threads) + " threads");
  }
}

TEST(ForeignLoad, OfAThreadOfTheProgramChangesNoBit) {
  const std::vector<Tensor> want = trained_alone_by_one_thread();
  std::atomic<bool> done = false;
  std::thread busy([&done] {
    while (!done) {
    }
  });
  for (const int threads : {1, 2, 5}) {
    const Threads scope(threads);
    expect_same_bits(trained(), want, std::to_string(threads) + " threads");
  }
  done = true;
  busy.join();
}

// The limit of threads goes up and down meanwhile, for both.
TEST(ForeignLoad, OfAnotherTrainingChangesNoBitOfEither) {
  const std::vector<Tensor> want = trained_alone_by_one_thread();
  const BusyProcesses busy;
  const Threads scope(4);
  std::vector<Tensor> other;
  std::thread beside([&other] { other = trained(); });
  const std::vector<Tensor> one = trained();
  beside.join();
  expect_same_bits(one, want, "one");
  expect_same_bits(other, want, "the other");
}

}  // namespace antichain::cpu::foreign_load_test
