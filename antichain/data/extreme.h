// Extreme classification: sparse features, a few of very many labels, in the text format of the
// Extreme Classification Repository (Bhatia et al., 2016).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "antichain/data/byte_source.h"
#include "antichain/data/sparse_rows.h"

namespace antichain::data {

/// Reads a line "points features labels", then a line per point: its labels, separated by commas, a
/// space, and "feature:value" pairs, separated by spaces, both counted from 0. A point may lack
/// labels or features. Throws DataError when the file is not what it says.
std::shared_ptr<const SparseDataset> read_extreme(ByteSource& source);

/// Loads the set `name` from the folder xmc: name_train.txt and name_test.txt, or train.txt and
/// test.txt in a folder of that name, which is how the repository publishes them.
Splits extreme(const std::string& name, const std::filesystem::path& folder = {});

}  // namespace antichain::data
