#include "antichain/base/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

namespace antichain::sha256_test {

std::string digest(std::string_view text) {
  Sha256 sha;
  sha.add(std::as_bytes(std::span(text)));
  return sha.finish();
}

// NIST's examples, and lengths around the padding compared with one another piece by piece.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  for (std::size_t size = 50; size < 140; ++size) {
    const std::string text(size, 'x');
    Sha256 pieces;
    for (std::size_t at = 0; at < size; at += 7) {
      pieces.add(std::as_bytes(std::span(text).subspan(at, std::min<std::size_t>(7, size - at))));
    }
    EXPECT_EQ(pieces.finish(), digest(text)) << size;
  }
}

}  // namespace antichain::sha256_test
