// UCI HAR: human activities by the motion of a telephone (Anguita et al., 2013).
#pragma once

#include <filesystem>

#include "antichain/data/byte_source.h"
#include "antichain/data/dataset.h"

namespace antichain::data {

/// Reads f32[rows, columns] from lines of `columns` numbers, separated by spaces.
Tensor read_table(ByteSource& source, std::int64_t columns);

/// Loads "x" f32[n, 9, 128] (body acceleration x y z in g, body rotation x y z in rad/s, total
/// acceleration x y z; 2.56 s at 50 Hz) and "y" i64[n] of six activities: from X_train.npy and
/// y_train.txt, or from the published folders train and test with `Inertial Signals` in them.
Splits uci_har(const std::filesystem::path& folder = {});

}  // namespace antichain::data
