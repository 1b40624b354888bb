#include "antichain/backends/cpu/jit/jit_compiler.h"

#include <fmt/format.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <type_traits>
#include <unordered_map>

#include "antichain/base/background_tasks.h"
#include "antichain/base/code_cache.h"
#include "antichain/base/error.h"
#include "antichain/base/sha256.h"
#include "antichain/base/usable_cores.h"

namespace antichain::cpu {

namespace {

constexpr int kFormat = 1;  // of cached objects: another number makes all of them anew

template <class T>
T checked(llvm::Expected<T> result, const char* what) {
  if (!result) {
    fail<InternalError>("generated code: {}: {}", what, llvm::toString(result.takeError()));
  }
  if constexpr (std::is_reference_v<T>) {
    return *result;
  } else {
    return std::move(*result);
  }
}

void check(llvm::Error error, const char* what) {
  if (error) {
    fail<InternalError>("generated code: {}: {}", what, llvm::toString(std::move(error)));
  }
}

}  // namespace

// What code is generated for. JitCompiler::Impl holds one, so it is in no anonymous namespace.
struct JitMachine {
  std::string triple = llvm::sys::getProcessTriple();
  std::string cpu = llvm::sys::getHostCPUName().str();
  std::string features;

  JitMachine() {
    static const bool is_ready =
        !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
    ensure(is_ready, "LLVM generates no code for this machine");
#if LLVM_VERSION_MAJOR >= 19
    const auto found = llvm::sys::getHostCPUFeatures();
#else
    llvm::StringMap<bool> found;
    llvm::sys::getHostCPUFeatures(found);
#endif
    std::vector<std::string> sorted;
    for (const auto& feature : found) {
      sorted.push_back((feature.second ? "+" : "-") + feature.first().str());
    }
    std::ranges::sort(sorted);
    for (const std::string& feature : sorted) {
      features += (features.empty() ? "" : ",") + feature;
    }
  }

  std::unique_ptr<llvm::TargetMachine> target() const {
    std::string error;
    const llvm::Target* const found = llvm::TargetRegistry::lookupTarget(triple, error);
    ensure(found != nullptr, "generated code: {}", error);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    return std::unique_ptr<llvm::TargetMachine>(
        found->createTargetMachine(triple, cpu, features, options, llvm::Reloc::PIC_));
  }
};

namespace {

std::unique_ptr<llvm::Module> parse(const std::string& code, llvm::LLVMContext& context) {
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(code, problem, context);
  ensure(module != nullptr, "generated code: line {}: {}", problem.getLineNo(),
         problem.getMessage().str());
  ensure(!llvm::verifyModule(*module), "generated code: the verifier refuses it");
  return module;
}

void optimise(llvm::Module& module, llvm::TargetMachine& target) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&target, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  // The code is in SSA form and has one loop: what it needs is the vectoriser and a tidying behind
  // it. The whole of -O3 makes the same code in twice the time. Left to itself, instcombine ends
  // the process where one round leaves something to combine.
  llvm::ModulePassManager passes;
  check(builder.parsePassPipeline(passes,
                                  "function(instcombine<no-verify-fixpoint>,loop-simplify,lcssa,"
                                  "loop-vectorize,instcombine<no-verify-fixpoint>,simplifycfg)"),
        "its passes");
  passes.run(module, modules);
}

// Prepares a module for this machine and writes it: an object file or assembly.
std::string generate(const std::string& code, const JitMachine& machine,
                     llvm::CodeGenFileType type) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = parse(code, context);
  const std::unique_ptr<llvm::TargetMachine> target = machine.target();
  module->setTargetTriple(machine.triple);
  module->setDataLayout(target->createDataLayout());
  llvm::Function& function = *module->getFunction(kClusterFunction);
  function.addFnAttr("target-cpu", machine.cpu);
  function.addFnAttr("target-features", machine.features);
  function.addFnAttr("prefer-vector-width", "512");
  function.addFnAttr(llvm::Attribute::NoUnwind);
  optimise(*module, *target);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager writer;
  ensure(!target->addPassesToEmitFile(writer, stream, nullptr, type),
         "generated code: this machine's code cannot be written");
  writer.run(*module);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

struct JitCompiler::Impl {
  struct Target {
    JitMachine machine;
    std::unique_ptr<llvm::orc::LLJIT> jit = checked(llvm::orc::LLJITBuilder().create(), "LLVM");
  };

  explicit Impl(const std::filesystem::path& cache_folder) : cache(cache_folder) {}

  // Made for the first code: who compiles none need not wait for LLVM.
  Target& target() {
    const std::lock_guard lock(target_mutex);
    if (!made_target) {
      made_target = std::make_unique<Target>();
    }
    return *made_target;
  }

  std::string key(const std::string& code) {
    const JitMachine& machine = target().machine;
    Sha256 digest;
    for (const std::string& part : {std::to_string(kFormat), std::string(LLVM_VERSION_STRING),
                                    machine.triple, machine.cpu, machine.features, code}) {
      digest.add(std::as_bytes(std::span(part)));
      digest.add(std::as_bytes(std::span("\0", 1)));
    }
    return digest.finish();
  }

  ClusterLoop load(const std::string& object) {
    llvm::orc::LLJIT* const jit = target().jit.get();
    llvm::orc::JITDylib& library =
        checked(jit->createJITDylib(std::to_string(libraries++)), "a library for it");
    check(jit->addObjectFile(library, llvm::MemoryBuffer::getMemBufferCopy(object)), "its object");
    return checked(jit->lookup(library, kClusterFunction), "its function").toPtr<ClusterLoop>();
  }

  ClusterLoop make(const std::string& code) {
    const std::string name = key(code);
    if (const auto object = cache.load(name)) {
      try {
        const ClusterLoop loop = load(*object);
        ++loaded;
        return loop;
      } catch (const InternalError&) {  // of another LLVM, or from a disk that lies
        cache.remove(name);
      }
    }
    const std::string object = generate(code, target().machine, llvm::CodeGenFileType::ObjectFile);
    cache.store(name, object);
    ++compiled;
    return load(object);
  }

  CodeCache cache;
  std::mutex target_mutex;
  std::unique_ptr<Target> made_target;
  std::mutex mutex;                                                        // of `known`
  std::unordered_map<std::string, std::shared_future<ClusterLoop>> known;  // by code
  std::atomic<int> compiled = 0, loaded = 0, libraries = 0;
  BackgroundTasks tasks{usable_cores()};  // the last member: they use all others
};

JitCompiler::JitCompiler(const std::filesystem::path& cache_folder)
    : impl_(std::make_unique<Impl>(cache_folder)) {}

JitCompiler::~JitCompiler() = default;

std::shared_future<ClusterLoop> JitCompiler::compile(const std::string& code) {
  const std::lock_guard lock(impl_->mutex);
  auto& known = impl_->known[code];
  if (!known.valid()) {
    known = impl_->tasks.start([impl = impl_.get(), code] { return impl->make(code); });
  }
  return known;
}

std::string JitCompiler::assembly(const std::string& code) const {
  return generate(code, impl_->target().machine, llvm::CodeGenFileType::AssemblyFile);
}

JitCompiler::Statistics JitCompiler::statistics() const { return {impl_->compiled, impl_->loaded}; }

std::shared_ptr<JitCompiler> make_jit_compiler() {
  static std::mutex mutex;
  static std::map<std::filesystem::path, std::weak_ptr<JitCompiler>> made;  // by folder
  const std::lock_guard lock(mutex);
  const std::filesystem::path folder = default_code_folder();
  std::shared_ptr<JitCompiler> compiler = made[folder].lock();
  if (!compiler) {
    compiler = std::make_shared<JitCompiler>(folder);
    made[folder] = compiler;
  }
  return compiler;
}

}  // namespace antichain::cpu
