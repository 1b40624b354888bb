// What graphs keep their ops and values in.
#include <gtest/gtest.h>

#include <vector>

#include "antichain/graph/id_map.h"
#include "antichain/graph/ids.h"
#include "antichain/graph/op_table.h"
#include "antichain/graph/stable_vector.h"

namespace antichain {
namespace {

TEST(StableVector, ElementsStayWhereTheyAre) {
  StableVector<int> list;
  EXPECT_EQ(list.size(), 0U);
  std::vector<const int*> places;
  for (int i = 0; i < 1000; ++i) {
    list.push_back(i);
    places.push_back(&list.back());
    EXPECT_EQ(list.size(), static_cast<std::size_t>(i) + 1);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(&list[i], places[i]);
    EXPECT_EQ(list[i], static_cast<int>(i));
  }
}

TEST(IdMap, GrowsAtBothEnds) {
  for (const std::vector<std::uint32_t>& ids :
       {std::vector<std::uint32_t>{5, 6, 9}, {9, 6, 5}, {7, 300, 2, 0}, {40000}}) {
    IdMap<VarId, int> map(-1);
    EXPECT_EQ(map(VarId{ids[0]}), -1);
    for (std::uint32_t id : ids) {
      map[VarId{id}] = static_cast<int>(id);
    }
    for (std::uint32_t id : ids) {
      EXPECT_EQ(map(VarId{id}), static_cast<int>(id));
    }
    EXPECT_EQ(map(VarId{1}), -1) << "what was not set";
    EXPECT_EQ(map(VarId{50000}), -1);
    EXPECT_EQ(map[VarId{1}], -1);
    EXPECT_EQ(map(VarId{ids[0]}), static_cast<int>(ids[0]));
  }
}

TEST(IdSet, SaysWhatIsNew) {
  IdSet<OpId> set;
  EXPECT_FALSE(set.contains(OpId{3}));
  EXPECT_TRUE(set.insert(OpId{3}));
  EXPECT_FALSE(set.insert(OpId{3}));
  EXPECT_TRUE(set.insert(OpId{1}));
  EXPECT_TRUE(set.contains(OpId{3}));
  EXPECT_FALSE(set.contains(OpId{2}));
}

TEST(OpTable, TellsOpsOfOneHashApart) {
  constexpr std::uint32_t kOps = 1000, kPerHash = 8;
  OpTable table;
  const auto find = [&](std::uint32_t id) {
    return table.find(id / kPerHash, [id](OpId op) { return op == OpId{id}; });
  };
  for (std::uint32_t id = 0; id < kOps; ++id) {
    EXPECT_FALSE(find(id).valid());
    table.insert(id / kPerHash, OpId{id});
  }
  for (std::uint32_t id = 0; id < kOps; ++id) {
    EXPECT_EQ(find(id), OpId{id});
  }
  EXPECT_FALSE(find(kOps).valid());
}

}  // namespace
}  // namespace antichain
