// `antichain explain`: what a recipe's training step consists of.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "antichain/base/atomic_file.h"
#include "antichain/graph/print.h"
#include "antichain/ops/state_ops.h"
#include "antichain/runtime/profiler.h"
#include "apps/antichain/recipe_arguments.h"
#include "apps/antichain/run_report.h"
#include "apps/antichain/table.h"
#include "recipes/cost.h"
#include "recipes/recipe_run.h"

namespace antichain::app {

namespace {

struct ExplainArguments {
  std::shared_ptr<RecipeArguments> recipe;
  std::string dot, text;
};

struct Explanation {
  Table parameters{{"parameter", "shape", "elements"}};
  Table ops{{"op", "kernel", "runs", "time", "bytes"}};
  Json parameters_json = Json::array(), ops_json = Json::array();
};

void explain_parameters(RecipeRun& run, Explanation& explanation) {
  for (const Var parameter : parameters(run.graph())) {
    const std::string& name = state_name(parameter);
    const Tensor& value = run.session().states().get(name);
    explanation.parameters.add({name, to_string(value.shape()), std::to_string(value.numel())});
    explanation.parameters_json.push_back({{"name", name}, {"shape", value.shape()}});
  }
}

void explain_ops(const Profiler& profiler, Explanation& explanation) {
  for (const ProfileRow& row : profiler.rows()) {
    explanation.ops.add({row.op, row.kernel, std::to_string(row.count), seconds_text(row.seconds),
                         bytes_text(row.bytes)});
    explanation.ops_json.push_back({{"op", row.op},
                                    {"kernel", row.kernel},
                                    {"runs", row.count},
                                    {"seconds", row.seconds},
                                    {"bytes", row.bytes}});
  }
}

void explain(const ExplainArguments& arguments, const Globals& globals) {
  const Recipe& recipe = find_recipe(arguments.recipe->recipe);
  RecipeRun run(recipe, make_context(recipe, *arguments.recipe, globals));
  const data::Batch batch = run.first_batch();
  run.step()(batch);  // the first run of a size makes it ready
  Profiler profiler;
  FlopCounter counter;
  run.step().run(batch, {&profiler, &counter});

  Explanation explanation;
  explain_parameters(run, explanation);
  explain_ops(profiler, explanation);
  Table facts;
  facts.add({"recipe", recipe.name + ": " + recipe.summary});
  facts.add({"engine", run.context().settings.text("engine")});
  facts.add({"batch", std::to_string(run.batch_size())});
  facts.add({"parameters", std::to_string(run.num_parameters())});
  facts.add({"ops in the step", std::to_string(run.step().num_steps())});
  facts.add({"memory", bytes_text(run.peak_bytes())});
  facts.add({"GFLOP per step", fmt::format("{:.4g}", counter.flops() / 1e9)});
  if (!arguments.dot.empty()) {
    write_file(arguments.dot, print_dot(run.step().graph()));
    facts.add({"graph", arguments.dot});
  }
  if (!arguments.text.empty()) {
    write_file(arguments.text, print_text(run.step().graph()));
    facts.add({"listing", arguments.text});
  }
  globals.output.finish(
      fmt::format("{}\n{}\n{}", facts.str(), explanation.parameters.str(), explanation.ops.str()),
      {{"recipe", recipe.name},
       {"engine", run.context().settings.text("engine")},
       {"parameters", run.num_parameters()},
       {"num_ops", run.step().num_steps()},
       {"peak_bytes", run.peak_bytes()},
       {"flops_per_step", counter.flops()},
       {"parameter_list", explanation.parameters_json},
       {"ops", explanation.ops_json}});
}

}  // namespace

void add_explain_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand(
      "explain", "Show what a recipe's training step consists of: ops, memory, operations");
  const auto arguments = std::make_shared<ExplainArguments>();
  arguments->recipe = add_recipe_arguments(*command);
  add_memory_budget(*command, *arguments->recipe);
  command->add_option("--dot", arguments->dot, "Write the compiled graph for Graphviz")
      ->type_name("FILE");
  command->add_option("--text", arguments->text, "Write the compiled graph as text")
      ->type_name("FILE");
  command->callback([&globals, arguments] { explain(*arguments, globals); });
}

}  // namespace antichain::app
