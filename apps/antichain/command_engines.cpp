// `antichain engines`: the ways to compute gradients.
#include <fmt/format.h>

#include "antichain/session/session.h"
#include "apps/antichain/commands.h"
#include "apps/antichain/option_json.h"
#include "apps/antichain/table.h"

namespace antichain::app {

namespace {

void list_engines(const Globals& globals) {
  const Session session({.logger = Logger(globals.log_level)});
  Table table({"engine", "gradients", "how"});
  Json list = Json::array();
  for (const auto& engine : session.engines().all()) {
    const std::string name(engine->name()), guarantee(antichain::name(engine->guarantee())),
        summary(engine->summary());
    table.add({name, guarantee, summary});
    list.push_back({{"name", name}, {"guarantee", guarantee}, {"summary", summary}});
  }
  globals.output.finish(table.str() + "\n`antichain engines NAME` shows what can be set.\n",
                        {{"engines", list}});
}

void show_engine(const std::string& name, const Globals& globals) {
  const Session session({.logger = Logger(globals.log_level)});
  const GradientEngine& engine = session.engines().find(name);
  const std::string guarantee(antichain::name(engine.guarantee())), summary(engine.summary());
  std::string text = fmt::format("{} ({}): {}\n", name, guarantee, summary);
  Table table({"option", "default", "accepts", "meaning"});
  Json list = Json::array();
  for (const OptionSpec& option : engine.options()) {
    table.add({option.name, option.fallback, accepted_values(option), option.doc});
    list.push_back(option_json(option));
  }
  if (list.empty()) {
    text += "It has no options.\n";
  } else {
    const OptionSpec first = engine.options()[0];
    text += fmt::format("\n{}\nSet them behind the name: --engine {}:{}={}\n", table.str(), name,
                        first.name, first.fallback);
  }
  globals.output.finish(
      text, {{"name", name}, {"guarantee", guarantee}, {"summary", summary}, {"options", list}});
}

}  // namespace

void add_engines_command(CLI::App& app, const Globals& globals) {
  CLI::App* command =
      app.add_subcommand("engines", "List the ways to compute gradients, or the options of one");
  const auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "Show the options of this engine");
  command->callback([&globals, name] {
    if (name->empty()) {
      list_engines(globals);
    } else {
      show_engine(*name, globals);
    }
  });
}

}  // namespace antichain::app
