// Backends and states of sessions that outlive the executables which tests make by hand.
#pragma once

#include <memory>

namespace antichain {

/// Returns a pointer that shares nothing: the object outlives it.
template <class T>
std::shared_ptr<T> not_owned(T& object) {
  return std::shared_ptr<T>(std::shared_ptr<void>(), &object);
}

}  // namespace antichain
