// Damaged checkpoints: whatever is changed, a reader reads or throws DataError, soon, and what it
// has read is what a file of the format can hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "antichain/base/error.h"
#include "antichain/train/checkpoint.h"
#include "antichain/train/safetensors.h"
#include "tests/base/temporary_folder.h"
#include "tests/data/damage.h"

namespace antichain::train_fuzz_test {

constexpr int kRounds = 3000;

// Damages a file again and again, and reads it.
void damage(const std::filesystem::path& path, std::int64_t seed,
            const std::function<void()>& read) {
  const std::string valid = read_text(path);
  Damage damage(seed);
  int readable = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    write_text(path, damage.apply(valid));
    try {
      read();
      ++readable;
    } catch (const DataError& error) {
      EXPECT_FALSE(std::string_view(error.what()).empty());
    }
  }
  EXPECT_GT(readable, 0);
  EXPECT_LT(readable, kRounds);
  write_text(path, valid);
  EXPECT_NO_THROW(read());
}

NamedTensors tensors() {
  NamedTensors all;
  for (int i = 0; i < kNumDTypes; ++i) {
    all["t" + std::to_string(i)] = Tensor::full(static_cast<DType>(i), {2, 3}, 1);
  }
  all["scalar"] = Tensor::scalar(2.5);
  all["empty"] = Tensor::empty(f32, {0, 784});
  return all;
}

TEST(Fuzz, Safetensors) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "model.safetensors";
  save_safetensors(path, {.tensors = tensors(), .metadata = {{"format", "pt"}}});
  damage(path, 1, [&] {
    for (const auto& [name, tensor] : load_safetensors(path).tensors) {
      // Every byte is there: a sanitizer sees it where one is not.
      const Tensor copy = tensor.clone();
      EXPECT_TRUE(bit_equal(copy, tensor)) << name;
      EXPECT_LE(tensor.bytes(), 1000U);
    }
  });
}

TEST(Fuzz, StateOfATraining) {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  checkpoint.state.epoch = 3;
  checkpoint.state.step = 7;
  checkpoint.states = tensors();
  checkpoint.state.history["train/loss"] = {{1, 0.5, 1.5}, {2, 1.0 / 7, 2.5}};
  checkpoint.state.history["test/loss"] = {{2, 1e300, 2.5}};
  save_checkpoint(folder.path(), checkpoint, 1);
  damage(folder / "step-00000007/state.json", 2, [&] {
    const TrainState state = load_checkpoint(folder.path()).value().state;
    EXPECT_GE(state.epoch, 1);
    EXPECT_GE(std::min({state.batch, state.step, state.samples, state.loss_samples}), 0);
    for (const auto& [name, curve] : state.history) {
      EXPECT_FALSE(curve.empty()) << name;
    }
  });
}

}  // namespace antichain::train_fuzz_test
