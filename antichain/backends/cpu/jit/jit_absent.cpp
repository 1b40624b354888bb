// What stands for the compiler in a build without LLVM: nothing asks it for anything.
#include "antichain/backends/cpu/jit/jit_compiler.h"
#include "antichain/base/error.h"

namespace antichain::cpu {

struct JitCompiler::Impl {};

JitCompiler::JitCompiler(const std::filesystem::path&) {
  fail<NotSupported>("this build has no LLVM to compile with");
}
JitCompiler::~JitCompiler() = default;

std::shared_future<ClusterLoop> JitCompiler::compile(const std::string&) { return {}; }
std::string JitCompiler::assembly(const std::string&) const { return {}; }
JitCompiler::Statistics JitCompiler::statistics() const { return {}; }

std::shared_ptr<JitCompiler> make_jit_compiler() { return nullptr; }

}  // namespace antichain::cpu
