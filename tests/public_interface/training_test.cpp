// Training with one include, in the part of the library that is not in every build.
#include <antichain/antichain.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/base/temporary_folder.h"

namespace {

namespace ac = antichain;

TEST(UmbrellaOfTraining, TrainsAndKeepsWhatItFound) {
  ac::Session session;
  ac::Graph graph = session.graph();
  const ac::Var x = graph.input("x", ac::f32, {"batch", 2});
  const ac::Var y = graph.input("y", ac::i64, {"batch"});
  const ac::Var logits = ac::nn::mlp(x, {16, 2});
  const ac::Var losses = ac::nn::cross_entropy(logits, y);
  const ac::Var loss = ac::mean(losses);
  const ac::Executable step = session.compile({loss}, {.updates = ac::optim::adam(loss)});
  const ac::Executable evaluation = session.compile({losses, ac::nn::is_correct(logits, y)});
  const auto points = ac::data::spirals({.points = 60});
  ac::data::Batches batches(points, {.batch = 20});
  const ac::TemporaryFolder folder;

  const ac::TrainResult result = ac::Trainer({.step = step,
                                              .batches = batches,
                                              .states = session.states(),
                                              .evaluations = {{"test", evaluation, points}}},
                                             {.epochs = 2, .folder = folder.path()})
                                     .run();
  EXPECT_EQ(result.steps, 6);
  EXPECT_EQ(result.history.at("test/accuracy").back().value, result.scores.at("test").accuracy);

  const auto checkpoint = ac::load_checkpoint(folder / "checkpoints");
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_EQ(checkpoint->state.step, 6);
  ac::save_safetensors(folder / "model.safetensors", {.tensors = session.states().all()});
  const ac::Safetensors saved = ac::load_safetensors(folder / "model.safetensors");
  EXPECT_TRUE(
      ac::bit_equal(saved.tensors.at("mlp.0.weight"), checkpoint->states.at("mlp.0.weight")));
  ac::write_report(folder / "report.html",
                   {.title = "two epochs", .charts = ac::charts_of({{"run", result.history}})});
  EXPECT_TRUE(std::filesystem::exists(folder / "report.html"));
}

}  // namespace
