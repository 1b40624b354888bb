#include "antichain/train/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

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

// As text, "step-100000000" comes before "step-99999999".
TEST(Checkpoint, TheirOrderIsThatOfTheirNumbers) {
  const TemporaryFolder folder;
  for (const std::int64_t step : {99'999'998, 99'999'999, 100'000'000, 100'000'001}) {
    save_checkpoint(folder.path(), sample(step), 2);
    EXPECT_EQ(load_checkpoint(folder.path())->state.step, step);
  }
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"step-100000000", "step-100000001"}));
  Checkpoint last = sample(100'000'001);
  last.state.finished = true;
  save_checkpoint(folder.path(), last, 1);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-100000001-final"}));
}

TEST(Checkpoint, FoldersThatAreCalledOtherwiseAreLeftAlone) {
  const TemporaryFolder folder;
  const std::vector<std::string> others = {"step-", "step-12-old", "step-by-step", "step--1"};
  for (const std::string& other : others) {
    std::filesystem::create_directory(folder / other);
  }
  EXPECT_FALSE(load_checkpoint(folder.path()).has_value());
  save_checkpoint(folder.path(), sample(5), 1);
  save_checkpoint(folder.path(), sample(6), 1);
  EXPECT_EQ(load_checkpoint(folder.path())->state.step, 6);
  EXPECT_EQ(names_in(folder.path()).size(), others.size() + 1);
}

TEST(Checkpoint, NumbersThatAreNotFiniteComeBack) {
  const TemporaryFolder folder;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Checkpoint written = sample(7);
  written.state.loss_total = kInfinity;
  written.state.best_score = std::nan("");
  written.state.history["test/loss"] = {{1, std::nan(""), 1}, {2, -kInfinity, 2}};
  save_checkpoint(folder.path(), written, 1);
  const TrainState read = load_checkpoint(folder.path())->state;
  EXPECT_EQ(read.loss_total, kInfinity);
  EXPECT_TRUE(std::isnan(read.best_score));
  EXPECT_TRUE(std::isnan(read.history.at("test/loss")[0].value));
  EXPECT_EQ(read.history.at("test/loss")[1].value, -kInfinity);
  // Files of the past have null.
  std::string text = read_text(folder / "step-00000007/state.json");
  text.replace(text.find("\"nan\""), 5, "null");
  write_text(folder / "step-00000007/state.json", text);
  EXPECT_TRUE(std::isnan(load_checkpoint(folder.path())->state.best_score));
}

// Changes a part of a whole state.json and expects one sentence about it.
void expect_bad_state(const std::string& part, const std::string& instead, const std::string& why) {
  const TemporaryFolder folder;
  save_checkpoint(folder.path(), sample(7), 1);
  const std::string path = folder / "step-00000007/state.json";
  std::string text = read_text(path);
  ASSERT_NE(text.find(part), std::string::npos) << text;
  text.replace(text.find(part), part.size(), instead);
  write_text(path, text);
  try {
    load_checkpoint(folder.path());
    ADD_FAILURE() << instead << " is taken";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(),
                testing::StartsWith("'" + path + "' is not the state of a training run: " + why));
  }
}

TEST(Checkpoint, StatesThatCannotBeAreRefused) {
  const std::string deep(100'000, '[');
  expect_bad_state("\"epoch\": 3", "\"epoch\": 0", "'epoch' must be a whole number within [1, ");
  expect_bad_state("\"epoch\": 3", "\"epoch\": 1e300", "'epoch' must be a whole number");
  expect_bad_state("\"epoch\": 3", "\"epoch\": 2.5", "'epoch' must be a whole number");
  expect_bad_state("\"epoch\": 3", "\"epoch\": 18446744073709551615", "'epoch' must be a whole");
  expect_bad_state("\"epoch\": 3", "\"epoch\": 3, \"epoch\": 3", "'epoch' is in it twice");
  expect_bad_state("\"epoch\": 3", "\"epoc\": 3", "it lacks 'epoch'");
  expect_bad_state("\"step\": 7", "\"step\": -7", "'step' must be a whole number within [0, ");
  expect_bad_state("\"best_epoch\": 2", "\"best_epoch\": 4", "'best_epoch' must be");
  expect_bad_state("\"finished\": false", "\"finished\": 0", "'finished' is neither true nor");
  expect_bad_state("\"loss_samples\": 64", "\"loss_samples\": " + deep,
                   "it is nested more than 8 deep");
  expect_bad_state("\"train/loss\": [", "\"train/loss\": [[1], ", "a point of the curve");
  expect_bad_state("\"history\": {", "\"history\": [], \"other\": {", "'history' is no object");
}

// Nobody else can know what a checkpoint is called while it is made, so a link that is put there at
// the right moment is not followed.
TEST(Checkpoint, IsNotMadeThroughAPlantedLink) {
  const TemporaryFolder folder, victim;
  std::filesystem::create_directories(folder / "c");
  std::jthread planter([&](const std::stop_token& stop) {
    for (int step = 1; !stop.stop_requested(); step = step % 50 + 1) {
      std::error_code there_already;
      std::filesystem::create_directory_symlink(
          victim.path(), folder / fmt::format("c/.aside-step-{:08}", step), there_already);
    }
  });
  for (int step = 1; step <= 50; ++step) {
    save_checkpoint(folder / "c", sample(step), 1);
  }
  planter.request_stop();
  planter.join();
  EXPECT_THAT(names_in(victim.path()), testing::IsEmpty());
  EXPECT_EQ(load_checkpoint(folder / "c")->state.step, 50);
}

TEST(Checkpoint, ANumberThatIsNotThatOfItsStepIsRefused) {
  const TemporaryFolder folder;
  save_checkpoint(folder.path(), sample(7), 1);
  std::filesystem::rename(folder / "step-00000007", folder / "step-00000008");
  expect_error<DataError>("'" + (folder / "step-00000008/state.json").string() +
                              "' is not the state of a training run: it is of step 7, and its "
                              "folder is called 'step-00000008'",
                          [&] { load_checkpoint(folder.path()); });
}

TEST(Checkpoint, CurvesWithoutPointsAreNone) {
  const TemporaryFolder folder;
  Checkpoint written = sample(7);
  written.state.history = {{"train/loss", {}}};
  save_checkpoint(folder.path(), written, 1);
  EXPECT_TRUE(load_checkpoint(folder.path())->state.history.empty());
}

TEST(Checkpoint, ADamagedOneNamesTheOneBeforeIt) {
  const TemporaryFolder folder;
  for (const std::int64_t step : {1, 2, 3}) {
    save_checkpoint(folder.path(), sample(step), 3);
  }
  const auto sentence = [&] {
    try {
      load_checkpoint(folder.path());
      return std::string();
    } catch (const DataError& error) {
      return std::string(error.what());
    }
  };
  const auto damage = [&](const std::string& name) {
    const std::string path = folder / (name + "/model.safetensors");
    write_text(path, read_text(path).substr(0, 20));
  };
  damage("step-00000003");
  EXPECT_THAT(sentence(), testing::HasSubstr(
                              "; '" + (folder / "step-00000002").string() + "' is whole: remove '" +
                              (folder / "step-00000003").string() + "' to go on from there"));
  damage("step-00000002");
  EXPECT_THAT(sentence(), testing::HasSubstr((folder / "step-00000001").string() + "' is whole"));
  damage("step-00000001");
  EXPECT_THAT(sentence(), testing::Not(testing::HasSubstr("is whole")));
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
