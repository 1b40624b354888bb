// How copies are cut into units, tiles and windows, without a GPU.
#include "antichain/backends/cuda/movement/copy_part.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "antichain/backends/cuda/convolution/border_windows.h"
#include "antichain/backends/cuda/movement/tiled_copy.h"

namespace antichain::cuda::copy_part_test {

// As device/division.cuh does it.
std::uint32_t quotient(std::uint32_t index, std::int64_t reciprocal) {
  const auto bits = static_cast<std::uint64_t>(reciprocal);
  const std::uint64_t product = std::uint64_t{index} * (bits & 0xFFFFFFFF);
  return static_cast<std::uint32_t>((product >> 32) + index) >> (bits >> 32);
}

TEST(Reciprocal, DividesAllIndices) {
  constexpr std::uint32_t kEnd = 1U << 31;
  for (const std::uint32_t size : {1U, 2U, 3U, 5U, 7U, 64U, 641U, 1000U, 65'535U, 65'537U,
                                   1'000'003U, kEnd / 2, kEnd / 2 + 1, kEnd - 1}) {
    const std::int64_t reciprocal = reciprocal_of(size);
    const auto expect_right = [&](std::uint32_t index) {
      ASSERT_EQ(quotient(index, reciprocal), index / size) << index << " / " << size;
    };
    for (std::uint32_t index = 0; index < 1000; ++index) {
      expect_right(index);
      expect_right(kEnd - 1 - index);
    }
    for (std::uint64_t near = size; near < kEnd; near += std::uint64_t{size} * 997) {
      expect_right(static_cast<std::uint32_t>(near - 1));
      expect_right(static_cast<std::uint32_t>(near));
    }
  }
}

const void* address(std::uintptr_t value) { return reinterpret_cast<const void*>(value); }

Layout swapped(const Shape& shape, std::size_t a, std::size_t b) {
  Layout layout = Layout::packed(shape);
  std::swap(layout.shape[a], layout.shape[b]);
  std::swap(layout.strides[a], layout.strides[b]);
  return layout;
}

CopyPart transpose(const Shape& shape, std::size_t a, std::size_t b, std::size_t bytes) {
  const Layout from = swapped(shape, a, b);
  return {Layout::packed(from.shape), from, bytes};
}

TEST(CopyPart, UnitsAreAsWideAsTheyCanBe) {
  const CopyPart heads = transpose({32, 512, 8, 64}, 1, 2, 2);
  EXPECT_EQ(heads.unit_bytes(address(256), address(512)), 16);
  EXPECT_EQ(heads.unit_bytes(address(256), address(520)), 8);
  EXPECT_EQ(heads.unit_bytes(address(258), address(512)), 2);
  EXPECT_EQ(transpose({3, 5, 7, 6}, 1, 2, 2).unit_bytes(address(256), address(256)), 4);
  EXPECT_EQ(transpose({3, 5, 7, 3}, 1, 2, 2).unit_bytes(address(256), address(256)), 2);
  EXPECT_EQ(transpose({3, 4}, 0, 1, 4).unit_bytes(address(256), address(256)), 4);
  // A window that begins at an odd place, and one number.
  const Layout window = Layout::packed({4, 16}).slice(1, 3, 8);
  const CopyPart inside(window, Layout::packed({4, 8}), 4);
  EXPECT_EQ(inside.first_to(address(256)), address(268));
  EXPECT_EQ(inside.unit_bytes(inside.first_to(address(256)), address(256)), 4);
  const CopyPart number(Layout::packed({}), Layout::packed({}), 8);
  EXPECT_EQ(number.unit_bytes(address(256), address(256)), 8);
  // What fills comes from one place.
  EXPECT_EQ(CopyPart::fill(Layout::packed({5, 8}), 1).unit_bytes(address(16), address(32)), 8);
}

// Copies as the kernel does, unit by unit.
void copy_on_host(const CopyPart& part, std::int64_t unit, const std::byte* from, std::byte* to) {
  const std::size_t axes = part.num_axes() + 2;
  const std::vector<std::int64_t> slots = part.axis_slots(unit, axes);
  const std::int64_t count = part.num_elements() * part.element_bytes() / unit;
  for (std::int64_t i = 0; i < count; ++i) {
    auto rest = static_cast<std::uint32_t>(i);
    std::int64_t to_place = 0, from_place = 0;
    for (std::size_t axis = axes; axis-- > 0;) {
      const std::uint32_t above = axis == 0 ? 0 : quotient(rest, slots[axes + axis]);
      const std::int64_t at = rest - above * static_cast<std::uint32_t>(slots[axis]);
      to_place += at * slots[2 * axes + axis];
      from_place += at * slots[3 * axes + axis];
      rest = above;
    }
    std::copy_n(from + from_place * unit, unit, to + to_place * unit);
  }
}

TEST(CopyPart, UnitsGoWhereElementsGo) {
  const Tensor x = Tensor::of<std::int64_t>({6, 5, 7, 8},
                                            [] {
                                              std::vector<std::int64_t> numbers(6 * 5 * 7 * 8);
                                              std::iota(numbers.begin(), numbers.end(), 0);
                                              return numbers;
                                            }())
                       .cast(i32);
  const Tensor want = x.transpose(std::array{0, 2, 1, 3}).contiguous();
  const CopyPart part = transpose(x.shape(), 1, 2, 4);
  for (const std::int64_t unit : {4, 8, 16}) {
    const Tensor got = Tensor::zeros(i32, want.shape());
    copy_on_host(part, unit, static_cast<const std::byte*>(x.raw()),
                 static_cast<std::byte*>(got.raw()));
    EXPECT_TRUE(bit_equal(got, want)) << unit;
  }
}

TEST(TiledCopy, IsForAxesThatAreSwapped) {
  EXPECT_TRUE(swaps_axes(transpose({40, 50}, 0, 1, 4)));
  EXPECT_TRUE(swaps_axes(transpose({3, 40, 5, 50}, 1, 3, 2)));
  EXPECT_FALSE(swaps_axes(transpose({40, 3}, 0, 1, 4)));
  EXPECT_FALSE(swaps_axes(transpose({40, 50, 64}, 0, 1, 4)));
  EXPECT_FALSE(swaps_axes(transpose({40, 0, 50}, 0, 2, 4)));
  EXPECT_FALSE(swaps_axes(CopyPart::fill(Layout::packed({40, 50}), 4)));
}

TEST(BorderWindows, HoldEverythingElseOnce) {
  const Shape shape = {4, 5, 3};
  for (const Window& inside : {Window{{1, 0, 1}, {2, 5, 1}}, Window{{0, 0, 0}, {4, 5, 3}},
                               Window{{3, 4, 2}, {1, 1, 1}}, Window{{9, 2, 0}, {0, 3, 3}}}) {
    std::vector<int> held(60, 0);
    std::vector<Window> windows = border_windows(shape, inside);
    EXPECT_LE(windows.size(), 6U);
    windows.push_back(inside);
    for (const Window& window : windows) {
      for (std::int64_t i = 0; i < numel(window.lengths); ++i) {
        const std::int64_t z = i % window.lengths[2], y = i / window.lengths[2] % window.lengths[1],
                           x = i / window.lengths[2] / window.lengths[1];
        ++held[static_cast<std::size_t>(((window.starts[0] + x) * 5 + window.starts[1] + y) * 3 +
                                        window.starts[2] + z)];
      }
    }
    EXPECT_EQ(held, std::vector<int>(60, 1));
  }
}

}  // namespace antichain::cuda::copy_part_test
