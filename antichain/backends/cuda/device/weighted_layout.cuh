// Sizes of weighted scans (weighted_scan.cuh) that the host and the kernels must agree on.
#pragma once

namespace antichain::device {

// Rows of states lie in tiles of 16, as tensor cores take them, and 8 columns of them at a time.
constexpr int kTileRows = 16;
constexpr int kMultiplyWarps = 4;            // of a block
constexpr int kMostShared = 227 * 1024 / 4;  // floats of a block

constexpr int up_to(int count, int multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// A state has `states` parts of `units` numbers; `values` counts the diagonals and coefficients of
// a step, `adds` is 1 where something is added in each step, too.
struct ScanLayout {
  int units, states, weights, values, adds;

  constexpr int state() const { return states * units; }
  // Of a product of steps: one more than there are numbers where something is added.
  constexpr int columns() const { return state() + adds; }
  constexpr int width() const { return up_to(columns(), 4); }  // of a row of it
  constexpr int eights() const { return up_to(units, 8) / 8; }
  // Where the last eight has four units at most, lanes hold one number of it instead of two.
  constexpr bool is_half(int eight) const {
    return eight == eights() - 1 && units % 8 >= 1 && units % 8 <= 4;
  }
  // The first unit of an eight that a quarter of lanes holds: two, or one.
  constexpr int first_unit(int eight, int quarter) const {
    return 8 * eight + (is_half(eight) ? quarter : 2 * quarter);
  }

  // Registers of a lane: the tile before a step and behind it, and a part that is multiplied.
  constexpr int tile_registers() const { return 2 * states * eights() * 4 + 8; }
  // Tiles of a warp that multiplies chunks: weights are read once for all of them.
  constexpr int tiles() const { return 2 * tile_registers() <= 112 ? 2 : 1; }
  // How many walks at most a warp's rows belong to, if every walk has so many of them.
  constexpr int walks(int tiles, int columns) const {
    return columns == 1 ? kTileRows * tiles : (kTileRows * tiles - 2) / columns + 2;
  }
  // Numbers of a step that one walk reads.
  constexpr int step_floats() const { return up_to(values * units + adds * state(), 4); }

  // Shared memory, in floats: weights, each number in two parts; what a warp reads ahead of steps,
  // and where its walks begin, two floats each; the products of chunks that are read ahead.
  constexpr int weight_floats() const { return weights * eights() * eights() * 32 * 4; }
  constexpr int slots(int walks) const { return walks * step_floats() <= 3072 ? 4 : 2; }  // steps
  constexpr int warp_floats(int walks) const {
    return up_to(slots(walks) * walks * step_floats() + 8 + 2 * walks, 4);
  }
  constexpr int multiply_floats() const {
    return weight_floats() + kMultiplyWarps * warp_floats(walks(tiles(), columns()));
  }
  constexpr int inside_floats(int warps) const {
    return weight_floats() + warps * warp_floats(walks(1, 1));
  }
  constexpr int inside_warps() const { return inside_floats(2) <= kMostShared ? 2 : 1; }
  constexpr int inside_floats() const { return inside_floats(inside_warps()); }
  // Rows of a product, and an exponent per column: numbers are to be multiplied by powers of two.
  constexpr int product_floats() const { return (state() + 1) * width(); }
  constexpr int across_slots() const {
    const int room = 24576 / product_floats();
    return room < 2 ? 2 : room > 8 ? 8 : room;
  }
  constexpr int ring_floats() const {  // with a barrier for each
    return up_to(across_slots() * (product_floats() + 2), 4);
  }
  constexpr int across_floats() const { return ring_floats() + 2 * up_to(state(), 4); }
  constexpr int across_threads() const { return up_to(state(), 32); }
  // Groups of chunks are joined where a thread has room for a column.
  constexpr bool joins() const { return state() <= 64; }
  constexpr int join_threads() const { return up_to(4 * columns(), 32); }
  constexpr int join_floats() const { return ring_floats() + 2 * columns() * up_to(state(), 4); }
};

}  // namespace antichain::device
