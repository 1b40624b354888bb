#include "antichain/data/fetch.h"

#include <algorithm>
#include <utility>

#include "antichain/base/edit_distance.h"
#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/data/download.h"
#include "antichain/data/folder.h"

namespace antichain::data {

namespace {

std::string last_slash(std::string url) {
  return url.ends_with('/') ? std::move(url) : std::move(url) + '/';
}

bool is_published(const std::filesystem::path& path, const PublishedFile& file) {
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(path, missing);
  return !missing && bytes == static_cast<std::uintmax_t>(file.bytes) &&
         sha256_of(path) == file.sha256;
}

}  // namespace

const KnownSet& find_set(std::string_view name) {
  const std::vector<KnownSet>& all = known_sets();
  const auto nearest =
      std::min_element(all.begin(), all.end(), [&](const KnownSet& a, const KnownSet& b) {
        return edit_distance(name, a.name) < edit_distance(name, b.name);
      });
  require(nearest->name == name, "there is no data set '{}'; did you mean '{}'?", name,
          nearest->name);
  return *nearest;
}

std::string how_to_get(const KnownSet& set) {
  return set.files.empty() ? "get it from " + set.by_hand
                           : "get it by `antichain data fetch " + set.name + "`";
}

std::optional<std::filesystem::path> locate(const KnownSet& set,
                                            const std::filesystem::path& folder) {
  const auto found = SetFolder(folder, set.name, set.system).look_for(set.markers);
  return found ? std::optional(found->parent_path()) : std::nullopt;
}

std::filesystem::path fetch(std::string_view name, const std::filesystem::path& folder,
                            const FetchOptions& options) {
  const KnownSet& set = find_set(name);
  std::filesystem::path target = data_folder(folder) / set.name;
  require<NotSupported>(!set.files.empty(), "{} cannot be fetched; get it from {}, into {}",
                        set.name, set.by_hand, target.string());
  std::error_code failed;
  std::filesystem::create_directories(target, failed);
  if (failed) {
    fail_on_file("make the folder", target, failed.value());
  }
  require(options.lowest_speed >= 0 && options.speed_seconds > 0,
          "the lowest speed of a download must not be negative, got {}", options.lowest_speed);
  const std::string url =
      options.base_url.empty() ? set.url : last_slash(options.base_url) + set.name + '/';
  for (const PublishedFile& file : set.files) {
    const std::filesystem::path path = target / file.name;
    if (!is_published(path, file)) {
      download({.url = url + file.name,
                .target = path,
                .bytes = file.bytes,
                .sha256 = file.sha256,
                .lowest_speed = options.lowest_speed,
                .speed_seconds = options.speed_seconds,
                .progress = [&](std::int64_t received) {
                  if (options.progress) {
                    options.progress({file.name, received, file.bytes});
                  }
                }});
    }
  }
  return target;
}

}  // namespace antichain::data
