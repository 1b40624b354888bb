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

struct CalibrationOptions {
  bool again = false;            // also what is known
  bool on_busy_machine = false;  // although others use the cores
};

/// Measures what is not known yet and keeps it. Sessions of processes that start later choose by
/// it. Throws InvalidArgument when there is no folder to keep it in, and DeviceError, keeping
/// nothing, when threads have to wait for cores: what is measured then is no property of the
/// machine.
Calibration calibrate(const CalibrationOptions& options = {});

}  // namespace antichain
