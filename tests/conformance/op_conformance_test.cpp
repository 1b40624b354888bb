// Walks the whole catalogue of operators: every op, every sample, every element type, every check.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>

#include "antichain/ops/catalogue.h"
#include "tests/conformance/derivative_checks.h"
#include "tests/conformance/sample_case.h"
#include "tests/conformance/value_checks.h"
#include "tests/conformance/vmap_checks.h"

namespace antichain::conformance::op_conformance_test {

class OpConformance : public testing::TestWithParam<const OpDef*> {};

TEST_P(OpConformance, Holds) {
  const OpDef& def = *GetParam();
  CaseLog& log = printed_log();
  EXPECT_FALSE(def.doc.empty());
  if (!def.samples) {
    ASSERT_EQ(def.name, "input") << def.name << " has no samples";
    log.refused("everything", def.name, "is fed, not computed; every other case uses it");
    return;
  }
  for (const Sample& sample : def.samples()) {
    SCOPED_TRACE("sample '" + sample.label + "'");
    for (DType dtype : dtypes_of(def, sample)) {
      SCOPED_TRACE(std::string(name(dtype)));
      check_kernels(def, sample, dtype, log);
      check_dtype(def, sample, dtype, log);
      check_remote_memory(def, sample, dtype, log);
      check_symbolic(def, sample, dtype, log);
      if (def.decompose) {
        check_decomposition(def, sample, dtype, log);
      }
    }
    if (has_derivative(def)) {
      check_derivatives(def, sample, log);
    } else {
      check_refuses_gradient(def, sample, log);
    }
    check_vmap(def, sample, log);
  }
  for (const Rewrite& rewrite : def.rewrites) {
    for (DType dtype : def.dtypes.members()) {
      SCOPED_TRACE("rewrite '" + rewrite.name + "' in " + std::string(name(dtype)));
      check_rewrite(def, rewrite, dtype, log);
    }
  }
}

TEST(OpConformanceOfVmap, EveryOpHasARuleOrAReason) {
  std::map<VmapWay, int> ops;
  for (const OpDef* def : op_catalogue()) {
    const VmapWay way = vmap_way(*def);
    ++ops[way];
    EXPECT_EQ(way == VmapWay::none, !def->no_vmap.empty())
        << def->name << " has neither a rule for vmap nor a reason, or both";
  }
  fmt::print(
      "vmap: of {} ops, {} have a rule of their own, {} go through their decomposition, {} are "
      "computed copy by copy for a reason, {} are not mapped for a reason\n",
      op_catalogue().size(), ops[VmapWay::rule], ops[VmapWay::decomposition],
      ops[VmapWay::copy_by_copy], ops[VmapWay::none]);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, OpConformance, testing::ValuesIn(op_catalogue()),
                         [](const auto& test) { return test.param->name; });

}  // namespace antichain::conformance::op_conformance_test
