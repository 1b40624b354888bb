#include "antichain/base/usable_cores.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

namespace antichain::usable_cores_test {

TEST(UsableCores, AreOneAtLeast) { EXPECT_GE(usable_cores(), 1); }

TEST(CgroupCores, AreTheSmallestLimitOnTheWay) {
  const TemporaryFolder root;
  EXPECT_EQ(cgroup_cores(root.path(), "a/b"), std::nullopt);
  root.write("cpu.max", "max 100000\n");
  root.write("a/cpu.max", "250000 100000\n");
  EXPECT_EQ(cgroup_cores(root.path(), "a/b"), 2.5);
  root.write("a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(cgroup_cores(root.path(), "a/b"), 2.5);
  root.write("a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroup_cores(root.path(), "a/b"), 0.5);
  EXPECT_EQ(cgroup_cores(root.path(), ""), std::nullopt);
  root.write("a/b/cpu.max", "nonsense");
  EXPECT_EQ(cgroup_cores(root.path(), "a/b"), 2.5);
}

}  // namespace antichain::usable_cores_test
