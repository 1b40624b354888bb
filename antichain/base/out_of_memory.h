// OutOfMemory: what is thrown where a device has no room.
#pragma once

#include "antichain/base/error.h"

namespace antichain {

/// Reports that memory was asked for and there is not that much. Who knows what the memory was for
/// may catch it and say so.
class OutOfMemory : public DeviceError {
  using DeviceError::DeviceError;
};

}  // namespace antichain
