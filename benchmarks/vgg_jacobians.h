// Patterns of the Jacobians of VGG-11 on CIFAR-10 (Simonyan and Zisserman, 2015, configuration A
// with one linear layer), dense or pruned, for counting what a scan over them takes.
#pragma once

#include <string>
#include <vector>

#include "antichain/engines/scan/csr_pattern.h"

namespace antichain::bench {

struct StagePattern {
  std::string name;
  scan::CsrPattern pattern;  // of the transposed Jacobian of an example
};

/// Returns the ops from first to last; biases, whose Jacobians are identities, are left out. Of
/// every weight only the `kept` share is there: the largest of independent draws, so that all
/// distributions of magnitudes give the same.
std::vector<StagePattern> vgg11_patterns(double kept, std::uint64_t seed = 0);

/// Returns the first `count` ops with all weights.
std::vector<StagePattern> first_of_vgg11(std::size_t count);

}  // namespace antichain::bench
