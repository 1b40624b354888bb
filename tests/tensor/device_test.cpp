#include "antichain/tensor/device.h"

#include <gtest/gtest.h>

#include "antichain/base/error.h"
#include "tests/tensor/expect_error.h"

namespace antichain::device_test {

TEST(Device, NamesAndParsesAgree) {
  EXPECT_EQ(to_string(Device{}), "cpu");
  EXPECT_EQ(to_string(Device{DeviceKind::cuda, 1}), "cuda:1");
  EXPECT_EQ(parse_device("cpu"), Device{});
  EXPECT_EQ(parse_device("cuda"), (Device{DeviceKind::cuda, 0}));
  EXPECT_EQ(parse_device("cuda:12"), (Device{DeviceKind::cuda, 12}));
}

TEST(Device, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"", "gpu", "CPU", "cpu:0", "cuda:", "cuda:-1", "cuda:1x", "cuda: 1", "cuda:99999999999"}) {
    expect_error<InvalidArgument>(
        "unknown device '" + std::string(text) + "'; use cpu, cuda or cuda:N",
        [&] { parse_device(text); });
  }
}

}  // namespace antichain::device_test
