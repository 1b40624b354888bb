// Random changes of images, for BatchesOptions::augment.
//
// Two of them are joined by an ordinary function:
//   [shift = random_shift(4), flip = random_flip()](Batch& batch, RandomStream key) {
//     shift(batch, key);
//     flip(batch, key);
//   }
#pragma once

#include <cstdint>
#include <string>

#include "antichain/data/batches.h"

namespace antichain::data {

/// Moves each image of f32[n, c, h, w] by up to `pixels` up, down, left and right, all moves being
/// equally likely; what comes in is 0.
Augment random_shift(std::int64_t pixels, const std::string& name = "x");
/// Mirrors each image of f32[n, c, h, w] left to right with probability one half.
Augment random_flip(const std::string& name = "x");

}  // namespace antichain::data
