// Walks the catalogue on a GPU: every op, every sample, every element type against the reference.
#include <gtest/gtest.h>

#include "antichain/backends/cuda/cuda_backend.h"
#include "antichain/ops/catalogue.h"
#include "antichain/ops/state/random.h"
#include "antichain/session/session.h"
#include "tests/backends_cuda/gpu.h"
#include "tests/conformance/sample_case.h"
#include "tests/conformance/value_checks.h"

namespace antichain::conformance::conformance_test {

class CudaConformance : public testing::TestWithParam<const OpDef*> {};

TEST_P(CudaConformance, Holds) {
  if (const std::string reason = missing_gpu(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const OpDef& def = *GetParam();
  if (!def.samples) {
    return;
  }
  for (const Sample& sample : def.samples()) {
    SCOPED_TRACE("sample '" + sample.label + "'");
    for (DType dtype : dtypes_of(def, sample)) {
      SCOPED_TRACE(std::string(name(dtype)));
      check_backend(def, sample, dtype, make_cuda_backend(0), printed_log());
    }
  }
}

TEST(CudaRandom, HasTheBitsOfTheCpu) {
  if (const std::string reason = missing_gpu(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const auto draws = [](Session session) {
    Graph graph = session.graph();
    std::vector<Var> values = {random_bernoulli(graph, 0.3, {100'001})};
    for (const DType dtype : kFloats.members()) {
      values.push_back(random_uniform(graph, dtype, {100'001}));
      values.push_back(random_normal(graph, dtype, {1'000'001}));
    }
    return session.compile(values)({}).tensors();
  };
  const std::vector<Tensor> cpu = draws(Session()), gpu = draws(Session(make_cuda_backend(0)));
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    EXPECT_TRUE(bit_equal(cpu[i], gpu[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CudaConformance, testing::ValuesIn(op_catalogue()),
                         [](const auto& test) { return test.param->name; });

}  // namespace antichain::conformance::conformance_test
