// How products with one long axis are dealt to threads, and where their numbers lie in shared
// memory: what the kernels (tall_reduction.cuh, tall_product.cuh) and the host, which chooses the
// numbers (tall_forms.h), must agree about.
#pragma once

namespace antichain::device {

constexpr int kTallBlocks = 264;  // that share a long sum: two per multiprocessor of an H200

constexpr int tall_up_to_four(int count) { return (count + 3) / 4 * 4; }

// Matrices whose columns stand side by side, and a column of ones behind them.
struct TallSources {
  static constexpr int kMost = 8;

  int widths[kMost];  // columns of each; 0 behind the last
  bool ones = false;

  constexpr int count() const {
    int found = 0;
    while (found < kMost && widths[found] > 0) {
      ++found;
    }
    return found;
  }
  // The column that the first of a matrix is; behind the last, that of ones.
  constexpr int first(int source) const {
    int column = 0;
    for (int i = 0; i < source; ++i) {
      column += widths[i];
    }
    return column;
  }
  constexpr int columns() const { return first(count()) + (ones ? 1 : 0); }
};

// How a tile of steps of matrices lies in shared memory, a number of a step for each of their
// columns. Lanes of a warp should find what they read at once in different banks, and copies want
// multiples of 4 numbers.
struct TallTile {
  TallSources from;
  int steps;
  int held;    // numbers of a step that threads read: they go on behind the last one
  bool along;  // all steps of a number lie side by side, rather than the numbers of a step
  int spread;  // steps that a warp reads at once, a power of two

  constexpr int size() const { return from.columns(); }
  constexpr bool is_one() const { return from.count() == 1 && !from.ones; }
  constexpr int pitch() const {
    const int least = spread < 4 ? 4 : spread;
    // The steps of one matrix lie as they do in memory, unless that is bad for banks.
    const int packed = is_one() ? size() : tall_up_to_four(size());
    return along ? steps + ((least - steps) % 32 + 32) % 32 : packed % 8 == 0 ? packed + 4 : packed;
  }
  constexpr bool is_packed() const { return is_one() && !along && pitch() == size(); }
  // Whether runs of 4 numbers of a matrix go to multiples of 4, if they begin at such in memory.
  constexpr bool takes_fours(int source) const {
    return is_packed() || along || (from.widths[source] % 4 == 0 && from.first(source) % 4 == 0);
  }
  constexpr int at(int step, int n) const {
    return along ? n * pitch() + step : step * pitch() + n;
  }
  constexpr int floats() const { return tall_up_to_four(at(steps - 1, held - 1) + 1); }
};

// Sums over a long axis of the products of all pairs of columns of `left` and `right`, which are
// the rows and columns of the result. A block goes through tiles of `tile` steps of that axis.
// `down * across` threads, a group, hold the sums of all pairs, `own_rows` by `own_columns` each;
// the groups of a block take the steps of a tile in turn.
struct TallReductionForm {
  static constexpr int kThreads = 256;

  TallSources left, right;
  bool along_a, along_b;  // the long axis is the one that lies packed: of a side of one matrix
  int down, across, own_rows, own_columns, tile;

  constexpr int rows() const { return left.columns(); }
  constexpr int columns() const { return right.columns(); }
  constexpr int group() const { return down * across; }
  // Tiles are multiples of this and of 4: so they need not be large where groups are many.
  constexpr int groups() const {
    const int all = kThreads / group();
    return all >= 16 ? all / 4 * 4 : all;
  }
  constexpr int sums() const { return own_rows * own_columns; }
  constexpr int spread() const {
    int steps = 1;
    while (steps < 32 && steps * group() < 32) {
      steps *= 2;
    }
    return steps;
  }
  constexpr TallTile a() const { return {left, tile, down * own_rows, along_a, spread()}; }
  constexpr TallTile b() const { return {right, tile, across * own_columns, along_b, spread()}; }
  constexpr int tile_floats() const { return a().floats() + b().floats(); }
  // Two tiles, and then the sums of half of the groups.
  constexpr int shared_floats() const {
    const int joined = sums() * (groups() / 2) * group();
    return 2 * tile_floats() > joined ? 2 * tile_floats() : joined;
  }
};

// Products of a long matrix of `inner` columns and a small one of `columns`. A block goes through
// tiles of rows; a thread computes `own_rows` of them, each `down` below the other, at `own_quads`
// runs of 4 columns, each `across` runs behind the other.
struct TallProductForm {
  static constexpr int kThreads = 128;

  int inner, columns;
  bool transpose_b, bias, relu;
  int down, across, own_rows, own_quads;

  constexpr int tile() const { return down * own_rows; }
  constexpr int whole_inner() const { return tall_up_to_four(inner); }  // zeros behind
  constexpr int pitch() const {  // the banks of neighbouring rows differ
    return whole_inner() + (whole_inner() % 8 == 0 ? 4 : 0);
  }
  constexpr int quads() const { return across * own_quads; }  // of a row of b, with zeros behind
  constexpr int tile_floats() const { return tile() * pitch(); }
  // b with a row for the bias, and two tiles.
  constexpr int shared_floats() const {
    return 4 * quads() * (whole_inner() + 1) + 2 * tile_floats();
  }
};

}  // namespace antichain::device
