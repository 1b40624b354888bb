// Compiles code for the machine it runs on, by LLVM, several pieces at once, and remembers it: in
// this process and, as object files, on disk.
#pragma once

#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "antichain/backends/cpu/jit/cluster_code.h"

namespace antichain::cpu {

class JitCompiler {
 public:
  /// Keeps objects in `cache_folder`; nothing on disk when it is empty.
  explicit JitCompiler(const std::filesystem::path& cache_folder);
  ~JitCompiler();
  JitCompiler(const JitCompiler&) = delete;
  JitCompiler& operator=(const JitCompiler&) = delete;

  /// Starts to compile a module with a function kClusterFunction on another thread, unless it was
  /// done before. The function lives as long as the compiler.
  std::shared_future<ClusterLoop> compile(const std::string& code);
  /// Returns the code as the machine sees it: assembly text.
  std::string assembly(const std::string& code) const;

  /// Counts, for tests and reports.
  struct Statistics {
    int compiled = 0, loaded = 0;  // by LLVM, from disk
  };
  Statistics statistics() const;

 private:
  struct Impl;  // so that only its source sees LLVM
  std::unique_ptr<Impl> impl_;
};

/// Returns the compiler of all sessions, with the user's folder for caches; it lives as long as one
/// of them. None in a build without LLVM.
std::shared_ptr<JitCompiler> make_jit_compiler();

}  // namespace antichain::cpu
