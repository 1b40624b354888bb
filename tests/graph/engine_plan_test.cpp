#include "antichain/graph/engine_plan.h"

#include <gmock/gmock.h>

#include "antichain/graph/graph.h"
#include "tests/tensor/expect_error.h"

namespace antichain::engine_plan_test {

using testing::ElementsAre;

TEST(EngineChoice, ReadsItsOwnText) {
  for (const char* text : {"scan", "scan:chunk=64", "multigrid:levels=3,forward_cycles=0.5",
                           "scan:algorithm=chunked,chunk=7"}) {
    EXPECT_EQ(EngineChoice(text).str(), text);
    EXPECT_EQ(EngineChoice(text).attribute(), text);
  }
  EXPECT_EQ(EngineChoice("scan", {{"chunk", 64}, {"when", "always"}}),
            EngineChoice("scan:chunk=64,when=always"));
}

TEST(EngineChoice, NoNameMeansBackpropagation) {
  for (const EngineChoice& choice : {EngineChoice(), EngineChoice(""), EngineChoice("backprop")}) {
    EXPECT_TRUE(choice.is_backprop());
    EXPECT_EQ(choice.name(), "backprop");
    EXPECT_EQ(choice.attribute(), "");
  }
  EXPECT_TRUE(EngineChoice().is_open());
  EXPECT_FALSE(EngineChoice("backprop").is_open());
}

TEST(EngineChoice, RefusesWhatCannotBeRead) {
  const auto refuses = [](const char* text, std::string_view message) {
    expect_error<InvalidArgument>(message, [&] { const EngineChoice choice(text); });
  };
  refuses(":chunk=3", "':chunk=3' names no engine: write ENGINE or ENGINE:OPTION=VALUE,...");
  refuses("a=scan", "'a=scan' names no engine: write ENGINE or ENGINE:OPTION=VALUE,...");
  refuses("scan:",
          "'' in 'scan:' is no option of an engine: write NAME=VALUE, with commas in "
          "between");
  refuses("scan:chunk",
          "'chunk' in 'scan:chunk' is no option of an engine: write NAME=VALUE, with "
          "commas in between");
  refuses("scan:chunk=",
          "'chunk=' in 'scan:chunk=' is no option of an engine: write NAME=VALUE, "
          "with commas in between");
  expect_error<InvalidArgument>(
      "'b' in 'scan:chunk=a,b' is no option of an engine: write NAME=VALUE, with commas in between",
      [] {
        const EngineChoice choice("scan", {{"chunk", "a,b"}});
      });
}

TEST(EnginePlan, ReadsPartsAndOptions) {
  const EnginePlan plan =
      EnginePlan::parse("encoder=scan, body=multigrid:levels=3,cycles=2, out=hashing;*=backprop");
  ASSERT_EQ(plan.parts().size(), 4U);
  EXPECT_EQ(plan.parts()[1].scope, "body");
  EXPECT_EQ(plan.parts()[1].engine, EngineChoice("multigrid:levels=3,cycles=2"));
  EXPECT_EQ(plan.parts()[3].engine, EngineChoice("backprop"));
  EXPECT_EQ(plan.str(), "encoder=scan, body=multigrid:levels=3,cycles=2, out=hashing, *=backprop");
  EXPECT_EQ(EnginePlan::parse(plan.str()).str(), plan.str());
  EXPECT_FALSE(plan.is_for_all());
  EXPECT_TRUE(EnginePlan::parse("scan:chunk=4,algorithm=hybrid").is_for_all());
  EXPECT_EQ(EnginePlan::parse("a=scan,b=forward").parts().size(), 2U);
  EXPECT_TRUE(EnginePlan::parse(" ").parts().empty());
}

TEST(EnginePlan, RefusesWhatIsNoPlan) {
  expect_error<InvalidArgument>(
      "'a=scan, , b=scan' has an empty part: write SCOPE=ENGINE, with ', ' in between",
      [] { EnginePlan::parse("a=scan, , b=scan"); });
  expect_error<InvalidArgument>(
      "'=scan' in '=scan' names no part of a model: write SCOPE=ENGINE, with ', ' in between",
      [] { EnginePlan::parse("=scan"); });
  expect_error<InvalidArgument>("'a' is given 2 engines; one part of a model has one",
                                [] { EnginePlan::parse("a=scan, a=forward"); });
}

TEST(EnginePlan, FindsTheFirstPartThatFits) {
  const EnginePlan plan =
      EnginePlan::parse("encoder.layer_1=forward, encoder=scan, block_*=scan, *=backprop");
  EXPECT_EQ(plan.part_of("encoder.layer_1.gate"), 0);
  EXPECT_EQ(plan.part_of("encoder.layer_10"), 1);
  EXPECT_EQ(plan.part_of("encoder"), 1);
  EXPECT_EQ(plan.part_of("encoders"), 3);
  EXPECT_EQ(plan.part_of("block_7.conv"), 2);
  EXPECT_EQ(plan.part_of(""), 3);
  EXPECT_EQ(EnginePlan::parse("a=scan").part_of("b.a"), -1);
  EXPECT_TRUE(is_in_scope("net.block_3.conv", "*.block_*"));
  EXPECT_FALSE(is_in_scope("net", "net.*"));
}

TEST(EnginePlan, SplitsListsOfEngines) {
  EXPECT_THAT(split_engines("backprop,scan,forward"), ElementsAre("backprop", "scan", "forward"));
  EXPECT_THAT(split_engines("scan:algorithm=chunked,chunk=4, backprop"),
              ElementsAre("scan:algorithm=chunked,chunk=4", "backprop"));
  EXPECT_THAT(split_engines("backprop | a=scan, b=forward"),
              ElementsAre("backprop", "a=scan, b=forward"));
}

TEST(Graph, ChoosesEnginesByScope) {
  Graph graph;
  graph.choose_engines(EnginePlan::parse("encoder=scan:chunk=4, *=backprop"));
  const ScopeGuard encoder(graph, "encoder");
  EXPECT_FALSE(graph.is_part_taken(0));
  EXPECT_EQ(graph.engine_for({}), "scan:chunk=4");
  EXPECT_TRUE(graph.is_part_taken(0));
  EXPECT_EQ(graph.engine_for("forward"), "forward");  // whoever says it himself
  EXPECT_EQ(graph.engine_for("backprop"), "");
  const PlanPause pause(graph);
  EXPECT_EQ(graph.engine_for({}), "");
}

}  // namespace antichain::engine_plan_test
