#include "tests/data/damage.h"

namespace antichain {

std::string Damage::apply(const std::string& valid) {
  std::string content = valid;
  for (std::size_t changes = 1 + below(4); changes > 0 && !content.empty(); --changes) {
    char& byte = content[below(content.size())];
    // One bit, any byte, or a character that means something somewhere.
    switch (below(3)) {
      case 0: byte = static_cast<char>(byte ^ 1 << below(8)); break;
      case 1: byte = static_cast<char>(below(256)); break;
      default: byte = meaningful_[below(meaningful_.size())]; break;
    }
  }
  if (content.empty()) {
    return content;
  }
  if (below(8) == 0) {
    content.insert(below(content.size()), content.substr(below(content.size()), below(20)));
  }
  if (below(16) == 0) {
    content.resize(below(content.size()));
  }
  if (below(64) == 0) {
    constexpr std::size_t kLong = 20'000;
    content.insert(below(content.size() + 1), kLong, meaningful_[below(meaningful_.size())]);
  }
  return content;
}

}  // namespace antichain
