// Sizes of the kernels of attention, for those who start them, too.
#pragma once

namespace antichain::device {

struct AttentionForm {
  int tiles;    // groups of 16 rows that a warp computes
  int warps;    // of a block
  int columns;  // that meet them at a time
  bool held;    // whether rows stay in registers

  constexpr int rows() const { return 16 * tiles * warps; }
  constexpr int threads() const { return 32 * warps; }
  // How many blocks share a multiprocessor, at least: 8 warps may have 255 registers a thread.
  constexpr int blocks() const { return 8 / warps; }
};

// As much as fits into 255 registers of a thread without spilling; masks take some. Twice as many
// rows in a warp halve what is read of shared memory for each product.
constexpr AttentionForm forward_form(int width, bool masked) {
  return width <= 64 ? AttentionForm{2, 4, masked ? 32 : 64, true} : AttentionForm{1, 8, 64, false};
}
// Of the gradients of keys and values, and of those of queries.
constexpr AttentionForm backward_form(int width, bool masked, bool rows_are_keys) {
  if (rows_are_keys) {
    return width <= 64 ? AttentionForm{1, 4, 64, true} : AttentionForm{1, 4, 32, false};
  }
  if (width <= 64) {
    return masked ? AttentionForm{1, 4, 64, true} : AttentionForm{2, 4, 32, true};
  }
  return AttentionForm{1, 4, width <= 96 ? 64 : 32, false};
}

// Rows of a tile lie one 16-byte chunk further apart than they are long: their number of chunks is
// even, so 8 rows behind each other begin in 8 different groups of 4 banks.
constexpr int pitch_of(int width) { return width + 8; }
constexpr int tile_elements(int rows, int width) { return rows * pitch_of(width); }

// Shared memory of a block: rows and, twice, two tiles of columns; backwards, two tiles of rows and
// two numbers for every column.
constexpr int kElementBytes = 2;
constexpr int forward_bytes(int width, bool masked) {
  const AttentionForm form = forward_form(width, masked);
  return kElementBytes *
         (tile_elements(form.rows(), width) + 4 * tile_elements(form.columns, width));
}
constexpr int backward_bytes(int width, bool masked, bool rows_are_keys) {
  const AttentionForm form = backward_form(width, masked, rows_are_keys);
  return kElementBytes *
             (2 * tile_elements(form.rows(), width) + 4 * tile_elements(form.columns, width)) +
         2 * 2 * int(sizeof(float)) * form.columns;
}

}  // namespace antichain::device
