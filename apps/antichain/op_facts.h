// What an operator's definition says of it, in words.
#pragma once

#include <string>

#include "antichain/graph/op_def.h"

namespace antichain::app {

/// Returns the name of the set of element types, or the types one by one.
std::string dtypes_of(const OpDef& def);
/// Returns how the operator is differentiated, or why it is not.
std::string derivative_of(const OpDef& def);
/// Returns how many copies of the operator are computed at once, or why they are not.
std::string vmap_of(const OpDef& def);
std::string effect_of(const OpDef& def);
/// Returns the value of an attribute that is not given, or that it must be given.
std::string default_of(const AttrSpec& spec);

}  // namespace antichain::app
