#include "antichain/base/usable_memory.h"

#include <gtest/gtest.h>

#include "tests/base/temporary_folder.h"

namespace antichain::usable_memory_test {

TEST(UsableMemory, IsWhatAMachineHas) {
  EXPECT_GT(usable_memory(), std::int64_t{1} << 27);
  EXPECT_LT(usable_memory(), std::int64_t{1} << 50);
}

TEST(CgroupMemory, IsTheSmallestLimitOnTheWay) {
  const TemporaryFolder root;
  EXPECT_EQ(cgroup_memory(root.path(), "a/b"), std::nullopt);
  root.write("memory.max", "max\n");
  root.write("a/memory.max", "2147483648\n");
  EXPECT_EQ(cgroup_memory(root.path(), "a/b"), 2147483648);
  root.write("a/b/memory.max", "4294967296\n");
  EXPECT_EQ(cgroup_memory(root.path(), "a/b"), 2147483648);
  root.write("a/b/memory.max", "1048576\n");
  EXPECT_EQ(cgroup_memory(root.path(), "a/b"), 1048576);
  EXPECT_EQ(cgroup_memory(root.path(), ""), std::nullopt);
}

}  // namespace antichain::usable_memory_test
