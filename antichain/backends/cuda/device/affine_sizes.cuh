// Sizes of the kernels of affine scans, for the host and for the GPU.
#pragma once

namespace antichain::device {

constexpr int kScanThreads = 128;  // of a block, of narrow matrices and of diagonals

// The kernels of affine_narrow.cuh: matrices of size x size numbers of so many bytes. Rows lie in
// pieces of 16 bytes.
struct NarrowSizes {
  int size, bytes;

  constexpr int piece() const { return 16 / bytes; }  // numbers in one
  constexpr int wide() const { return (size + piece() - 1) / piece(); }
  // The product of a chunk: its columns, what is added, and an exponent per column; in pieces.
  constexpr int record() const { return (size + 2) * wide(); }

  // A lane has a row of the state in a walk, and of a product a column, or two where registers
  // suffice: what is read of a matrix is then used for both.
  constexpr int walk_lanes() const { return power_of_two_for(size); }
  constexpr int columns_per_lane() const { return bytes == 4 && size > 1 ? 2 : 1; }
  constexpr int product_lanes() const {
    return power_of_two_for((size + columns_per_lane() - 1) / columns_per_lane());
  }

  // How many steps lie in shared memory at the same time, most of them on their way there.
  constexpr int walk_stages() const { return stages(walk_lanes(), 8); }
  constexpr int product_stages() const { return stages(product_lanes(), 4); }
  // What the lanes of one walk or product share: these, and two vectors; in pieces.
  constexpr int of_walk() const { return walk_stages() * record() + 2 * wide(); }
  constexpr int of_product() const { return product_stages() * record() + 2 * wide(); }
  constexpr int walk_shared_bytes() const { return kScanThreads / walk_lanes() * of_walk() * 16; }
  constexpr int product_shared_bytes() const {
    return kScanThreads / product_lanes() * of_product() * 16;
  }

 private:
  static constexpr int power_of_two_for(int count) {
    int power = 1;
    while (power < count) {
      power *= 2;
    }
    return power;
  }
  constexpr int stages(int lanes, int most) const {
    constexpr int kRoom = 1 << 16;  // bytes: a few blocks beside each other
    const int fit = kRoom / (kScanThreads / lanes * record() * 16);
    return fit < 2 ? 2 : fit > most ? most : fit;
  }
};

constexpr int kMostNarrow = 32;  // numbers in a state that a warp walks with

// The kernels of affine_wide.cuh, for larger ones.
constexpr int kWideThreads = 256, kTile = 64, kSlab = 16;
constexpr int kLeftRow = kTile + 4;  // numbers apart, so that columns lie in different banks
constexpr int kTileNumbers = kSlab * (kLeftRow + kTile);  // that a block shares
// Of a walk: the state, and sums of parts of the rows.
constexpr int wide_walk_numbers(int size, bool transposed) {
  return size * (transposed ? 1 + kWideThreads / 32 : 2);
}

}  // namespace antichain::device
