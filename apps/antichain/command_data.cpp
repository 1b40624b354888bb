// `antichain data`: which data sets are here, and getting them.
#include <fmt/format.h>
#include <unistd.h>

#include "antichain/data/fetch.h"
#include "antichain/data/folder.h"
#include "apps/antichain/commands.h"
#include "apps/antichain/run_report.h"
#include "apps/antichain/table.h"

namespace antichain::app {

namespace {

void list_sets(const std::string& folder, const Globals& globals) {
  Table table({"set", "what it is", "where"});
  Json list = Json::array();
  for (const data::KnownSet& set : data::known_sets()) {
    const auto place = data::locate(set, folder);
    const std::string where = place ? place->string() : "not here; " + data::how_to_get(set);
    table.add({set.name, set.summary, where});
    list.push_back({{"name", set.name},
                    {"summary", set.summary},
                    {"folder", place ? Json(place->string()) : Json(nullptr)},
                    {"can_be_fetched", !set.files.empty()}});
  }
  globals.output.finish(table.str(), {{"sets", list}});
}

// A line that is rewritten on a terminal; elsewhere one line per file.
class FetchLine {
 public:
  explicit FetchLine(std::FILE* stream) : stream_(stream), terminal_(isatty(fileno(stream)) == 1) {}

  void update(const data::FetchProgress& progress) {
    const bool other_file = progress.file != file_;
    file_ = progress.file;
    // Not by fmt::print(), which throws when it cannot write.
    if (terminal_) {
      std::fputs(fmt::format("{}{}: {} of {}\x1b[K", other_file && started_ ? "\n" : "\r", file_,
                             bytes_text(progress.received), bytes_text(progress.total))
                     .c_str(),
                 stream_);
    } else if (other_file) {
      std::fputs(fmt::format("{}: {}\n", file_, bytes_text(progress.total)).c_str(), stream_);
    }
    started_ = true;
    std::fflush(stream_);
  }
  ~FetchLine() {
    if (terminal_ && started_) {
      std::fputs("\n", stream_);
    }
  }
  FetchLine(const FetchLine&) = delete;
  FetchLine& operator=(const FetchLine&) = delete;

 private:
  std::FILE* stream_;
  bool terminal_, started_ = false;
  std::string file_;
};

struct FetchArguments {
  std::string set, folder, mirror;
  std::int64_t lowest_speed = data::FetchOptions().lowest_speed;
};

void fetch_set(const FetchArguments& arguments, const Globals& globals) {
  const std::filesystem::path folder = [&] {
    FetchLine line(globals.output.progress());
    return data::fetch(arguments.set, arguments.folder,
                       {.progress = [&](const auto& progress) { line.update(progress); },
                        .base_url = arguments.mirror,
                        .lowest_speed = arguments.lowest_speed});
  }();
  globals.output.finish(fmt::format("{} is in {}\n", arguments.set, folder.string()),
                        {{"set", arguments.set}, {"folder", folder.string()}});
}

}  // namespace

void add_data_command(CLI::App& app, const Globals& globals) {
  CLI::App* command = app.add_subcommand("data", "List the data sets, or fetch one");
  command->require_subcommand(1);
  const auto arguments = std::make_shared<FetchArguments>();
  CLI::App* list = command->add_subcommand("list", "Say which data sets are here, and where");
  CLI::App* fetch = command->add_subcommand("fetch", "Download a data set and check it");
  fetch->add_option("NAME", arguments->set, "Which one: see `antichain data list`")->required();
  fetch
      ->add_option("--mirror", arguments->mirror,
                   "Address that has the files of the set in a folder of its name")
      ->type_name("URL");
  fetch
      ->add_option("--lowest-speed", arguments->lowest_speed,
                   "Give up when less than so many bytes a second come for a minute; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->type_name("BYTES")
      ->capture_default_str();
  for (CLI::App* part : {list, fetch}) {
    part->add_option("--data", arguments->folder,
                     "Folder with data sets [$ANTICHAIN_DATA, or the user's data folder]")
        ->type_name("DIR");
    part->fallthrough();
    part->footer("Also: --json, --log-level and --threads, see `antichain --help`.");
  }
  list->callback([&globals, arguments] { list_sets(arguments->folder, globals); });
  fetch->callback([&globals, arguments] { fetch_set(*arguments, globals); });
}

}  // namespace antichain::app
