// Checks the type and the whole text of an error.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

namespace antichain {

template <class E, class F>
void expect_error(std::string_view message, F&& call) {
  SCOPED_TRACE(message);
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& error) {
    EXPECT_EQ(std::string_view(error.what()), message);
  }
}

}  // namespace antichain
