#include "antichain/runtime/access_order.h"

#include <algorithm>
#include <limits>

namespace antichain {

MemoryRange all_memory() { return {0, std::numeric_limits<std::uintptr_t>::max()}; }

void AccessOrder::begin_step() { needs_.emplace_back(); }

void AccessOrder::wait_for(std::size_t step) {
  std::vector<std::size_t>& own = needs_.back();
  const auto at = std::ranges::lower_bound(own, step);
  if (step != kNobody && step != current() && (at == own.end() || *at != step)) {
    own.insert(at, step);
  }
}

// Makes a piece that covers the address begin there.
void AccessOrder::split_at(std::uintptr_t address) {
  auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) {
    return;
  }
  auto& [first, piece] = *std::prev(after);
  if (first < address && address < piece.last) {
    Piece rest = piece;
    piece.last = address;
    pieces_.emplace_hint(after, address, std::move(rest));
  }
}

void AccessOrder::read(MemoryRange range) {
  if (range.first >= range.last) {
    return;
  }
  split_at(range.first);
  split_at(range.last);
  std::uintptr_t at = range.first;
  for (auto piece = pieces_.lower_bound(range.first); at < range.last;) {
    const bool is_gap = piece == pieces_.end() || piece->first > at;
    if (is_gap) {  // nobody has touched it yet
      const std::uintptr_t until =
          piece == pieces_.end() ? range.last : std::min(range.last, piece->first);
      piece = pieces_.emplace_hint(piece, at, Piece{until, kNobody, {}});
    }
    wait_for(piece->second.writer);
    if (std::vector<std::size_t>& readers = piece->second.readers;
        readers.empty() || readers.back() != current()) {
      readers.push_back(current());
    }
    at = piece->second.last;
    ++piece;
  }
}

void AccessOrder::write(MemoryRange range) {
  if (range.first >= range.last) {
    return;
  }
  split_at(range.first);
  split_at(range.last);
  const auto begin = pieces_.lower_bound(range.first), end = pieces_.lower_bound(range.last);
  for (auto piece = begin; piece != end; ++piece) {
    wait_for(piece->second.writer);
    std::ranges::for_each(piece->second.readers, [this](std::size_t reader) { wait_for(reader); });
  }
  pieces_.erase(begin, end);
  pieces_.emplace(range.first, Piece{range.last, current(), {}});
}

std::vector<std::size_t> AccessOrder::needs() const {
  const std::vector<std::size_t>& own = needs_.back();
  std::vector<std::size_t> result;
  for (const std::size_t step : own) {
    const bool is_known = std::ranges::any_of(own, [&](std::size_t other) {
      return other > step && std::ranges::binary_search(needs_[other], step);
    });
    if (!is_known) {
      result.push_back(step);
    }
  }
  return result;
}

}  // namespace antichain
