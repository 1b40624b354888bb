// What is read and written by one instruction, or by two where it has 32 bytes.
#pragma once

namespace antichain::device {

template <int kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = unsigned char;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};
template <>
struct WordOf<32> {
  struct Type {
    uint4 low, high;
  };
};

}  // namespace antichain::device
