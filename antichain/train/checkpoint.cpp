#include "antichain/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "antichain/base/atomic_file.h"
#include "antichain/base/error.h"

namespace antichain {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kStepPrefix = "step-", kAside = ".aside-";

Json to_json(const History& history) {
  Json curves = Json::object();
  for (const auto& [name, curve] : history) {
    Json& points = curves[name] = Json::array();
    for (const CurvePoint& point : curve) {
      points.push_back({point.step, point.value, point.time});
    }
  }
  return curves;
}

History history_from(const Json& curves) {
  History history;
  for (const auto& [name, points] : curves.items()) {
    Curve& curve = history[name];
    for (const Json& point : points) {
      curve.push_back(
          {point.at(0).get<std::int64_t>(), point.at(1).get<double>(), point.at(2).get<double>()});
    }
  }
  return history;
}

Json to_json(const TrainState& state) {
  return {{"epoch", state.epoch},
          {"batch", state.batch},
          {"step", state.step},
          {"samples", state.samples},
          {"loss_total", state.loss_total},
          {"loss_samples", state.loss_samples},
          {"seconds", state.seconds},
          {"best_score", state.best_score},
          {"best_epoch", state.best_epoch},
          {"finished", state.finished},
          {"history", to_json(state.history)}};
}

TrainState state_from(const Json& json) {
  return {.epoch = json.at("epoch"),
          .batch = json.at("batch"),
          .step = json.at("step"),
          .samples = json.at("samples"),
          .loss_total = json.at("loss_total"),
          .loss_samples = json.at("loss_samples"),
          .seconds = json.at("seconds"),
          .best_score = json.at("best_score"),
          .best_epoch = json.at("best_epoch"),
          .finished = json.at("finished"),
          .history = history_from(json.at("history"))};
}

TrainState read_state(const fs::path& path) {
  std::ifstream stream(path);
  require<DataError>(stream.good(), "cannot read '{}'", path.string());
  try {
    return state_from(Json::parse(stream));
  } catch (const Json::exception& error) {
    fail<DataError>("'{}' is not the state of a training run: {}", path.string(), error.what());
  }
}

// Oldest first: the names sort as the numbers do.
std::vector<fs::path> checkpoints_in(const fs::path& folder) {
  std::vector<fs::path> found;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().filename().string().starts_with(kStepPrefix)) {
        found.push_back(entry.path());
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// What a run that was killed has left half made or half removed.
void remove_leftovers(const fs::path& folder) {
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(kAside)) {
      leftovers.push_back(entry.path());
    }
  }
  for (const fs::path& leftover : leftovers) {
    fs::remove_all(leftover);
  }
}

// Renamed first: a folder that is half removed must not look like a checkpoint.
void remove_checkpoint(const fs::path& checkpoint) {
  const fs::path aside =
      checkpoint.parent_path() / (std::string(kAside) + checkpoint.filename().string());
  fs::rename(checkpoint, aside);
  fs::remove_all(aside);
}

void write_checkpoint(const fs::path& folder, const Checkpoint& checkpoint) {
  constexpr int kIndent = 1;
  const std::string name = fmt::format("{}{:08}{}", kStepPrefix, checkpoint.state.step,
                                       checkpoint.state.finished ? "-final" : "");
  const fs::path aside = folder / (std::string(kAside) + name), place = folder / name;
  fs::create_directories(folder);
  remove_leftovers(folder);
  if (fs::exists(place)) {  // of the same step, so the same
    return;
  }
  fs::create_directory(aside);
  save_safetensors(aside / "model.safetensors", {.tensors = checkpoint.states});
  if (!checkpoint.best.empty()) {
    save_safetensors(aside / "best.safetensors", {.tensors = checkpoint.best});
  }
  write_file(aside / "state.json", to_json(checkpoint.state).dump(kIndent) + "\n");
  fs::rename(aside, place);
  sync_folder(folder);
}

}  // namespace

void save_checkpoint(const fs::path& folder, const Checkpoint& checkpoint, std::int64_t keep) {
  require(keep > 0, "at least one checkpoint must be kept, got {}", keep);
  try {
    write_checkpoint(folder, checkpoint);
    std::vector<fs::path> all = checkpoints_in(folder);
    for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) {
      remove_checkpoint(all[i]);
    }
  } catch (const fs::filesystem_error& error) {
    fail<DataError>("cannot write a checkpoint: {}", error.what());
  }
}

std::optional<Checkpoint> load_checkpoint(const fs::path& folder) {
  const std::vector<fs::path> all = checkpoints_in(folder);
  if (all.empty()) {
    return std::nullopt;
  }
  const fs::path& newest = all.back();
  Checkpoint checkpoint{.state = read_state(newest / "state.json"),
                        .states = load_safetensors(newest / "model.safetensors").tensors};
  if (fs::exists(newest / "best.safetensors")) {
    checkpoint.best = load_safetensors(newest / "best.safetensors").tensors;
  }
  return checkpoint;
}

}  // namespace antichain
