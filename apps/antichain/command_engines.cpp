// `antichain engines`: the ways to compute gradients.
#include "antichain/session/session.h"
#include "apps/antichain/commands.h"
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
  globals.output.finish(table.str(), {{"engines", list}});
}

}  // namespace

void add_engines_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand("engines", "List the ways to compute gradients");
  command->callback([&globals] { list_engines(globals); });
}

}  // namespace antichain::app
