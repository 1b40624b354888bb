// Values that are modified where they lie, and who keeps the old ones.
#include "antichain/graph/state_store.h"

#include <gtest/gtest.h>

namespace antichain::state_store_test {

float first_of(const Tensor& tensor) { return tensor.to_vector<float>()[0]; }

TEST(StateStore, ModifiesInPlaceWhatNobodyElseHolds) {
  StateStore store;
  store.set("w", Tensor::of<float>({2}, {1, 2}));
  const void* const at = store.get("w").raw();
  store.modify("w").data<float>()[0] = 5;
  EXPECT_EQ(store.get("w").raw(), at);
  EXPECT_EQ(store.get("w").to_vector<float>(), (std::vector<float>{5, 2}));
}

TEST(StateStore, ModifiesACopyOfWhatSomebodyHolds) {
  StateStore store;
  store.set("w", Tensor::of<float>({2}, {1, 2}));
  const Tensor held = store.get("w");
  store.modify("w").data<float>()[0] = 5;
  EXPECT_EQ(first_of(held), 1);
  EXPECT_EQ(store.get("w").to_vector<float>(), (std::vector<float>{5, 2}));
  const Tensor also_held = store.get("w");
  store.modify("w").data<float>()[0] = 7;
  EXPECT_EQ(first_of(held), 1);
  EXPECT_EQ(first_of(also_held), 5);
  EXPECT_EQ(first_of(store.get("w")), 7);
}

// A spare that an update left behind has other values: all of them are copied.
TEST(StateStore, ModifiesAfterAnUpdateOfAHeldValue) {
  StateStore store;
  store.set("w", Tensor::of<float>({2}, {1, 2}));
  {
    const Tensor held = store.get("w");
    store.update("w", [](const Tensor&, const Tensor& next) {
      next.data<float>()[0] = 3;
      next.data<float>()[1] = 4;
    });
  }
  const Tensor held = store.get("w");
  store.modify("w").data<float>()[0] = 5;
  EXPECT_EQ(store.get("w").to_vector<float>(), (std::vector<float>{5, 4}));
  EXPECT_EQ(first_of(held), 3);
}

}  // namespace antichain::state_store_test
