// Whether there is a GPU to test on.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "antichain/base/error.h"
#include "antichain/session/session.h"

namespace antichain {

/// Returns why there is no GPU to test on, for GTEST_SKIP; nothing if there is one. With
/// ANTICHAIN_REQUIRE_GPU set, as by `make test-gpu`, that is an error. Keeps a session: others of
/// the same GPU then share what it has.
inline std::string missing_gpu() {
  static std::unique_ptr<Session> kept;
  struct GivesBack : testing::Environment {  // while libraries of the GPU are there
    void TearDown() override { kept.reset(); }
  };
  try {
    if (!kept) {
      kept = std::make_unique<Session>(SessionOptions{.device = "cuda"});
      testing::AddGlobalTestEnvironment(new GivesBack);
    }
    return {};
  } catch (const DeviceError& error) {
    if (std::getenv("ANTICHAIN_REQUIRE_GPU") != nullptr) {
      throw;
    }
    return error.what();
  }
}

/// A test that is skipped where there is no GPU.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = missing_gpu(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
};

}  // namespace antichain
