// How heavy work is cut: by its size alone, never by the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace antichain::cpu {

/// Returns into how many blocks this many multiplications are worth being cut: a power of 2.
std::int64_t wanted_blocks(double multiplications);

/// Returns how many pieces of a length cover a size; the last one may be shorter.
constexpr std::int64_t num_pieces(std::int64_t size, std::int64_t piece) {
  return (size + piece - 1) / piece;
}

/// Cuts a size into consecutive parts of equal length, a multiple of `granule`; the last one may be
/// shorter.
struct Cut {
  std::int64_t size, length;

  Cut(std::int64_t size_, std::int64_t parts, std::int64_t granule = 1)
      : size(size_), length((size_ + parts - 1) / parts) {
    length = std::min(size, (length + granule - 1) / granule * granule);
  }
  std::int64_t parts() const { return (size + length - 1) / length; }
  std::int64_t first(std::int64_t part) const { return part * length; }
  std::int64_t length_of(std::int64_t part) const { return std::min(length, size - first(part)); }
};

/// Part of a packed result: `rows` runs of `width` elements, their starts `step` apart, from
/// element `first` on.
struct Block {
  std::int64_t first, rows, width, step;

  std::int64_t elements() const { return rows * width; }
};

}  // namespace antichain::cpu
