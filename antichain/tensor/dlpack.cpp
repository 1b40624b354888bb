#include "antichain/tensor/dlpack.h"

#include <dlpack/dlpack.h>

#include <array>
#include <cstdint>
#include <limits>

namespace antichain {

namespace {

struct TypeRow {
  DType dtype;
  std::uint8_t code;  // a DLDataTypeCode, as DLDataType stores it
};

// Each pair of code and size names one type; bool is absent because DLPack 0.6 has no code for it.
constexpr std::array<TypeRow, 8> kTypes = {{{f32, kDLFloat},
                                            {f64, kDLFloat},
                                            {bf16, kDLBfloat},
                                            {f16, kDLFloat},
                                            {i8, kDLInt},
                                            {i32, kDLInt},
                                            {i64, kDLInt},
                                            {u8, kDLUInt}}};

std::uint8_t bits_of(DType dtype) { return static_cast<std::uint8_t>(8 * size_of(dtype)); }

DLDataType to_dl_type(DType dtype) {
  const DType stored = dtype == boolean ? u8 : dtype;
  for (const TypeRow& row : kTypes) {
    if (row.dtype == stored) {
      return {.code = row.code, .bits = bits_of(stored), .lanes = 1};
    }
  }
  fail<InternalError>("{} is missing in the table of DLPack types", name(dtype));
}

DType from_dl_type(DLDataType type) {
  require<TypeError>(type.lanes == 1, "DLPack elements must have 1 lane, found {}", type.lanes);
  for (const TypeRow& row : kTypes) {
    if (row.code == type.code && bits_of(row.dtype) == type.bits) {
      return row.dtype;
    }
  }
  fail<TypeError>(
      "DLPack type code {} with {} bits is not supported; use float 16, 32 or 64, bfloat 16, "
      "int 8, 32 or 64, or uint 8",
      type.code, type.bits);
}

DLDevice to_dl_device(Device device) {
  const bool on_host = device.kind == DeviceKind::cpu;
  return {.device_type = on_host ? kDLCPU : kDLCUDA, .device_id = on_host ? 0 : device.index};
}

Device from_dl_device(DLDevice device) {
  if (device.device_type == kDLCPU) {
    return {};
  }
  require<NotSupported>(device.device_type == kDLCUDA,
                        "DLPack device type {} is not supported; use CPU (1) or CUDA (2)",
                        static_cast<int>(device.device_type));
  require(device.device_id >= 0, "DLPack device id must not be negative, found {}",
          device.device_id);
  return {.kind = DeviceKind::cuda, .index = device.device_id};
}

// What a handle keeps alive. Shape and strides are copies: receivers get them as mutable arrays.
struct Export {
  explicit Export(const Tensor& shared)
      : tensor(shared), shape(shared.shape()), strides(shared.strides()) {}

  Tensor tensor;
  Shape shape;
  Strides strides;
  DLManagedTensor managed{};
};

struct Memory {
  void* begin;
  std::size_t bytes;
};

// Returns the memory that the tensor touches; `touched` is relative to its first element.
Memory touched_memory(const DLTensor& source, std::size_t element_bytes, const Extent& touched) {
  if (touched.size() == 0) {
    return {.begin = source.data, .bytes = 0};
  }
  require(source.data != nullptr, "DLPack data is null, but the tensor has elements");
  const auto address = reinterpret_cast<std::uintptr_t>(source.data);
  require((address + source.byte_offset) % element_bytes == 0,
          "DLPack data is not aligned to its elements of {} bytes", element_bytes);
  std::int64_t begin = 0, bytes = 0;  // begin: relative to data
  std::uintptr_t first = 0, end = 0;
  const bool overflow = __builtin_mul_overflow(touched.first, element_bytes, &begin) ||
                        __builtin_mul_overflow(touched.size(), element_bytes, &bytes) ||
                        __builtin_add_overflow(begin, source.byte_offset, &begin) ||
                        __builtin_add_overflow(address, begin, &first) ||
                        __builtin_add_overflow(first, bytes, &end);
  require(!overflow, "DLPack shape, strides and byte_offset reach outside the address space");
  return {.begin = static_cast<std::byte*>(source.data) + begin,
          .bytes = static_cast<std::size_t>(bytes)};
}

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  require(tensor.defined(), "an undefined tensor cannot be exported to DLPack");
  auto exported = std::make_unique<Export>(tensor);
  exported->managed = {
      .dl_tensor = {.data = tensor.raw(),
                    .device = to_dl_device(tensor.device()),
                    .ndim = tensor.rank(),
                    .dtype = to_dl_type(tensor.dtype()),
                    .shape = exported->shape.data(),
                    .strides = exported->strides.data(),
                    .byte_offset = 0},
      .manager_ctx = exported.get(),
      .deleter = [](DLManagedTensor* self) { delete static_cast<Export*>(self->manager_ctx); }};
  return &exported.release()->managed;
}

Tensor from_dlpack(DLManagedTensor* managed) {
  require(managed != nullptr, "DLPack handle is null");
  const DLTensor& source = managed->dl_tensor;
  const DType dtype = from_dl_type(source.dtype);
  const Device device = from_dl_device(source.device);
  require<ShapeError>(source.ndim >= 0, "DLPack ndim must not be negative, found {}", source.ndim);
  require<ShapeError>(source.ndim == 0 || source.shape != nullptr,
                      "DLPack shape is null, but ndim is {}", source.ndim);

  Shape shape(source.shape, source.shape + source.ndim);
  Strides strides = source.strides == nullptr
                        ? contiguous_strides(shape)
                        : Strides(source.strides, source.strides + source.ndim);
  packed_bytes(shape, size_of(dtype));  // throws when the tensor would refuse it
  const Extent touched = extent(shape, strides);
  const Memory memory = touched_memory(source, size_of(dtype), touched);

  // From here on nothing throws: the handle changes owner with the buffer.
  auto buffer = std::make_shared<Buffer>(memory.begin, memory.bytes, device, [managed] {
    if (managed->deleter != nullptr) {
      managed->deleter(managed);
    }
  });
  return Tensor(dtype, std::move(shape), std::move(strides), -touched.first, std::move(buffer));
}

}  // namespace antichain
