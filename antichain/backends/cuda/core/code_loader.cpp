#include "antichain/backends/cuda/core/code_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nvrtc.h>

#include <future>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/backends/cuda/core/device_sources.h"
#include "antichain/backends/cuda/core/dynamic_library.h"
#include "antichain/backends/cuda/core/remembered_code.h"
#include "antichain/base/background_tasks.h"
#include "antichain/base/error.h"
#include "antichain/base/sha256.h"
#include "antichain/base/usable_cores.h"

namespace antichain::cuda {

namespace {

struct Nvrtc {
  DynamicLibrary library{ANTICHAIN_NVRTC_FILE};
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcCompileProgram);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcCreateProgram);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcDestroyProgram);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetCUBIN);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetCUBINSize);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetErrorString);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetProgramLog);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcGetProgramLogSize);
  ANTICHAIN_LIBRARY_FUNCTION(nvrtcVersion);
};

const Nvrtc& nvrtc() {
  static const Nvrtc functions;
  return functions;
}

void check_compiler(nvrtcResult status, const char* doing) {
  ensure(status == NVRTC_SUCCESS, "NVRTC failed while {}: {}", doing,
         nvrtc().nvrtcGetErrorString(status));
}

// Destroys a program also when an exception passes.
class Program {
 public:
  explicit Program(const std::string& text) {
    std::vector<const char*> names, texts;
    for (const DeviceSource& source : device_sources()) {
      names.push_back(source.name);
      texts.push_back(source.text);
    }
    check_compiler(
        nvrtc().nvrtcCreateProgram(&program_, text.c_str(), "kernel.cu",
                                   static_cast<int>(names.size()), texts.data(), names.data()),
        "taking a kernel");
  }
  ~Program() { nvrtc().nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcProgram get() const { return program_; }
  std::string messages() const {
    std::size_t size = 0;
    check_compiler(nvrtc().nvrtcGetProgramLogSize(program_, &size), "reporting");
    std::string text(size, '\0');
    check_compiler(nvrtc().nvrtcGetProgramLog(program_, text.data()), "reporting");
    return text;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

std::pair<int, int> version_of_compiler() {
  std::pair<int, int> version;
  check_compiler(nvrtc().nvrtcVersion(&version.first, &version.second), "telling its version");
  return version;
}

std::vector<std::string> options_for(int architecture) {
  // Bits must not depend on which multiplications and additions meet: kernels say fma themselves.
  std::vector<std::string> options = {fmt::format("--gpu-architecture=sm_{}", architecture),
                                      "--std=c++20", "--fmad=false",
                                      "--device-as-default-execution-space"};
  // Leaves out declarations of textures and of the runtime. One thread at a time reads sources, so
  // that this is what keeps the others from compiling.
  if (version_of_compiler() >= std::pair(12, 4)) {
    options.push_back("--minimal");
  }
  return options;
}

// Everything that the code depends on.
std::string key_of(const std::string& text, int architecture) {
  const auto [major, minor] = version_of_compiler();
  Sha256 digest;
  const auto add = [&digest](std::string_view part) { digest.add(std::as_bytes(std::span(part))); };
  add(fmt::format("nvrtc {}.{} {}\n", major, minor, fmt::join(options_for(architecture), " ")));
  for (const DeviceSource& source : device_sources()) {
    add(fmt::format("{}\n{}\n", source.name, source.text));
  }
  add(text);
  return digest.finish();
}

}  // namespace

std::string compile_kernel(const std::string& text, int architecture) {
  const Program program(text);
  const std::vector<std::string> options = options_for(architecture);
  std::vector<const char*> texts;
  for (const std::string& option : options) {
    texts.push_back(option.c_str());
  }
  const nvrtcResult status =
      nvrtc().nvrtcCompileProgram(program.get(), static_cast<int>(texts.size()), texts.data());
  ensure(status == NVRTC_SUCCESS, "a kernel does not compile: {}\n{}\n{}",
         nvrtc().nvrtcGetErrorString(status), program.messages(), text);
  std::size_t size = 0;
  check_compiler(nvrtc().nvrtcGetCUBINSize(program.get(), &size), "giving code");
  std::string code(size, '\0');
  check_compiler(nvrtc().nvrtcGetCUBIN(program.get(), code.data()), "giving code");
  return code;
}

class CodeLoader::Code {
 public:
  const std::string* text = nullptr;  // lies where the codes are kept
  std::shared_future<std::string> compiled;
  cudaLibrary_t library = nullptr;  // made of it when a function is asked for
};

struct CodeLoader::Impl {
  int architecture;
  Preparation& preparation;
  RememberedCode remembered{default_code_folder()};
  std::mutex mutex;                             // of `codes` and what they hold
  std::unordered_map<std::string, Code> codes;  // by text
  BackgroundTasks tasks{usable_cores()};        // the last member: they use all others

  Impl(int built_for, Preparation& noted_in) : architecture(built_for), preparation(noted_in) {}

  std::string compile(const std::string& text) const {
    const Preparation::Timer timer(preparation, "compiling");
    return compile_kernel(text, architecture);
  }

  std::string machine_code(const std::string& text) const {
    return remembered.find(key_of(text, architecture), [&] { return compile(text); });
  }

  const std::string& wait_for(const Code& code) const {
    const Preparation::Timer timer(preparation, "waiting for compilers");
    return code.compiled.get();
  }

  cudaLibrary_t library_of(const std::string& text, const std::string& compiled) const {
    const Preparation::Timer timer(preparation, "loading code");
    cudaLibrary_t library = nullptr;
    cudaError_t status = cudaSuccess;
    const auto load = [&](const std::string& code) {
      status = cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
      static_cast<void>(cudaGetLastError());
      return status == cudaSuccess;
    };
    remembered.load(key_of(text, architecture), compiled, load, [&] { return compile(text); });
    check(status, "loading a kernel");
    return library;
  }
};

CodeLoader::CodeLoader(int architecture, Preparation& preparation)
    : impl_(std::make_unique<Impl>(architecture, preparation)) {}

CodeLoader::~CodeLoader() {
  for (const auto& [text, code] : impl_->codes) {
    if (code.library != nullptr) {
      static_cast<void>(cudaLibraryUnload(code.library));  // the GPU may be lost by now
    }
  }
}

CodeLoader::Code& CodeLoader::start(const std::string& text) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  const auto place = impl_->codes.try_emplace(text).first;
  Code& code = place->second;
  if (!code.compiled.valid()) {
    code.text = &place->first;
    code.compiled =
        impl_->tasks.start([impl = impl_.get(), text] { return impl->machine_code(text); });
  }
  return code;
}

cudaKernel_t CodeLoader::load(Code& code, const std::string& name) {
  const std::string& compiled = impl_->wait_for(code);
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (code.library == nullptr) {
    code.library = impl_->library_of(*code.text, compiled);
  }
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, code.library, name.c_str()), "loading a kernel");
  return kernel;
}

}  // namespace antichain::cuda
