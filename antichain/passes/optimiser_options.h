// What is said to the graph compiler.
#pragma once

#include <string>
#include <vector>

namespace antichain {

struct OptimiserOptions {
  int level = 2;  // 0: as it was built, 1: simpler, 2: fused, too; 3 is 2 so far
  std::vector<std::string> disabled = {};  // names of passes that are left out
  bool fast_math = false;                  // floats may be added and multiplied in another order
};

}  // namespace antichain
