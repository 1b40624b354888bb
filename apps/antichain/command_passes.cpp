// `antichain passes`: what the graph compiler does, in order.
#include "antichain/passes/pipeline.h"
#include "apps/antichain/commands.h"
#include "apps/antichain/table.h"

namespace antichain::app {

void add_passes_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand("passes", "List the passes of the graph compiler");
  command->callback([&globals] {
    Table table({"pass", "from level", "what it does"});
    Json list = Json::array();
    for (const Pass& pass : passes()) {
      table.add({std::string(pass.name), std::to_string(pass.level), std::string(pass.doc)});
      list.push_back({{"name", pass.name}, {"level", pass.level}, {"doc", pass.doc}});
    }
    globals.output.finish(
        table.str() + "\nThey run in this order; --level and --disable-pass choose among them.\n",
        {{"passes", list}});
  });
}

}  // namespace antichain::app
