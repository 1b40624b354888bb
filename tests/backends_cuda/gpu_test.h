// What tests on a GPU begin with.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "antichain/backends/cuda/cuda_backend.h"
#include "antichain/base/error.h"

namespace antichain {

/// Returns the reason why there is no GPU to test on; empty if there is one. With
/// ANTICHAIN_REQUIRE_GPU set, as by `make test-gpu`, that is an error. Keeps the backend: others of
/// the same GPU then share what it has.
inline std::string missing_gpu() {
  static std::unique_ptr<Backend> kept;
  try {
    kept = kept ? std::move(kept) : make_cuda_backend(0);
    return {};
  } catch (const DeviceError& error) {
    if (std::getenv("ANTICHAIN_REQUIRE_GPU") != nullptr) {
      throw;
    }
    return error.what();
  }
}

}  // namespace antichain
