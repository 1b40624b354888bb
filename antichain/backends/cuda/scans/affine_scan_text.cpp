#include "antichain/backends/cuda/scans/affine_scan_text.h"

#include <fmt/format.h>

#include "antichain/backends/cuda/elementwise/element_code.h"

namespace antichain::cuda {

namespace {

constexpr const char* kIncludes = R"(#include "antichain/backends/cuda/device/tensor_core.cuh"
)";

}  // namespace

std::string column_scan_text(DType dtype) {
  return kIncludes + fmt::format(R"(#include "antichain/backends/cuda/device/affine_columns.cuh"
using namespace antichain::device;
using Scan = ColumnScan<{}>;
extern "C" __global__ void multiply(const Scan a) {{ multiply_chunks(a); }}
extern "C" __global__ void across(const Scan a) {{ walk_across(a); }}
extern "C" __global__ void inside(const Scan a) {{ walk_inside(a); }}
)",
                                 storage_type(dtype));
}

std::string narrow_scan_text(DType dtype, std::int64_t size, bool transposed) {
  return kIncludes + fmt::format(R"(#include "antichain/backends/cuda/device/affine_narrow.cuh"
using namespace antichain::device;
using T = {};
using Scan = NarrowScan<T>;
constexpr int kSize = {};
constexpr bool kTransposed = {};
extern __shared__ Piece<T> shared[];
extern "C" __global__ void __launch_bounds__(kScanThreads) multiply(const Scan a) {{
  multiply_chunks<T, kSize, kTransposed>(a, shared);
}}
extern "C" __global__ void __launch_bounds__(kScanThreads) across(const Scan a) {{
  walk_across<T, kSize>(a, shared);
}}
extern "C" __global__ void __launch_bounds__(kScanThreads) inside(const Scan a) {{
  walk_inside<T, kSize, kTransposed>(a, shared);
}}
)",
                                 storage_type(dtype), size, transposed);
}

std::string wide_scan_text(DType dtype, bool transposed) {
  return kIncludes + fmt::format(R"(#include "antichain/backends/cuda/device/affine_wide.cuh"
using namespace antichain::device;
using T = {};
using Scan = WideScan<T>;
constexpr bool kTransposed = {};
extern __shared__ Piece<T> shared[];
extern "C" __global__ void begin(const Scan a) {{ begin_products<T, kTransposed>(a); }}
extern "C" __global__ void __launch_bounds__(kWideThreads) multiply(const Scan a) {{
  multiply_step<T, kTransposed>(a, shared);
}}
extern "C" __global__ void __launch_bounds__(kWideThreads) from_zeros(const Scan a) {{
  walk_from_zeros<T, kTransposed>(a, shared);
}}
extern "C" __global__ void __launch_bounds__(kWideThreads) across(const Scan a) {{
  walk_across<T>(a, shared);
}}
extern "C" __global__ void __launch_bounds__(kWideThreads) inside(const Scan a) {{
  walk_inside<T, kTransposed>(a, shared);
}}
)",
                                 storage_type(dtype), transposed);
}

}  // namespace antichain::cuda
