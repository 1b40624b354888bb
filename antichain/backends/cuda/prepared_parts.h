// What making kernels ready on a GPU takes, for whoever asks why a first run is slow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace antichain {

struct PreparedPart {
  std::string what;  // compiling, choosing by measuring, waiting
  std::int64_t count;
  double seconds;  // of all of them, added up, also where several were done at the same time
  double elapsed;  // from the beginning of the first to the end of the last
};

/// Returns what it has taken so far on the GPU with this number, while a backend of it is in use.
std::vector<PreparedPart> cuda_prepared_parts(int index);

}  // namespace antichain
