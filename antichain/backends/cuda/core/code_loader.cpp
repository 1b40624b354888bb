#include "antichain/backends/cuda/core/code_loader.h"

#include <fmt/format.h>

#include <future>
#include <mutex>
#include <unordered_map>

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/backends/cuda/core/device_sources.h"
#include "antichain/backends/cuda/core/kernel_compiler.h"
#include "antichain/backends/cuda/core/remembered_code.h"
#include "antichain/base/background_tasks.h"
#include "antichain/base/error.h"
#include "antichain/base/sha256.h"
#include "antichain/base/usable_cores.h"

namespace antichain::cuda {

namespace {

// Everything that the code depends on.
std::string key_of(const std::string& text, int architecture) {
  Sha256 digest;
  const auto add = [&digest](std::string_view part) { digest.add(std::as_bytes(std::span(part))); };
  add(fmt::format("{}\n", describe_compiler(architecture)));
  for (const DeviceSource& source : device_sources()) {
    add(fmt::format("{}\n{}\n", source.name, source.text));
  }
  add(text);
  return digest.finish();
}

}  // namespace

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
