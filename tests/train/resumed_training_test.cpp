// Which checkpoints a training does not go on from, and whose folder it does not touch.
#include <gmock/gmock.h>

#include <functional>

#include "tests/base/temporary_folder.h"
#include "tests/tensor/expect_error.h"
#include "tests/train/small_training.h"

namespace antichain::trainer_test {

// Stops in the middle of the second epoch and gives the checkpoint to `change`.
void expect_refusal(const std::string& why, const std::function<void(Checkpoint&)>& change,
                    TrainOptions options = {.epochs = 3}) {
  const TemporaryFolder folder;
  std::int64_t steps = 0;
  Model first, second;
  first.train({.epochs = 3, .folder = folder.path(), .stop = [&] { return ++steps == 6; }});
  Checkpoint checkpoint = load_checkpoint(folder / "checkpoints").value();
  change(checkpoint);
  std::filesystem::remove_all(folder / "checkpoints");
  save_checkpoint(folder / "checkpoints", checkpoint, 1);
  options.folder = folder.path();
  options.resume = true;
  const StateStore::Values before = second.session.states().all();
  expect_error<DataError>("the checkpoint in '" + folder.path().string() +
                              "' does not fit this model and these data: " + why,
                          [&] { second.train(options); });
  for (const auto& [name, value] : before) {  // nothing was taken over
    EXPECT_TRUE(bit_equal(value, second.session.states().get(name))) << name;
  }
}

TEST(ResumedTraining, ACheckpointOfAnotherModelIsRefused) {
  const std::string bias = "mlp.0.bias";
  expect_refusal("state 'mlp.0.bias' is f32[8] in the graphs of this session, the value is f32[9]",
                 [&](Checkpoint& c) { c.states[bias] = Tensor::zeros(f32, {9}); });
  expect_refusal("state 'mlp.0.bias' is f32[8] in the graphs of this session, the value is i32[8]",
                 [&](Checkpoint& c) { c.states[bias] = Tensor::zeros(i32, {8}); });
  expect_refusal("there is no value for the state 'mlp.0.bias' of f32[8]",
                 [&](Checkpoint& c) { c.states.erase(bias); });
  expect_refusal("there is a value for 'other', which is no state of this session",
                 [](Checkpoint& c) { c.states["other"] = Tensor::zeros(f32, {8}); });
  expect_refusal("state 'mlp.0.bias' is f32[8] in the graphs of this session, the value is f32[1]",
                 [&](Checkpoint& c) {
                   c.best = c.states;
                   c.best[bias] = Tensor::zeros(f32, {1});
                 });
}

TEST(ResumedTraining, ACheckpointOfOtherDataIsRefused) {
  expect_refusal("it is in epoch 7, of 3", [](Checkpoint& c) { c.state.epoch = 7; });
  expect_refusal("it is at step 6, which is not batch 4 of epoch 2 where an epoch has 4 batches",
                 [](Checkpoint& c) { c.state.batch = 4; });
  expect_refusal("it is at step 7, which is not batch 2 of epoch 2 where an epoch has 4 batches",
                 [](Checkpoint& c) { c.state.step = 7; });
  for (const std::int64_t most : {5, 6}) {
    expect_refusal("it has done 6 steps already, so it cannot end after " + std::to_string(most) +
                       " (max_steps)",
                   [](Checkpoint&) {}, {.epochs = 3, .max_steps = most});
  }
}

TEST(ResumedTraining, TwoTrainingsDoNotShareAFolder) {
  const TemporaryFolder folder;
  Model first, second;
  std::string sentence;
  first.train({.epochs = 1, .folder = folder.path(), .progress = [&](const TrainProgress& p) {
                 if (p.step == 2) {
                   try {
                     second.train({.epochs = 1, .folder = folder.path(), .resume = true});
                   } catch (const DataError& error) {
                     sentence = error.what();
                   }
                 }
               }});
  EXPECT_EQ(sentence,
            "'" + folder.path().string() + "' is in use: another training is running in it");
  // Nor does a new one begin where an old one has left its checkpoints: it would lose its own.
  expect_error<InvalidArgument>("'" + folder.path().string() +
                                    "' already holds checkpoints; resume, or choose another folder",
                                [&] { second.train({.epochs = 1, .folder = folder.path()}); });
  EXPECT_TRUE(second.train({.epochs = 1, .folder = folder.path(), .resume = true}).finished);
}

// The loss is a number up to the end, the states that the last update leaves behind are none.

}  // namespace antichain::trainer_test
