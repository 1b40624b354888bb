// Compiled kernels on disk, without a GPU: NVRTC compiles, a comparison plays the driver.
#include "antichain/backends/cuda/core/remembered_code.h"

#include <gtest/gtest.h>

#include "antichain/backends/cuda/core/kernel_compiler.h"
#include "tests/base/temporary_folder.h"

namespace antichain::cuda::remembered_code_test {

constexpr int kHopper = 90;
constexpr const char* kText = R"(extern "C" __global__ void one(float* x) { *x = 1; })";
constexpr const char* kKey = "0123456789abcdef";

class Remembered : public testing::Test {
 protected:
  std::string compile() {
    ++compiled_;
    return compile_kernel(kText, kHopper);
  }
  std::string find() {
    return RememberedCode(folder_.path()).find(kKey, [this] { return compile(); });
  }

  TemporaryFolder folder_;
  int compiled_ = 0;
};

TEST_F(Remembered, IsCompiledOnce) {
  const std::string code = find();
  EXPECT_EQ(find(), code);
  EXPECT_EQ(compiled_, 1);
}

// What a cache gives back need not be code that this driver can load.
TEST_F(Remembered, WhatCannotBeLoadedIsCompiledAnew) {
  const std::string whole = find();
  const CodeCache cache(folder_.path());
  for (const std::string& other : {std::string("no code"), std::string(), whole.substr(0, 64)}) {
    cache.store(kKey, other);
    compiled_ = 0;
    const std::string found = find();
    EXPECT_EQ(found, other);
    std::string loaded;
    const auto load = [&](const std::string& code) {
      loaded = code == whole ? code : std::string();
      return !loaded.empty();
    };
    EXPECT_TRUE(RememberedCode(folder_.path()).load(kKey, found, load, [&] { return compile(); }));
    EXPECT_EQ(loaded, whole);
    EXPECT_EQ(compiled_, 1);
    EXPECT_EQ(cache.load(kKey), whole);
  }
}

TEST_F(Remembered, WhatNoDriverLoadsIsNotKept) {
  const std::string whole = find();
  EXPECT_FALSE(
      RememberedCode(folder_.path())
          .load(
              kKey, whole, [](const std::string&) { return false; }, [&] { return compile(); }));
  EXPECT_FALSE(CodeCache(folder_.path()).load(kKey));
}

TEST_F(Remembered, WithoutAFolderItIsCompiledEveryTime) {
  for (int i = 1; i < 3; ++i) {
    RememberedCode("").find(kKey, [this] { return compile(); });
    EXPECT_EQ(compiled_, i);
  }
}

}  // namespace antichain::cuda::remembered_code_test
