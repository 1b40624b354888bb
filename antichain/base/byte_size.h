// Numbers of bytes as people write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace antichain {

/// Returns the bytes that "64MiB", "1.5 GiB", "500MB" or "123456" means; throws InvalidArgument
/// that says what is accepted otherwise.
std::size_t parse_byte_size(std::string_view text);
/// Returns "1.5 MiB".
std::string bytes_text(std::int64_t bytes);

}  // namespace antichain
