// What the programs for oneDNN share. Versions 2 and 3 make primitives differently.
#pragma once

#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "library.h"

namespace libraries {

inline std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

inline const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

inline dnnl::stream& stream() {
  static dnnl::stream cpu(engine());
  return cpu;
}

/// Makes the descriptor of a primitive; `hint` is the forward one that a gradient belongs to.
template <class Primitive, class... Arguments>
auto describe(const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine(), arguments...);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), engine());
#endif
}

template <class Primitive, class Hint, class... Arguments>
auto describe_gradient(const Hint& hint, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine(), arguments..., hint);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), engine(), hint);
#endif
}

}  // namespace libraries
