// Where this build lies. In one source of its own, so that no other object depends on the folder.
#pragma once

#include <filesystem>
#include <string>

namespace antichain {

/// Returns the root of the repository.
std::filesystem::path source_folder();
/// Returns the built command-line program, as a word for a shell.
std::string program_file();
/// Returns the folder of real data sets: $ANTICHAIN_DATA, or the one beside the repository. It need
/// not exist.
std::filesystem::path shared_data();

}  // namespace antichain
