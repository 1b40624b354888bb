// The sets that are known by name: whether they are here, and getting them from where they are
// published.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace antichain::data {

struct PublishedFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string sha256;
};

struct KnownSet {
  std::string name;                       // of the set and of its folder
  std::string summary;                    // a line for people
  std::string url = {};                   // of the folder of the files
  std::vector<PublishedFile> files = {};  // empty: it cannot be fetched
  std::string by_hand = {};               // where it is instead, completing "get it from ..."
  std::vector<std::string> markers = {};  // the set is here if one of these files is
  std::vector<std::filesystem::path> system = {};  // where it is looked for last
};

/// Returns every set that has a loader.
const std::vector<KnownSet>& known_sets();
/// Returns the set called `name`; throws InvalidArgument with the nearest name otherwise.
const KnownSet& find_set(std::string_view name);
/// Says how to get a set: "get it by `antichain data fetch mnist`", "get it from ...".
std::string how_to_get(const KnownSet& set);
/// Returns the folder in which a set is, or nothing when it is not here.
std::optional<std::filesystem::path> locate(const KnownSet& set,
                                            const std::filesystem::path& folder = {});

struct FetchProgress {
  std::string file;
  std::int64_t received = 0, total = 0;  // bytes, with what an earlier attempt left
};

struct FetchOptions {
  std::function<void(const FetchProgress&)> progress = {};  // what it throws ends the download
  std::string base_url = {};  // of a mirror: the files are in the folder of the set there
  // Bytes per second: a download that stays below for `speed_seconds` is given up; 0: never.
  std::int64_t lowest_speed = 1000;
  std::int64_t speed_seconds = 60;
};

/// Downloads the files of a set that are not in its folder below data_folder(folder) yet, and
/// returns that folder. A file is written as NAME.part and gets its name when size and SHA-256 are
/// those published; an interrupted download goes on where it stopped. Throws NotSupported when the
/// set cannot be fetched, DataError when it could not.
std::filesystem::path fetch(std::string_view name, const std::filesystem::path& folder = {},
                            const FetchOptions& options = {});

}  // namespace antichain::data
