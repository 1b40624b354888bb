// Checks of what an op computes.
#pragma once

#include <memory>

#include "antichain/graph/op_def.h"
#include "antichain/runtime/backend.h"
#include "tests/conformance/case_log.h"

namespace antichain::conformance {

/// Every kernel of every backend against the reference.
void check_kernels(const OpDef& def, const Sample& sample, DType dtype, CaseLog& log);
/// The sample on a backend with memory of its own against the reference.
void check_remote_memory(const OpDef& def, const Sample& sample, DType dtype, CaseLog& log);
/// The sample on any backend against the reference; says where the op ran.
void check_backend(const OpDef& def, const Sample& sample, DType dtype,
                   std::unique_ptr<Backend> backend, CaseLog& log);
/// The reference in one element type against the reference in the widest of its kind, on the same
/// inputs.
void check_dtype(const OpDef& def, const Sample& sample, DType dtype, CaseLog& log);
/// The same sample with symbols for sizes: same values, and inferred shapes that fit.
void check_symbolic(const OpDef& def, const Sample& sample, DType dtype, CaseLog& log);
/// The decomposition against the reference.
void check_decomposition(const OpDef& def, const Sample& sample, DType dtype, CaseLog& log);
/// A rewrite on its own example: it must fire and change no bit.
void check_rewrite(const OpDef& def, const Rewrite& rewrite, DType dtype, CaseLog& log);

}  // namespace antichain::conformance
