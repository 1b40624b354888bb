// Checks an error of graph building: its type, its sentence, and that it names the test's file.
#pragma once

#include <gtest/gtest.h>

#include <source_location>
#include <string>
#include <string_view>

namespace antichain {

template <class E, class F>
void expect_bad_input(std::string_view message, F&& call,
                      std::source_location test = std::source_location::current()) {
  SCOPED_TRACE(message);
  std::string_view file = test.file_name();
  file.remove_prefix(file.rfind('/') + 1);
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& error) {
    const std::string found = error.what(), place = " (at " + std::string(file) + ":";
    EXPECT_EQ(found.substr(0, found.rfind(" (at ")), message);
    EXPECT_NE(found.find(place), std::string::npos) << found;
  }
}

}  // namespace antichain
