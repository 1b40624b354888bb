#include "antichain/runtime/step_sections.h"

#include <gtest/gtest.h>

namespace antichain::step_sections_test {

constexpr double kLong = 1e-3;  // seconds

// A step that no kernel shares out among threads.
SectionStep step(std::vector<std::size_t> needs, double seconds = kLong) {
  return {.time = {seconds, seconds}, .needs = std::move(needs)};
}

using Lanes = std::vector<std::vector<std::size_t>>;

TEST(StepSections, BranchesAreDealtToLanes) {
  const std::vector<SectionStep> steps = {step({}),  step({0}), step({1}),
                                          step({0}), step({3}), step({2, 4})};
  const std::vector<Section> sections = find_sections(steps, 2);
  ASSERT_EQ(sections.size(), 1);
  EXPECT_EQ(sections[0].first, 1);
  EXPECT_EQ(sections[0].last, 5);
  EXPECT_EQ(sections[0].lanes, (Lanes{{1, 2}, {3, 4}}));
}

TEST(StepSections, InterleavedBranchesToo) {
  const std::vector<SectionStep> steps = {step({}),  step({0}), step({0}),
                                          step({1}), step({2}), step({3, 4})};
  EXPECT_EQ(find_sections(steps, 2).at(0).lanes, (Lanes{{1, 3}, {2, 4}}));
}

TEST(StepSections, LongPartsComeFirst) {
  const std::vector<SectionStep> steps = {step({}, 1e-3), step({}, 3e-3), step({}, 1e-3),
                                          step({}, 1e-3)};
  EXPECT_EQ(find_sections(steps, 2).at(0).lanes, (Lanes{{1}, {0, 2, 3}}));
}

TEST(StepSections, NoneWhereNothingIsSaved) {
  const std::vector<SectionStep> chain = {step({}), step({0}), step({1}), step({2})};
  EXPECT_TRUE(find_sections(chain, 2).empty());
  const std::vector<SectionStep> pair = {step({}), step({})};
  EXPECT_TRUE(find_sections(pair, 1).empty());
  EXPECT_EQ(find_sections(pair, 2).size(), 1);
  // Too short to be worth a meeting of threads.
  EXPECT_TRUE(find_sections(std::vector{step({}, 1e-6), step({}, 1e-6)}, 2).empty());
  // A branch that takes next to nothing beside the other one.
  EXPECT_TRUE(find_sections(std::vector{step({}, 1e-3), step({}, 5e-5)}, 2).empty());
  // Both use all threads by themselves.
  const SectionStep wide{.time = {.alone = 1e-3, .together = 5e-4}};
  EXPECT_TRUE(find_sections(std::vector{wide, wide}, 2).empty());
}

TEST(StepSections, NothingRunsBesideWhatIsByItself) {
  std::vector<SectionStep> steps = {step({}), step({}), step({}), step({})};
  steps[1].by_itself = true;
  const std::vector<Section> sections = find_sections(steps, 2);
  ASSERT_EQ(sections.size(), 1);
  EXPECT_EQ(sections[0].lanes, (Lanes{{2}, {3}}));
}

// Fork and join, again and again, with a branch beside all of it that is too short to matter: the
// sections that save most are found, not one that begins with the short branch.
TEST(StepSections, ThoseThatSaveMostTogether) {
  std::vector<SectionStep> steps = {step({}, 1e-4)};
  std::size_t join = 0;
  for (int i = 0; i < 3; ++i) {
    const std::size_t n = steps.size();
    steps.push_back(step({join}));
    steps.push_back(step({join}));
    steps.push_back(step({n, n + 1}, 1e-5));
    join = n + 2;
  }
  steps.push_back(step({}, 1e-4));
  const std::vector<Section> sections = find_sections(steps, 2);
  ASSERT_EQ(sections.size(), 3);
  EXPECT_EQ(sections[0].lanes, (Lanes{{1}, {2}}));
  EXPECT_EQ(sections[2].lanes[0].front(), 7);
}

TEST(StepSections, OfVeryManySteps) {
  constexpr std::size_t kSteps = 200000;  // two branches that never meet
  std::vector<SectionStep> steps = {step({}, 1e-5), step({}, 1e-5)};
  while (steps.size() < kSteps) {
    steps.push_back(step({steps.size() - 2}, 1e-5));
  }
  std::size_t parallel = 0, end = 0;
  for (const Section& section : find_sections(steps, 2)) {
    EXPECT_GE(section.first, end);
    end = section.last;
    parallel += section.last - section.first;
  }
  EXPECT_GT(parallel, kSteps * 9 / 10);
}

}  // namespace antichain::step_sections_test
