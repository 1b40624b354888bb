#include "antichain/train/checkpoint.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/base/temporary_folder.h"
#include "tests/tensor/expect_error.h"

namespace antichain::checkpoint_test {

Checkpoint sample(std::int64_t step) {
  return {.state = {.epoch = 3,
                    .batch = 4,
                    .step = step,
                    .samples = 640,
                    .loss_total = 0.1 + 0.2,  // not a short decimal
                    .loss_samples = 64,
                    .seconds = 1.0 / 3,
                    .best_score = -0.7,
                    .best_epoch = 2,
                    .history = {{"train/loss", {{1, 1e-300, 1.5}, {2, 1.0 / 7, 2.5}}}}},
          .states = {{"w", Tensor::of<float>({2}, {1, 2})}},
          .best = {{"w", Tensor::of<float>({2}, {3, 4})}}};
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Checkpoint, ComesBackToTheBit) {
  const TemporaryFolder folder;
  const Checkpoint written = sample(7);
  save_checkpoint(folder / "c", written, 1);
  const Checkpoint read = load_checkpoint(folder / "c").value();
  EXPECT_EQ(read.state.epoch, 3);
  EXPECT_EQ(read.state.batch, 4);
  EXPECT_EQ(read.state.step, 7);
  EXPECT_EQ(read.state.samples, 640);
  EXPECT_EQ(read.state.loss_total, written.state.loss_total);
  EXPECT_EQ(read.state.loss_samples, 64);
  EXPECT_EQ(read.state.seconds, written.state.seconds);
  EXPECT_EQ(read.state.best_score, -0.7);
  EXPECT_EQ(read.state.best_epoch, 2);
  EXPECT_FALSE(read.state.finished);
  ASSERT_EQ(read.state.history.at("train/loss").size(), 2U);
  EXPECT_EQ(read.state.history.at("train/loss")[0].value, 1e-300);
  EXPECT_EQ(read.state.history.at("train/loss")[1].time, 2.5);
  EXPECT_TRUE(bit_equal(read.states.at("w"), written.states.at("w")));
  EXPECT_TRUE(bit_equal(read.best.at("w"), written.best.at("w")));
}

TEST(Checkpoint, TheNewestIsTakenAndOldOnesGo) {
  const TemporaryFolder folder;
  for (const std::int64_t step : {8, 9, 10, 100}) {
    save_checkpoint(folder.path(), sample(step), 2);
  }
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000010", "step-00000100"}));
  EXPECT_EQ(load_checkpoint(folder.path())->state.step, 100);
}

TEST(Checkpoint, WhatAKilledRunLeftHalfMadeIsNotSeen) {
  const TemporaryFolder folder;
  save_checkpoint(folder.path(), sample(5), 2);
  std::filesystem::create_directory(folder / ".aside-step-00000006");
  write_text(folder / ".aside-step-00000006/model.safetensors.tmp", "half");
  EXPECT_EQ(load_checkpoint(folder.path())->state.step, 5);
  save_checkpoint(folder.path(), sample(6), 2);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000005", "step-00000006"}));
}

TEST(Checkpoint, TheEndOfARunStandsBesideItsLastStep) {
  const TemporaryFolder folder;
  Checkpoint checkpoint = sample(5);
  save_checkpoint(folder.path(), checkpoint, 2);
  checkpoint.state.finished = true;
  save_checkpoint(folder.path(), checkpoint, 2);
  EXPECT_TRUE(load_checkpoint(folder.path())->state.finished);
}

TEST(Checkpoint, MistakesAreSentences) {
  const TemporaryFolder folder;
  EXPECT_FALSE(load_checkpoint(folder / "none").has_value());
  expect_error<InvalidArgument>("at least one checkpoint must be kept, got 0",
                                [&] { save_checkpoint(folder.path(), sample(1), 0); });
  save_checkpoint(folder.path(), sample(1), 1);
  write_text(folder / "step-00000001/state.json", "{\"epoch\": \"one\"}");
  try {
    load_checkpoint(folder.path());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("is not the state of a training run: "));
  }
  write_text(folder / "file", "");
  EXPECT_THROW(save_checkpoint(folder / "file", sample(1), 1), DataError);
}

}  // namespace antichain::checkpoint_test
