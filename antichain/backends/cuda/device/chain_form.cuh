// How rows and matrices of a chain lie in shared memory, and how products are dealt to threads.
// Kernels (chain.cuh, chain_slabs.cuh) and the host, which counts the memory, must agree about it.
#pragma once

namespace antichain::device {

// Rows that are tall enough for a warp to take 8 columns of 4 of them at once.
constexpr int kTallRows = 8;

// Elements from column to column of some rows. Lanes that take 8 columns of 4 rows, and those that
// take 8 rows of a column, find theirs in different banks.
constexpr int row_pitch(int rows, int element_bytes) {
  return rows < kTallRows ? rows : rows + 16 / element_bytes;
}

// A product of rows in shared memory by a matrix that passes through it in slabs: some of the
// numbers that are added up over, and all columns. A thread has a tile of the result; where there
// are more threads than tiles, several of them add up to one.
struct ProductForm {
  int rows, inner, columns, threads;
  bool transposed;  // the matrix lies so
  int slab_floats;  // at most, if a slab of one line is not larger

  constexpr int tile_rows() const { return rows >= 32 ? 8 : rows >= 4 ? 4 : rows; }
  constexpr int across() const { return (columns + 3) / 4; }  // tiles of 4 columns
  constexpr int tiles() const { return rows / tile_rows() * across(); }
  // Warps have tiles of 4 lines and 8 columns of them, where that cuts them evenly.
  constexpr bool by_squares() const { return across() % 8 == 0 && rows / tile_rows() % 4 == 0; }
  constexpr int splits() const {
    int splits = 1;
    while (2 * splits * tiles() <= threads && 8 * splits <= inner) {
      splits *= 2;
    }
    return splits;
  }

  // Lanes beside each other read 4 columns of a line each; of a transposed matrix, 4 numbers of a
  // column each, which is why columns are an odd number of those apart.
  constexpr int pitch() const { return transposed ? ((depth() + 3) / 4 | 1) * 4 : 4 * across(); }
  // Numbers that are added up over, of a slab.
  constexpr int depth() const {
    const int line = 4 * across();  // a column of the matrix has as many numbers of all slabs
    int most = slab_floats / line;
    if (transposed) {
      most -= 4;  // what may lie between columns
    }
    most = most / 4 * 4;
    most = most < 4 ? 4 : most;
    return most < inner ? most : inner;
  }
  constexpr int slabs() const { return (inner + depth() - 1) / depth(); }
  constexpr int floats() const { return transposed ? 4 * across() * pitch() : depth() * pitch(); }
};

}  // namespace antichain::device
