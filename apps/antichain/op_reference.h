// The operator reference, docs/ops.md.
#pragma once

#include <string>

namespace antichain::app {

/// Returns the whole catalogue as Markdown, family by family. Says only what is the same in every
/// build, so not which kernels there are.
std::string op_reference();

}  // namespace antichain::app
