// What a warp that takes the steps of a chain by itself reads ahead (narrow_chain.h). Copies are
// those of async_copy.cuh, which is included before, or of a test.
#pragma once

namespace antichain::device {

// Steps whose values are copied, and waited for, together: a warp that is alone has no time for a
// copy and a wait in every step. Blocks that are in shared memory or on their way there.
constexpr int kBlockSteps = 16, kBlocksHeld = 3;

// A sequence with kColumns numbers in every step. Lanes copy pieces, those of several steps at once
// where steps are narrow.
template <int kColumns>
class StepBlocks {
  static constexpr int kPiece = kColumns % 4 == 0 ? 4 : 1, kPieces = kColumns / kPiece;
  static constexpr int kTogether =  // steps
      kPieces > 16  ? 1
      : kPieces > 8 ? 2
      : kPieces > 4 ? 4
      : kPieces > 2 ? 8
                    : 16;
  static constexpr int kTurns = (kPieces + 31) / 32;  // of the lanes, for a step
  static constexpr int kBlock = kBlockSteps * kColumns;

 public:
  static constexpr int kFloats = kBlocksHeld * kBlock;

  // The numbers of the first step are at `first`, a multiple of 16 bytes where kColumns is one of
  // four numbers, those of each later one `stride` numbers further. `memory` is for kFloats.
  StepBlocks(const float* first, long long stride, float* memory)
      : stride_(stride), memory_(memory) {
    const int lane = threadIdx.x, piece = lane % kPieces * kPiece;
    step_ = kTurns > 1 ? 0 : lane / kPieces;
    from_ = first + step_ * stride + piece;
    to_ = step_ * kColumns + piece;
  }

  // Begins to read the next block, of which there are `left` steps, to a place.
  void fetch(int place, long long left) {
    float* const to = memory_ + place * kBlock + to_;
#pragma unroll
    for (int n = 0; n < kBlockSteps; n += kTogether) {
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn) {
        const int further = 32 * turn * kPiece;
        if (kTurns > 1 ? int(threadIdx.x) + 32 * turn < kPieces : step_ < kTogether) {
          copy(to + n * kColumns + further, from_ + n * stride_ + further, n + step_ < left);
        }
      }
    }
    from_ += kBlockSteps * stride_;
  }
  // The numbers of the steps of the block at a place.
  const float* at(int place) const { return memory_ + place * kBlock; }

 private:
  static void copy(float* to, const float* from, bool wanted) {
    if constexpr (kPiece == 4) {
      copy_16_bytes(to, from, wanted);
    } else {
      copy_4_bytes(to, from, wanted);
    }
  }

  long long stride_;
  float* memory_;
  const float* from_;  // the lane's first piece of the next block
  int step_, to_;      // and where in a block it lies
};

}  // namespace antichain::device
