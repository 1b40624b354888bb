// Checks of an op's rule for vmap.
#pragma once

#include "antichain/graph/op_def.h"
#include "tests/conformance/case_log.h"

namespace antichain::conformance {

/// Says how many copies of an op are computed at once: by a rule of its own, through its
/// decomposition, copy by copy, or not at all, for which there must be a reason.
enum class VmapWay { rule, decomposition, copy_by_copy, none };
VmapWay vmap_way(const OpDef& def);

/// vmap of a sample against a loop over slices, with all inputs mapped and with each alone; vmap of
/// vjp and jvp, and vjp and jvp of vmap, against the same of slices. An op that is not mapped
/// refuses with a reason.
void check_vmap(const OpDef& def, const Sample& sample, CaseLog& log);

}  // namespace antichain::conformance
