#include "antichain/tensor/tensor.h"

#include <cstring>
#include <functional>

#include "antichain/tensor/strided_copy.h"

namespace antichain {

namespace {

bool share_memory(const Buffer& a, const Buffer& b) {
  const std::less<const std::byte*> before;
  const auto* a_begin = static_cast<const std::byte*>(a.data());
  const auto* b_begin = static_cast<const std::byte*>(b.data());
  return before(a_begin, b_begin + b.bytes()) && before(b_begin, a_begin + a.bytes());
}

bool is_broadcast(const Tensor& tensor) {
  for (std::size_t i = 0; i < tensor.shape().size(); ++i) {
    if (tensor.shape()[i] > 1 && tensor.strides()[i] == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape, Strides strides, std::int64_t offset,
               std::shared_ptr<Buffer> buffer)
    : dtype_(dtype),
      shape_(std::move(shape)),
      strides_(std::move(strides)),
      offset_(offset),
      numel_(antichain::numel(shape_)),
      buffer_(std::move(buffer)) {
  require(buffer_ != nullptr, "a tensor needs a buffer");
  packed_bytes(shape_, size_of(dtype_));  // throws when bytes() would overflow
  require_inside();
}

void Tensor::require_inside() const {
  const auto capacity = static_cast<std::int64_t>(buffer_->bytes() / size_of(dtype_));
  const Extent touched = extent(shape_, strides_);
  const bool inside = offset_ >= 0 && offset_ <= capacity && offset_ + touched.first >= 0 &&
                      touched.last < capacity - offset_;
  if (!inside) {
    fail<ShapeError>(
        "{} elements of shape {} with strides {} from offset {} do not lie in {} bytes",
        name(dtype_), to_string(shape_), to_string(strides_), offset_, buffer_->bytes());
  }
}

void Tensor::rebase(const std::shared_ptr<Buffer>& buffer, std::int64_t offset) {
  require(buffer != nullptr, "a tensor needs a buffer");
  buffer_ = buffer;
  offset_ = offset;
  require_inside();
}

Tensor Tensor::empty(DType dtype, Shape shape) {
  Strides strides = contiguous_strides(shape);
  auto buffer = allocate_host(packed_bytes(shape, size_of(dtype)));
  return Tensor(dtype, std::move(shape), std::move(strides), 0, std::move(buffer));
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor result = empty(dtype, std::move(shape));
  std::memset(result.raw(), 0, result.bytes());
  return result;
}

Tensor Tensor::full(DType dtype, Shape shape, double value) {
  Tensor result = empty(dtype, std::move(shape));
  const auto fill = [&]<class T>(T) {
    std::fill_n(result.data<T>(), result.numel(), convert<T>(value));
  };
  visit_dtype(dtype, fill);
  return result;
}

bool Tensor::is_contiguous() const {
  if (numel_ == 0) {
    return true;
  }
  std::int64_t packed_stride = 1;
  for (std::size_t i = shape_.size(); i-- > 0;) {
    if (shape_[i] > 1 && strides_[i] != packed_stride) {
      return false;
    }
    packed_stride *= shape_[i];
  }
  return true;
}

void* Tensor::raw() const {
  require(defined(), "this tensor is undefined: it holds no values");
  return static_cast<std::byte*>(buffer_->data()) +
         offset_ * static_cast<std::int64_t>(size_of(dtype_));
}

void Tensor::require_host() const {
  require(defined(), "this tensor is undefined: it holds no values");
  if (device().kind != DeviceKind::cpu) {
    fail<DeviceError>("this tensor is on {}; copy it to the cpu before its values are used",
                      to_string(device()));
  }
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  require_host();
  Tensor result = empty(dtype_, shape_);
  strided_copy(result, *this);
  return result;
}

Tensor Tensor::cast(DType dtype) const {
  if (dtype == dtype_) {
    return *this;
  }
  require_host();
  const Tensor source = contiguous();
  Tensor result = empty(dtype, shape_);
  visit_dtype(dtype_, [&]<class From>(From) {
    visit_dtype(dtype, [&]<class To>(To) {
      std::transform(source.data<From>(), source.data<From>() + numel_, result.data<To>(),
                     [](From value) { return convert<To>(value); });
    });
  });
  return result;
}

void Tensor::copy_from(const Tensor& source) const {
  require_host();
  source.require_host();
  require<TypeError>(source.dtype_ == dtype_, "cannot copy {} elements into a tensor of {}",
                     name(source.dtype_), name(dtype_));
  if (source.shape_ != shape_) {
    fail<ShapeError>("cannot copy a tensor of shape {} into one of shape {}",
                     to_string(source.shape_), to_string(shape_));
  }
  require(!is_broadcast(*this), "cannot copy into a broadcast view: its elements share memory");
  if (share_memory(*buffer_, *source.buffer_)) {
    strided_copy(*this, source.clone());
  } else {
    strided_copy(*this, source);
  }
}

bool bit_equal(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) {
    return a.defined() == b.defined();
  }
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
    return false;
  }
  a.require_host();
  b.require_host();
  return a.numel() == 0 || std::memcmp(a.contiguous().raw(), b.contiguous().raw(), a.bytes()) == 0;
}

std::string to_string(const Tensor& tensor, std::int64_t max_elements) {
  if (!tensor.defined()) {
    return "undefined tensor";
  }
  std::string text = fmt::format("{}{}", name(tensor.dtype()), to_string(tensor.shape()));
  if (tensor.device().kind != DeviceKind::cpu) {
    return text + " on " + to_string(tensor.device());
  }
  text += " {";
  const std::int64_t shown = std::clamp<std::int64_t>(max_elements, 0, tensor.numel());
  visit_dtype(tensor.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < shown; ++i) {
      std::int64_t position = 0, rest = i;
      for (std::size_t axis = tensor.shape().size(); axis-- > 0;) {
        position += rest % tensor.shape()[axis] * tensor.strides()[axis];
        rest /= tensor.shape()[axis];
      }
      using Printed = std::conditional_t<sizeof(T) == 2, float, T>;  // fmt knows no 16-bit floats
      text += fmt::format("{}{}", i == 0 ? "" : ", ", convert<Printed>(tensor.data<T>()[position]));
    }
  });
  if (shown < tensor.numel()) {
    text += shown == 0 ? "..." : ", ...";
  }
  return text + "}";
}

}  // namespace antichain
