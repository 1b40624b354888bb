// Extreme classification: sparse features, a few of very many labels, in the text format of the
// Extreme Classification Repository (Bhatia et al., 2016).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "antichain/data/byte_source.h"
#include "antichain/data/sparse_rows.h"

namespace antichain::data {

/// Reads a line "points features labels", then a line per point: its labels, separated by commas,
/// a space, and "feature:value" pairs, separated by spaces, both counted from 0, in any order. A
/// point may lack labels or features. Throws DataError when the file is not what it says: other
/// numbers of points, labels or features beyond those of the first line, one that a point has
/// twice, a value that is no finite number.
std::shared_ptr<const SparseDataset> read_extreme(ByteSource& source);

/// Loads the set `name` from the folder xmc: name_train.txt and name_test.txt, or train.txt and
/// test.txt in a folder of that name, which is how the repository publishes them.
Splits extreme(const std::string& name, const std::filesystem::path& folder = {});

/// Loads any two files of that format, packed or not; throws DataError unless they have as many
/// features and labels.
Splits extreme_files(const std::filesystem::path& train, const std::filesystem::path& test);
/// Returns the file of test points that belongs to one of training points: of the same name with
/// "test" in the place of the last "train" (or "tst" of "trn"), as it is, with .gz or with .xz.
/// Throws DataError that names what was looked for.
std::filesystem::path extreme_test_file(const std::filesystem::path& train);

}  // namespace antichain::data
