// Which steps of a program run at the same time (inter-op parallelism).
//
// A section is a run of consecutive steps whose dependency graph has several components: its parts
// need nothing of each other, only of what came before. The parts are dealt to lanes, one per
// thread, and each lane runs its steps in order, every step on one thread. The threads synchronise
// where the section ends, nowhere else: so lanes may also run one after the other, and the steps
// between sections use all threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "antichain/runtime/backend.h"

namespace antichain {

/// What is to be known of a step.
struct SectionStep {
  StepTime time = {};
  bool by_itself = false;               // nothing may run beside it
  std::vector<std::size_t> needs = {};  // earlier steps
};

struct Section {
  std::size_t first = 0, last = 0;              // of the steps: [first, last)
  std::vector<std::vector<std::size_t>> lanes;  // steps in order, of each lane
};

/// Returns the sections, in order, that save most time by the estimates; each saves more than a few
/// percent of its own, because estimates are rough.
std::vector<Section> find_sections(std::span<const SectionStep> steps, int lanes);

}  // namespace antichain
