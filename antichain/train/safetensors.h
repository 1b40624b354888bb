// Named tensors in a file, in the format safetensors: eight bytes with the length of a JSON header
// that says where each tensor lies, the header, the bytes of the tensors.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "antichain/tensor/tensor.h"

namespace antichain {

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

struct Safetensors {
  NamedTensors tensors;
  std::map<std::string, std::string> metadata = {};
};

/// Writes the file whole or not at all; throws DataError when it cannot.
void save_safetensors(const std::filesystem::path& path, const Safetensors& contents);
/// Reads a file that may come from anywhere; throws DataError in one sentence when it is broken.
Safetensors load_safetensors(const std::filesystem::path& path);

}  // namespace antichain
