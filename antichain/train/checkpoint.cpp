#include "antichain/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/base/output_file.h"
#include "antichain/base/parse_number.h"
#include "antichain/train/json_file.h"

namespace antichain {

namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;
using Json = nlohmann::json;

constexpr std::string_view kStepPrefix = "step-", kFinalSuffix = "-final", kAside = ".aside-";
constexpr const char* kIsNoState = "is not the state of a training run";
// A curve has a thousand points and one per epoch, a point less than 100 bytes.
constexpr JsonLimits kStateLimits = {.bytes = std::uintmax_t{1} << 28, .depth = 8};
constexpr std::int64_t kMost = std::int64_t{1} << 53;  // of counters: JSON knows no larger ones

OrderedJson to_json(const History& history) {
  OrderedJson curves = OrderedJson::object();
  for (const auto& [name, curve] : history) {
    OrderedJson& points = curves[name] = OrderedJson::array();
    for (const CurvePoint& point : curve) {
      points.push_back({point.step, number_json(point.value), number_json(point.time)});
    }
  }
  return curves;
}

History history_from(const Json& curves, const JsonReader& reader) {
  History history;
  for (const auto& [name, points] : curves.items()) {
    if (!points.is_array()) {
      reader.refuse(fmt::format("the curve '{}' is no list of points", name));
    }
    Curve curve;
    for (const Json& point : points) {
      if (!point.is_array() || point.size() != 3) {
        reader.refuse(fmt::format("a point of the curve '{}' is not step, value and time", name));
      }
      curve.push_back({reader.as_integer(point[0], name, 0, kMost),
                       reader.as_number(point[1], name), reader.as_number(point[2], name)});
    }
    if (!curve.empty()) {
      history.emplace(name, std::move(curve));
    }
  }
  return history;
}

OrderedJson to_json(const TrainState& state) {
  return {{"epoch", state.epoch},
          {"batch", state.batch},
          {"step", state.step},
          {"samples", state.samples},
          {"loss_total", number_json(state.loss_total)},
          {"loss_samples", state.loss_samples},
          {"seconds", number_json(state.seconds)},
          {"best_score", number_json(state.best_score)},
          {"best_epoch", state.best_epoch},
          {"finished", state.finished},
          {"history", to_json(state.history)}};
}

TrainState read_state(const fs::path& path) {
  const Json json = read_json(path, kIsNoState, kStateLimits);
  const JsonReader reader(path.string(), kIsNoState);
  TrainState state{.epoch = reader.integer(json, "epoch", 1, kMost),
                   .batch = reader.integer(json, "batch", 0, kMost),
                   .step = reader.integer(json, "step", 0, kMost),
                   .samples = reader.integer(json, "samples", 0, kMost),
                   .loss_total = reader.number(json, "loss_total"),
                   .loss_samples = reader.integer(json, "loss_samples", 0, kMost),
                   .seconds = reader.number(json, "seconds"),
                   .best_score = reader.number(json, "best_score"),
                   .best_epoch = 0,
                   .finished = reader.truth(json, "finished"),
                   .history = history_from(reader.object(json, "history"), reader)};
  state.best_epoch = reader.integer(json, "best_epoch", 0, state.epoch);
  if (!(state.seconds >= 0)) {
    reader.refuse("'seconds' is negative");
  }
  return state;
}

// A folder that is called like a checkpoint. The number is that of its step.
struct Found {
  std::int64_t step;
  bool is_final;
  fs::path path;

  bool operator<(const Found& other) const {
    return std::tie(step, is_final) < std::tie(other.step, other.is_final);
  }
};

std::optional<Found> checkpoint_called(const fs::path& path) {
  const std::string name = path.filename().string();
  std::string_view rest = name;
  if (!rest.starts_with(kStepPrefix)) {
    return std::nullopt;
  }
  rest.remove_prefix(kStepPrefix.size());
  const bool is_final = rest.ends_with(kFinalSuffix);
  rest.remove_suffix(is_final ? kFinalSuffix.size() : 0);
  const std::optional<std::int64_t> step = parse_number<std::int64_t>(rest);
  return step && *step >= 0 ? std::optional(Found{*step, is_final, path}) : std::nullopt;
}

// Oldest first, by the numbers of their steps.
std::vector<Found> checkpoints_in(const fs::path& folder) {
  std::vector<Found> found;
  if (fs::exists(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (std::optional<Found> checkpoint = checkpoint_called(entry.path())) {
        found.push_back(std::move(*checkpoint));
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Renamed first: a folder that is half removed must not look like a checkpoint.
void remove_checkpoint(const fs::path& checkpoint) {
  const fs::path aside = checkpoint.parent_path() / name_aside(kAside);
  fs::rename(checkpoint, aside);
  fs::remove_all(aside);
}

void write_checkpoint(const fs::path& folder, const Checkpoint& checkpoint) {
  constexpr int kIndent = 1;
  const std::string name = fmt::format("{}{:08}{}", kStepPrefix, checkpoint.state.step,
                                       checkpoint.state.finished ? "-final" : "");
  const fs::path target = folder / name;
  fs::create_directories(folder);
  remove_leftovers(folder);
  if (fs::exists(target)) {  // of the same step, so the same
    return;
  }
  const fs::path aside = make_folder_aside(folder, kAside);
  save_safetensors(aside / "model.safetensors", {.tensors = checkpoint.states});
  if (!checkpoint.best.empty()) {
    save_safetensors(aside / "best.safetensors", {.tensors = checkpoint.best});
  }
  write_file(
      aside / "state.json",
      to_json(checkpoint.state).dump(kIndent, ' ', false, OrderedJson::error_handler_t::replace) +
          "\n");
  fs::rename(aside, target);
  sync_folder(folder);
}

Checkpoint load(const Found& found) {
  const fs::path& folder = found.path;
  const fs::path state_file = folder / "state.json";
  Checkpoint checkpoint{.state = read_state(state_file), .states = {}};
  require<DataError>(checkpoint.state.step == found.step,
                     "'{}' {}: it is of step {}, and its folder is called '{}'",
                     state_file.string(), kIsNoState, checkpoint.state.step,
                     folder.filename().string());
  checkpoint.states = load_safetensors(folder / "model.safetensors").tensors;
  if (fs::exists(folder / "best.safetensors")) {
    checkpoint.best = load_safetensors(folder / "best.safetensors").tensors;
  }
  return checkpoint;
}

// The newest of those before the last one that can be read.
std::optional<fs::path> whole_one_before_the_last(const std::vector<Found>& all) {
  for (std::size_t i = all.size() - 1; i-- > 0;) {
    try {
      load(all[i]);
      return all[i].path;
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

Checkpoint load_newest(const std::vector<Found>& all) {
  try {
    return load(all.back());
  } catch (const MachineError&) {
    throw;
  } catch (const DataError& error) {
    const std::optional<fs::path> older = whole_one_before_the_last(all);
    if (!older) {
      throw;
    }
    fail<DataError>("{}; '{}' is whole: remove '{}' to go on from there", error.what(),
                    older->string(), all.back().path.string());
  }
}

}  // namespace

void remove_leftovers(const fs::path& folder) {
  try {
    std::vector<fs::path> leftovers;
    if (fs::exists(folder)) {
      for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().filename().string().starts_with(kAside)) {
          leftovers.push_back(entry.path());
        }
      }
    }
    for (const fs::path& leftover : leftovers) {
      fs::remove_all(leftover);
    }
  } catch (const fs::filesystem_error& error) {
    fail_on_file("remove", error);
  }
}

void save_checkpoint(const fs::path& folder, const Checkpoint& checkpoint, std::int64_t keep) {
  require(keep > 0, "at least one checkpoint must be kept, got {}", keep);
  try {
    write_checkpoint(folder, checkpoint);
    const std::vector<Found> all = checkpoints_in(folder);
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) {
      remove_checkpoint(all[i].path);
    }
  } catch (const fs::filesystem_error& error) {
    fail_on_file("write a checkpoint in", error);
  }
}

std::optional<Checkpoint> load_checkpoint(const fs::path& folder) {
  try {
    for (std::vector<Found> all = checkpoints_in(folder); !all.empty();) {
      try {
        return load_newest(all);
      } catch (const Error&) {
        // A training that goes on has removed it meanwhile, and written others.
        std::vector<Found> now = checkpoints_in(folder);
        if (now.empty() || now.back().path == all.back().path) {
          throw;
        }
        all = std::move(now);
      }
    }
  } catch (const fs::filesystem_error& error) {
    fail_on_file("read", error);
  }
  return std::nullopt;
}

}  // namespace antichain
