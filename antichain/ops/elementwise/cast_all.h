// cast_all: conversions of several values to one type, by one op, where starting a kernel takes
// longer than a conversion. Compilers make it (passes/fusion/batch_casts.h), users need not.
#pragma once

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain {

/// Converts values of one type, each as `cast` does.
Vars cast_all(const Vars& values, DType dtype, Place place = Place::current());

const OpDef& cast_all_def();
std::vector<const OpDef*> cast_all_family();

}  // namespace antichain
