// What a warp that takes the steps of a chain by itself reads ahead, and stores behind them
// (narrow_chain.h). Copies are those of async_copy.cuh, which is included before, or of a test.
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

// States that are stored block by block from shared memory, where steps lie 32 numbers apart, as
// some outputs with kColumns numbers in every step. What lanes store is worked out beforehand.
template <int kColumns, int kOutputs>
class StepStores {
  static constexpr int kPitch = 32, kPieces = kColumns % 4 == 0 ? kColumns / 4 : 0;
  static constexpr int kTurns = kPieces > 0 ? (kBlockSteps* kPieces + 31) / 32 : 1;
  struct alignas(16) Piece {
    float numbers[4];
  };

 public:
  // Places for the first step, any of them or none, each later one `stride` numbers further. An
  // output that lags holds the states behind the steps: the first one that is given is no such, and
  // each other belongs to the step before.
  StepStores(float* const (&first)[kOutputs], const bool (&lags)[kOutputs], long long stride)
      : stride_(stride), is_wide_(kPieces > 0 && stride % 4 == 0) {
#pragma unroll
    for (int k = 0; k < kOutputs; ++k) {
      lags_[k] = lags[k];
      is_wanted_[k] = first[k] != nullptr;
      is_wide_ = is_wide_ && (unsigned long long)first[k] % 16 == 0;
      to_[k] = lags[k] ? first[k] - stride : first[k];
    }
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int i = threadIdx.x + 32 * turn, pieces = kPieces > 0 ? kPieces : 1;
      step_[turn] = i / pieces;
      further_[turn] = step_[turn] * stride + i % pieces * 4;
      at_[turn] = step_[turn] < kBlockSteps ? step_[turn] * kPitch + i % pieces * 4 : 0;
    }
  }

  // Stores the first steps of the next block.
  void store(const float* from, bool is_first, int steps) {
    bool is_wanted = false;
#pragma unroll
    for (int k = 0; k < kOutputs; ++k) {
      is_wanted = is_wanted || is_wanted_[k];
    }
    if (!is_wanted) {
      return;
    }
    if (is_wide_) {
      Piece pieces[kTurns];
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn) {
        pieces[turn] = *(const Piece*)(from + at_[turn]);
      }
      __syncwarp();  // all are asked for before one is waited for
#pragma unroll
      for (int k = 0; k < kOutputs; ++k) {
        const int skipped = lags_[k] && is_first ? 1 : 0, end = is_wanted_[k] ? steps : 0;
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn) {
          if (step_[turn] >= skipped && step_[turn] < end && step_[turn] < kBlockSteps) {
            *(Piece*)(to_[k] + further_[turn]) = pieces[turn];
          }
        }
      }
    } else {
#pragma unroll
      for (int k = 0; k < kOutputs; ++k) {
        const int skipped = lags_[k] && is_first ? 1 : 0, end = is_wanted_[k] ? steps : 0;
#pragma unroll 1
        for (int i = skipped * kColumns + int(threadIdx.x); i < end * kColumns; i += 32) {
          to_[k][i / kColumns * stride_ + i % kColumns] =
              from[i / kColumns * kPitch + i % kColumns];
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kOutputs; ++k) {
      to_[k] += kBlockSteps * stride_;
    }
  }

 private:
  long long stride_;
  bool is_wide_, lags_[kOutputs], is_wanted_[kOutputs];
  float* to_[kOutputs];  // the next block
  int step_[kTurns], at_[kTurns];
  long long further_[kTurns];
};

}  // namespace antichain::device
