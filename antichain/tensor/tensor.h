// Tensor: values with an element type, a shape, strides and a shared buffer on a device.
//
// A Tensor is a cheap handle: copying it shares the buffer, views share it with other strides.
// Functions that look at values work on host tensors only and say so otherwise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/tensor/buffer.h"
#include "antichain/tensor/device.h"
#include "antichain/tensor/dtype.h"
#include "antichain/tensor/shape.h"

namespace antichain {

class Tensor {
 public:
  /// Makes no tensor; only defined(), assignment and destruction work on it.
  Tensor() = default;
  /// Wraps a buffer; throws ShapeError when shape, strides and offset (in elements) leave it.
  Tensor(DType dtype, Shape shape, Strides strides, std::int64_t offset,
         std::shared_ptr<Buffer> buffer);

  /// Allocates without initialising.
  static Tensor empty(DType dtype, Shape shape);
  /// Allocates and sets every byte to zero.
  static Tensor zeros(DType dtype, Shape shape);
  /// Allocates and sets every element to `value`.
  static Tensor full(DType dtype, Shape shape, double value);
  /// Makes a tensor of rank 0.
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, std::span<const T>(&value, 1));
  }
  /// Copies `values` in row-major order; their number must fit the shape.
  template <class T>
  static Tensor of(Shape shape, std::span<const T> values);
  template <class T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor of(Shape shape, const std::vector<T>& values) {
    return of<T>(std::move(shape), std::span<const T>(values));
  }

  bool defined() const { return buffer_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  std::int64_t offset() const { return offset_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  std::int64_t numel() const { return numel_; }
  /// Returns the bytes that the elements take when packed.
  std::size_t bytes() const { return static_cast<std::size_t>(numel_) * size_of(dtype_); }
  Device device() const { return buffer_->device(); }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  bool is_contiguous() const;

  /// Returns the first element as a C++ pointer; throws TypeError when T is not the element type.
  template <class T>
  T* data() const {
    require<TypeError>(dtype_of<T>() == dtype_, "this tensor holds {}, not {}", name(dtype_),
                       name(dtype_of<T>()));
    return static_cast<T*>(raw());
  }
  /// Returns the address of the first element.
  void* raw() const;

  /// Throws DeviceError unless the values are on the host.
  void require_host() const;
  /// Returns the only element, converted; throws ShapeError when there is not exactly one.
  template <class T>
  T item() const;
  /// Returns the elements in row-major order, converted.
  template <class T>
  std::vector<T> to_vector() const;

  /// Returns this tensor packed: itself when it already is, a copy otherwise.
  Tensor contiguous() const;
  /// Returns a packed copy that shares nothing.
  Tensor clone() const;
  /// Returns this tensor with elements converted to `dtype`: itself when nothing changes.
  Tensor cast(DType dtype) const;
  /// Returns the same elements in another shape; a view when packed, a copy otherwise.
  Tensor reshape(Shape shape) const;

  // Views: they share the buffer.
  /// Puts axis permutation[i] at position i.
  Tensor transpose(std::span<const int> permutation) const;
  /// Keeps `length` positions of `axis` from `start`, every `step`-th (negative: backwards).
  Tensor slice(int axis, std::int64_t start, std::int64_t length, std::int64_t step = 1) const;
  /// Keeps position `index` of `axis` and drops the axis.
  Tensor select(int axis, std::int64_t index) const;
  /// Repeats axes of size 1, and new leading axes, without copying (stride 0).
  Tensor broadcast_to(Shape shape) const;

  /// Keeps dtype, shape and strides and moves to other memory; throws ShapeError when it does not
  /// lie in there. Allocates nothing.
  void rebase(const std::shared_ptr<Buffer>& buffer, std::int64_t offset);
  /// Lets go of the memory and keeps dtype, shape and strides; defined() is false then.
  void drop_memory() { buffer_.reset(); }

  /// Copies the elements of `source` (same shape and dtype) into this tensor's memory; the two may
  /// overlap. Throws InvalidArgument when this is a broadcast view, whose elements share memory.
  void copy_from(const Tensor& source) const;

 private:
  void require_inside() const;

  DType dtype_ = DType::f32;
  Shape shape_;
  Strides strides_;
  std::int64_t offset_ = 0;
  std::int64_t numel_ = 0;
  std::shared_ptr<Buffer> buffer_;
};

/// Returns whether both have the same dtype, shape and bits.
bool bit_equal(const Tensor& a, const Tensor& b);
/// Returns dtype, shape and the first elements, for messages.
std::string to_string(const Tensor& tensor, std::int64_t max_elements = 16);

template <class T>
Tensor Tensor::of(Shape shape, std::span<const T> values) {
  if (antichain::numel(shape) != static_cast<std::int64_t>(values.size())) {
    fail<ShapeError>("shape {} does not fit {} values", to_string(shape), values.size());
  }
  Tensor result = empty(dtype_of<T>(), std::move(shape));
  std::copy(values.begin(), values.end(), result.data<T>());
  return result;
}

/// Unpacks std::vector<bool>, whose elements are bits.
template <>
inline Tensor Tensor::of<bool>(Shape shape, const std::vector<bool>& values) {
  const auto unpacked = std::make_unique<bool[]>(values.size());
  std::copy(values.begin(), values.end(), unpacked.get());
  return of<bool>(std::move(shape), std::span<const bool>(unpacked.get(), values.size()));
}

template <class T>
T Tensor::item() const {
  require_host();
  if (numel_ != 1) {
    fail<ShapeError>("item() needs exactly one element, found shape {}", to_string(shape_));
  }
  const Tensor converted = cast(dtype_of<T>());
  return *converted.data<T>();
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  require_host();
  const Tensor packed = cast(dtype_of<T>()).contiguous();
  return std::vector<T>(packed.data<T>(), packed.data<T>() + numel_);
}

}  // namespace antichain
