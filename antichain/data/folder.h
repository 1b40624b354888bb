// Where data is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace antichain::data {

/// Returns the folder with a folder for each set: the given one (the program's --data), else
/// $ANTICHAIN_DATA, else the user's own ($XDG_DATA_HOME or ~/.local/share, there antichain). It
/// need not exist.
std::filesystem::path data_folder(const std::filesystem::path& given = {});

/// Where Debian's package dataset-fashion-mnist puts its files.
inline constexpr const char* kDebianFashionMnist = "/usr/share/datasets/fashion-mnist";

/// Says where files of one set are looked for.
class SetFolder {
 public:
  /// Looks in `set` below data_folder(given), then in the folders of the system that are named.
  SetFolder(const std::filesystem::path& given, std::string set,
            std::vector<std::filesystem::path> system = {});

  /// Returns the file of the first of these names that is there: as it is, with .gz or with .xz.
  std::optional<std::filesystem::path> look_for(const std::vector<std::string>& names) const;
  /// Returns the same, or throws DataError that says what was looked for, where, and what to do.
  std::filesystem::path find(const std::vector<std::string>& names) const;

 private:
  std::string set_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace antichain::data
