// What parts of a scan cost on this machine: measured once and kept in a file, so that every later
// process chooses alike and results keep their bits.
#pragma once

#include <array>
#include <filesystem>
#include <string>

namespace antichain::cpu {

/// Seconds, of f32. The defaults are round numbers for a core of a server CPU.
struct ScanCosts {
  double step = 5e-9;       // of a lane: each step waits for the one before
  double column = 2.5e-10;  // in a walk, and again in a product of diagonals
  double entry = 5e-10;     // of a matrix, in a walk
  double term = 3e-10;      // of a product of matrices
  double fork = 5e-6;       // of giving all threads work and waiting for them
};

struct NamedScanCost {
  const char* name;  // as in the file
  double ScanCosts::*cost;
  const char* what;
};
inline constexpr std::array<NamedScanCost, 5> kScanCosts = {{
    {"step", &ScanCosts::step, "a step of a lane"},
    {"column", &ScanCosts::column, "a column of a step"},
    {"entry", &ScanCosts::entry, "an entry of a matrix, applied to a state"},
    {"term", &ScanCosts::term, "a term of a product of matrices"},
    {"fork", &ScanCosts::fork, "giving all threads work"},
}};

/// Measures them, which takes some tenths of a second.
ScanCosts measure_scan_costs();

/// Returns the file for machines like this one (instruction set, number of cores) in the folder.
std::filesystem::path scan_costs_file(const std::filesystem::path& folder);
/// Writes "name seconds" lines.
void save_scan_costs(const std::filesystem::path& file, const ScanCosts& costs);
/// Returns what the file says; the defaults where there is none, or one with something else in it.
ScanCosts load_scan_costs(const std::filesystem::path& file);

/// Returns what is known of this machine, as it was when the process first asked.
const ScanCosts& known_scan_costs();

}  // namespace antichain::cpu
