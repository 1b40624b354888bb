#include "tests/build_paths.h"

#include <cstdlib>

namespace antichain {

std::filesystem::path source_folder() { return ANTICHAIN_SOURCE_FOLDER; }

std::string program_file() { return ANTICHAIN_PROGRAM; }

std::filesystem::path shared_data() {
  const char* chosen = std::getenv("ANTICHAIN_DATA");
  return chosen != nullptr ? chosen : source_folder() / "../shared/data";
}

}  // namespace antichain
