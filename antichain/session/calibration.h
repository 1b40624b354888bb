// What is measured of a machine once, for choices that later runs make alike.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace antichain {

struct Calibration {
  struct Cost {
    std::string name, what;
    double seconds;
  };
  std::vector<Cost> costs;     // of parts of a scan on the CPU
  std::filesystem::path file;  // that keeps them, in $ANTICHAIN_CACHE
  bool measured = false;       // just now; otherwise they were known
};

/// Measures what is not known yet, or everything again, and keeps it. Sessions of processes that
/// start later choose by it. Throws InvalidArgument when there is no folder to keep it in.
Calibration calibrate(bool again = false);

}  // namespace antichain
