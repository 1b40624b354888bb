// Spectra of the ground, seen from the air, with what grows there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "antichain/data/dataset.h"

namespace antichain::data {

/// Says how labelled pixels are divided, class by class.
struct SceneOptions {
  double train = 0.6, validation = 0.2;  // fractions of each class; the rest is for testing
  std::int64_t seed = 0;                 // chooses which pixels
};

/// Divides a scene, numbers [rows, columns, bands], by its ground truth u8[rows, columns], where 0
/// is unlabelled. Of every class, in the order that shuffled(size, seed, class) gives, the first
/// train x size pixels (rounded down) are for training, the next validation x size for validation,
/// the rest for testing. "x" f32[n, bands] is standardised band by band with mean and deviation of
/// the training pixels, "y" i64[n] counts the classes that occur from 0.
Splits divide_scene(const Tensor& cube, const Tensor& ground_truth, const SceneOptions& options);

/// Loads the scene Salinas-A from cube.npy and gt.npy.
Splits salinas_a(const std::filesystem::path& folder = {}, const SceneOptions& options = {});

/// Says which part of k equal ones is for testing.
struct FoldOptions {
  std::int64_t folds = 5, fold = 0;
  std::int64_t seed = 0;
};

/// Loads the 695 spectra "x" f32[n, 200] of Indian Pines from x_695.npy and y_695.npy. Of every
/// class, in the order that shuffled() gives, each pixel whose position is `fold` modulo `folds` is
/// for testing, all others for training.
Splits indian_pines(const std::filesystem::path& folder = {}, const FoldOptions& options = {});

}  // namespace antichain::data
