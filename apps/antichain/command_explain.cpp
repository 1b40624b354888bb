// `antichain explain`: what a recipe's training step consists of.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "antichain/graph/print.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/runtime/profiler.h"
#include "apps/antichain/memory_facts.h"
#include "apps/antichain/recipe_arguments.h"
#include "apps/antichain/run_report.h"
#include "apps/antichain/table.h"
#include "recipes/cost.h"
#include "recipes/recipe_run.h"

namespace antichain::app {

namespace {

struct ExplainArguments {
  std::shared_ptr<RecipeArguments> recipe;
  std::string dot, text, code, memory_svg;
  bool clusters = false, memory = false;
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

std::string names_and_types(const std::vector<Var>& values) {
  std::string names;
  for (Var value : values) {
    names += fmt::format("{}{} {}{}", names.empty() ? "" : ", ", value.name(), name(value.dtype()),
                         to_string(value.shape()));
  }
  return names;
}

// The ops that are computed together, of all regions, with the code that was generated for them.
struct Clusters {
  Table table{{"fused", "inputs", "outputs", "code"}};
  Json json = Json::array();
  std::string code;

  Clusters(Graph& graph, const Backend& backend) {
    for (std::uint32_t id = 0; id < graph.num_ops(); ++id) {
      const Op op = graph.op(OpId{id});
      if (op.def().name != "fused" && op.def().name != "fused_product") {
        continue;
      }
      const std::string& ops = op.attrs().get<std::string>("label");
      const std::string generated = backend.generated_code(op);
      const std::string how = generated.empty() ? "loops" : "compiled";
      const std::string inputs = names_and_types(op.inputs()),
                        outputs = names_and_types(op.outputs());
      table.add({ops, inputs, outputs, how});
      json.push_back({{"ops", ops}, {"inputs", inputs}, {"outputs", outputs}, {"code", how}});
      if (!generated.empty()) {
        code += fmt::format("; {}\n{}\n", op.describe(), generated);
      }
    }
  }
};

// Of the ops that may have their channels first or last, how many have them last.
struct Layouts {
  int ops = 0, last = 0;

  explicit Layouts(Graph& graph) {
    for (std::uint32_t id = 0; id < graph.num_ops(); ++id) {
      if (const AttrValue* found = graph.op(OpId{id}).attrs().find("channels_last")) {
        ++ops;
        last += std::get<bool>(*found) ? 1 : 0;
      }
    }
  }
};

void explain_recipe(const ExplainArguments& arguments, const Globals& globals) {
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
    globals.output.write_to(arguments.dot, print_dot(run.step().graph()));
    facts.add({"graph", arguments.dot});
  }
  if (!arguments.text.empty()) {
    globals.output.write_to(arguments.text, print_text(run.step().graph()));
    facts.add({"listing", arguments.text});
  }
  const Clusters clusters(run.step().graph(), run.session().backend());
  if (!arguments.code.empty()) {
    globals.output.write_to(arguments.code, clusters.code);
    facts.add({"code", arguments.code});
  }
  const MemoryReport memory = run.step().memory_report(batch);
  facts.add({"at the same time",
             fmt::format("{} of {} steps", memory.num_parallel_steps, memory.num_steps)});
  const Layouts layouts(run.step().graph());
  if (layouts.ops > 0) {
    facts.add({"channels last", fmt::format("{} of {} ops", layouts.last, layouts.ops)});
  }
  if (!arguments.memory_svg.empty()) {
    globals.output.write_to(arguments.memory_svg, memory_svg(memory));
    facts.add({"memory plan", arguments.memory_svg});
  }
  std::string text =
      fmt::format("{}\n{}\n{}", facts.str(), explanation.parameters.str(), explanation.ops.str());
  Json json = {{"recipe", recipe.name},
               {"engine", run.context().settings.text("engine")},
               {"parameters", run.num_parameters()},
               {"num_ops", run.step().num_steps()},
               {"num_parallel_steps", memory.num_parallel_steps},
               {"num_channels_last", layouts.last},
               {"peak_bytes", run.peak_bytes()},
               {"flops_per_step", counter.flops()},
               {"parameter_list", explanation.parameters_json},
               {"clusters", clusters.json},
               {"ops", explanation.ops_json}};
  if (const std::vector<EngineExplanation> choices = run.explain_engines(); !choices.empty()) {
    Table table({"region", "engine", "how"});
    for (const EngineExplanation& choice : choices) {
      table.add({choice.region, choice.engine, choice.how});
    }
    text += "\n" + table.str();
    json["engine_choices"] = engine_explanations_json(choices);
  }
  if (const std::vector<DeviceChoice> choices = run.device_choices(); !choices.empty()) {
    Table table({"op", "algorithm"});
    json["device_choices"] = Json::array();
    for (const DeviceChoice& choice : choices) {
      table.add({choice.op, choice.how});
      json["device_choices"].push_back({{"op", choice.op}, {"how", choice.how}});
    }
    text += "\n" + table.str();
  }
  if (arguments.clusters) {
    text += "\n" + clusters.table.str();
  }
  if (arguments.memory) {
    text += "\n" + memory_text(memory, run.step().memory_bytes());
    json["memory"] = memory_json(memory, run.step().memory_bytes());
  }
  globals.output.finish(text, json);
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
  command->add_flag("--clusters", arguments->clusters,
                    "Also list the ops that are computed together");
  command
      ->add_option("--code", arguments->code,
                   "Write the code that was generated for them, as LLVM has it and as assembly")
      ->type_name("FILE");
  command->add_flag("--memory", arguments->memory,
                    "Show how values share memory: bound, plan, the largest values");
  command
      ->add_option("--memory-svg", arguments->memory_svg,
                   "Write an image of which value lies where, and when")
      ->type_name("FILE");
  command->callback([&globals, arguments] { explain_recipe(*arguments, globals); });
}

}  // namespace antichain::app
