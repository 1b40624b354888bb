#include "antichain/backends/cuda/core/stopwatch.h"

#include "antichain/backends/cuda/core/cuda_error.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kDelay = 100'000;  // ns: several kernels are enqueued in that time

}  // namespace

std::string delay_text() {
  return R"(
struct Arguments {
  long long nanoseconds;
};
unsigned long long now() {
  unsigned long long time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}
extern "C" __global__ void delay(const Arguments a) {
  const unsigned long long begin = now();
  while (now() - begin < a.nanoseconds) {
  }
}
)";
}

Stopwatch::Stopwatch(const Context& context)
    : context_(context), delay_(context, delay_text(), "delay", 1, dim3(1), {kDelay}) {
  check(cudaEventCreate(&begin_), "measuring");
  const cudaError_t status = cudaEventCreate(&end_);
  if (status != cudaSuccess) {
    static_cast<void>(cudaEventDestroy(begin_));
  }
  check(status, "measuring");
}

Stopwatch::~Stopwatch() {
  static_cast<void>(cudaEventDestroy(begin_));
  static_cast<void>(cudaEventDestroy(end_));
}

float Stopwatch::milliseconds(FunctionRef<void()> work) {
  context_->use();
  delay_.run();
  check(cudaEventRecord(begin_, context_->stream()), "measuring");
  work();
  check(cudaEventRecord(end_, context_->stream()), "measuring");
  check(cudaEventSynchronize(end_), "measuring");
  float time = 0;
  check(cudaEventElapsedTime(&time, begin_, end_), "measuring");
  return time;
}

}  // namespace antichain::cuda
