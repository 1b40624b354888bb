// Texts become the same code whichever thread compiles them, and by whichever copy of the compiler.
#include "antichain/backends/cuda/core/kernel_compiler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "antichain/base/error.h"

namespace antichain::cuda::kernel_compiler_test {

constexpr int kHopper = 90;

std::string text_of(int number) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
extern "C" __global__ void add(float* x) {{ x[threadIdx.x] += {}; }})",
                     number);
}

TEST(KernelCompiler, ThreadsGetTheSameCode) {
  constexpr int kTexts = 3, kTimes = 4;
  std::vector<std::future<std::string>> compiled;
  for (int n = 0; n < kTexts * kTimes; ++n) {
    compiled.push_back(
        std::async(std::launch::async, compile_kernel, text_of(n % kTexts), kHopper));
  }
  std::vector<std::string> alone;
  for (int n = 0; n < kTexts; ++n) {
    alone.push_back(compile_kernel(text_of(n), kHopper));
  }
  EXPECT_NE(alone[0], alone[1]);
  for (int n = 0; n < kTexts * kTimes; ++n) {
    EXPECT_EQ(compiled[static_cast<std::size_t>(n)].get(),
              alone[static_cast<std::size_t>(n % kTexts)]);
  }
}

TEST(KernelCompiler, AWrongTextIsOurMistake) {
  try {
    compile_kernel("no C++ at all", kHopper);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("no C++ at all"), std::string::npos);
  }
  EXPECT_FALSE(compile_kernel(text_of(1), kHopper).empty());
}

TEST(KernelCompiler, IsDescribedByWhatCodeDependsOn) {
  EXPECT_NE(describe_compiler(80), describe_compiler(kHopper));
  EXPECT_EQ(describe_compiler(kHopper).find("nvrtc "), 0U);
}

}  // namespace antichain::cuda::kernel_compiler_test
