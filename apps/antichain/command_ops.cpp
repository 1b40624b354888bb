// `antichain ops`: the catalogue of operators.
#include <fmt/format.h>

#include "antichain/ops/catalogue.h"
#include "antichain/session/session.h"
#include "apps/antichain/commands.h"
#include "apps/antichain/op_facts.h"
#include "apps/antichain/op_reference.h"
#include "apps/antichain/table.h"

namespace antichain::app {

namespace {

// The kernels in the order in which they are tried.
std::vector<std::string> kernels_of(const OpDef& def, const Session& session) {
  std::vector<std::string> names;
  for (const Kernel& kernel : session.backend().kernels().candidates(def)) {
    names.push_back(kernel.name);
  }
  if (def.reference) {
    names.emplace_back(kReferenceKernel);
  }
  return names;
}

Json summary_of(const OpDef& def) {
  Json dtypes = Json::array();
  for (DType dtype : def.dtypes.members()) {
    dtypes.push_back(std::string(name(dtype)));
  }
  return {{"name", def.name},
          {"dtypes", dtypes},
          {"derivative", derivative_of(def)},
          {"vmap", vmap_of(def)},
          {"doc", def.doc}};
}

void list_ops(const Globals& globals) {
  Table table({"operator", "types", "derivative", "meaning"});
  Json list = Json::array();
  for (const OpDef* def : op_catalogue()) {
    table.add({def->name, dtypes_of(*def), derivative_of(*def), def->doc});
    list.push_back(summary_of(*def));
  }
  globals.output.finish(
      fmt::format("{}\n{} operators; `antichain ops NAME` shows one.\n", table.str(), list.size()),
      {{"ops", list}});
}

void show_op(const Globals& globals, const OpDef& def) {
  const Session session({.logger = Logger(globals.log_level)});
  const std::vector<std::string> kernels = kernels_of(def, session);
  Json json = summary_of(def);
  json["effect"] = effect_of(def);
  json["kernels"] = kernels;
  Table facts, attributes, rewrites;
  facts.add({"types", dtypes_of(def)});
  facts.add({"derivative", derivative_of(def)});
  facts.add({"vmap", vmap_of(def)});
  facts.add({"effect", effect_of(def)});
  facts.add({"kernels", fmt::format("{}", fmt::join(kernels, ", "))});
  json["attributes"] = Json::array();
  for (const AttrSpec& spec : def.attributes) {
    attributes.add({spec.name, default_of(spec), spec.doc});
    json["attributes"].push_back(
        {{"name", spec.name}, {"default", default_of(spec)}, {"doc", spec.doc}});
  }
  json["rewrites"] = Json::array();
  for (const Rewrite& rewrite : def.rewrites) {
    rewrites.add({rewrite.name});
    json["rewrites"].push_back(rewrite.name);
  }
  std::string text = fmt::format("{}: {}\n\n{}", def.name, def.doc, facts.str("  "));
  text += def.attributes.empty() ? "" : "\nAttributes and their defaults:\n" + attributes.str("  ");
  text += def.rewrites.empty() ? "" : "\nSimplifications:\n" + rewrites.str("  ");
  globals.output.finish(text, json);
}

}  // namespace

void add_ops_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand("ops", "List the operators, or show one");
  const auto name = std::make_shared<std::string>();
  const auto markdown = std::make_shared<bool>(false);
  CLI::Option* one = command->add_option(
      "NAME", *name, "Show attributes, kernels and simplifications of this one");
  command->add_flag("--markdown", *markdown, "Write the reference of all operators, docs/ops.md")
      ->excludes(one);
  command->callback([&globals, name, markdown] {
    if (*markdown) {
      const std::string reference = op_reference();
      globals.output.finish(reference, {{"markdown", reference}});
    } else if (name->empty()) {
      list_ops(globals);
    } else {
      show_op(globals, find_op(*name));
    }
  });
}

}  // namespace antichain::app
