// Files inside a tar archive.
#pragma once

#include <functional>
#include <string>

#include "antichain/data/byte_source.h"

namespace antichain::data {

/// Calls `visit` with the path and the bytes of every file in a tar archive, in their order. What
/// it does not read is skipped. Throws DataError when the archive is damaged or breaks off.
void visit_tar(ByteSource& archive,
               const std::function<void(const std::string& path, ByteSource& file)>& visit);

}  // namespace antichain::data
