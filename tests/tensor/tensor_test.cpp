#include "antichain/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "tests/tensor/expect_error.h"

// The sanitizers end the process when memory runs out, unless told to return null as malloc does.
// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizers' runtime looks for these names.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
// NOLINTEND(bugprone-reserved-identifier)

namespace antichain::tensor_test {

using testing::ElementsAre;

std::shared_ptr<Buffer> buffer_of(std::vector<float>& values, Device device = {}) {
  return std::make_shared<Buffer>(values.data(), values.size() * sizeof(float), device, nullptr);
}

Tensor on_cuda(Shape shape) {
  static std::vector<float> memory(24);
  Strides strides = contiguous_strides(shape);
  return Tensor(f32, std::move(shape), std::move(strides), 0,
                buffer_of(memory, {DeviceKind::cuda, 1}));
}

TEST(Buffer, IsReleasedOnceByItsLastUser) {
  int released = 0;
  float memory[6] = {0, 1, 2, 3, 4, 5};
  auto buffer =
      std::make_shared<Buffer>(memory, sizeof(memory), Device{}, [&released] { ++released; });
  {
    const Tensor tensor(f32, {2, 3}, {3, 1}, 0, std::move(buffer));
    const Tensor row = tensor.select(0, 1);
    EXPECT_THAT(row.to_vector<float>(), ElementsAre(3, 4, 5));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Buffer, HostMemoryIsAligned) {
  for (const std::size_t bytes : {0UL, 1UL, 63UL, 64UL, 65UL, 4097UL}) {
    const auto buffer = allocate_host(bytes);
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_EQ(buffer->device(), Device{});
    ASSERT_NE(buffer->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % kHostAlignment, 0U);
    std::memset(buffer->data(), 1, bytes);
  }
}

TEST(Buffer, SaysHowMuchMemoryIsMissing) {
  expect_error<DeviceError>("out of memory on cpu: cannot allocate 140737488355328 bytes",
                            [] { allocate_host(std::size_t{1} << 47); });
  expect_error<DeviceError>("out of memory on cpu: cannot allocate 18446744073709551615 bytes",
                            [] { allocate_host(std::numeric_limits<std::size_t>::max()); });
  expect_error<DeviceError>("out of memory on cpu: cannot allocate 9223372036854775800 bytes", [] {
    Tensor::empty(f64, {std::numeric_limits<std::int64_t>::max() / 8});
  });
}

TEST(Buffer, RefusesBytesAtNull) {
  expect_error<InvalidArgument>("a buffer of 4 bytes needs memory, but its address is null",
                                [] { Buffer(nullptr, 4, Device{}, nullptr); });
  EXPECT_NO_THROW(Buffer(nullptr, 0, Device{}, nullptr));
}

TEST(Tensor, DefaultIsUndefined) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_EQ(to_string(tensor), "undefined tensor");
  const char* message = "this tensor is undefined: it holds no values";
  expect_error<InvalidArgument>(message, [&] { tensor.raw(); });
  expect_error<InvalidArgument>(message, [&] { tensor.item<float>(); });
  expect_error<InvalidArgument>(message, [&] { tensor.to_vector<float>(); });
  expect_error<InvalidArgument>(message, [&] { tensor.clone(); });
  expect_error<InvalidArgument>(message, [&] { Tensor::zeros(f32, {0}).copy_from(tensor); });
  expect_error<InvalidArgument>("a tensor needs a buffer", [] { Tensor(f32, {}, {}, 0, nullptr); });
}

TEST(Tensor, ConstructorChecksThatTheViewLiesInTheBuffer) {
  std::vector<float> memory(12);
  const auto make = [&](Shape shape, Strides strides, std::int64_t offset) {
    return Tensor(f32, std::move(shape), std::move(strides), offset, buffer_of(memory));
  };
  EXPECT_NO_THROW(make({3, 4}, {4, 1}, 0));
  EXPECT_NO_THROW(make({3, 4}, {-4, -1}, 11));
  EXPECT_NO_THROW(make({100, 12}, {0, 1}, 0));
  EXPECT_NO_THROW(make({0, 4}, {4, 1}, 12));
  EXPECT_NO_THROW(make({1}, {1000}, 11));
  expect_error<ShapeError>(
      "f32 elements of shape [3, 4] with strides [4, 1] from offset 1 do not lie in 48 bytes", [&] {
        make({3, 4}, {4, 1}, 1);
      });
  EXPECT_THROW(make({3, 4}, {-4, -1}, 10), ShapeError);
  EXPECT_THROW(make({3, 4}, {-4, 1}, 0), ShapeError);
  EXPECT_THROW(make({13}, {1}, 0), ShapeError);
  EXPECT_THROW(make({}, {}, 12), ShapeError);
  EXPECT_THROW(make({}, {}, -1), ShapeError);
  EXPECT_THROW(make({0}, {1}, 13), ShapeError);
  EXPECT_THROW(make({0}, {1}, -1), ShapeError);
  EXPECT_THROW(make({3}, {std::numeric_limits<std::int64_t>::max()}, 0), ShapeError);
  EXPECT_THROW(make({2}, {std::numeric_limits<std::int64_t>::min()}, 0), ShapeError);
  EXPECT_THROW(make({2, 2}, {1}, 0), ShapeError);
  EXPECT_THROW(make({-2}, {1}, 0), ShapeError);
  EXPECT_THROW(make({std::int64_t{1} << 62}, {0}, 0), ShapeError);  // bytes() would overflow
}

TEST(Tensor, ZerosAndFullOfEveryType) {
  for (const DType dtype : kAnyDType.members()) {
    SCOPED_TRACE(name(dtype));
    const Tensor zeros = Tensor::zeros(dtype, {3, 2});
    EXPECT_EQ(zeros.dtype(), dtype);
    EXPECT_EQ(zeros.bytes(), 6 * size_of(dtype));
    EXPECT_THAT(zeros.to_vector<double>(), ElementsAre(0, 0, 0, 0, 0, 0));
    EXPECT_THAT(Tensor::full(dtype, {2}, 1).to_vector<double>(), ElementsAre(1, 1));
    EXPECT_EQ(Tensor::full(dtype, {}, 1).item<std::int32_t>(), 1);
    EXPECT_TRUE(Tensor::full(dtype, {0, 3}, 1).to_vector<double>().empty());
  }
  EXPECT_THAT(Tensor::full(f32, {2}, -2.5).to_vector<float>(), ElementsAre(-2.5F, -2.5F));
  EXPECT_THAT(Tensor::full(u8, {2}, 300).to_vector<std::int32_t>(), ElementsAre(255, 255));
}

TEST(Tensor, SizesThatCannotBeAreShapeErrors) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THROW(Tensor::empty(u8, {kHuge, kHuge}), ShapeError);
  EXPECT_THROW(Tensor::empty(f64, {std::int64_t{1} << 61}), ShapeError);
  EXPECT_THROW(Tensor::zeros(f32, {2, -3}), ShapeError);
  EXPECT_THROW(Tensor::full(f32, {-1}, 0), ShapeError);
}

TEST(Tensor, OfCopiesRowMajorValues) {
  const Tensor matrix = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(matrix.rank(), 2);
  EXPECT_EQ(matrix.numel(), 6);
  EXPECT_EQ(matrix.strides(), (Strides{3, 1}));
  EXPECT_EQ(matrix.select(0, 1).select(0, 0).item<float>(), 4);
  EXPECT_THAT(Tensor::of({3}, std::vector<std::int64_t>{1, 2, 3}).to_vector<std::int64_t>(),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(Tensor::of<bool>({3}, std::vector<bool>{true, false, true}).to_vector<bool>(),
              ElementsAre(true, false, true));
  EXPECT_THAT(Tensor::of<bool>({2}, {false, true}).to_vector<bool>(), ElementsAre(false, true));
  EXPECT_EQ(Tensor::of<float>({0}, {}).numel(), 0);
  EXPECT_EQ(Tensor::of<bool>({0}, std::vector<bool>{}).numel(), 0);
  EXPECT_EQ(Tensor::scalar(2.5).item<double>(), 2.5);
  EXPECT_EQ(Tensor::scalar(2.5).dtype(), f64);
  EXPECT_EQ(Tensor::scalar(true).dtype(), boolean);
  expect_error<ShapeError>("shape [2, 3] does not fit 5 values", [] {
    Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5});
  });
  expect_error<ShapeError>("shape [] does not fit 2 values", [] {
    Tensor::of<bool>({}, {true, false});
  });
}

TEST(Tensor, DataChecksTheElementType) {
  const Tensor tensor = Tensor::of<float>({2}, {1, 2});
  EXPECT_EQ(tensor.data<float>()[1], 2);
  expect_error<TypeError>("this tensor holds f32, not bf16", [&] { tensor.data<bfloat16>(); });
}

TEST(Tensor, ItemNeedsExactlyOneElement) {
  EXPECT_EQ(Tensor::of<std::int64_t>({1, 1}, {7}).item<float>(), 7.0F);
  EXPECT_EQ(Tensor::of<float>({3}, {1, 2, 3}).select(0, 2).item<std::uint8_t>(), 3);
  expect_error<ShapeError>("item() needs exactly one element, found shape [2]",
                           [] { Tensor::zeros(f32, {2}).item<float>(); });
  expect_error<ShapeError>("item() needs exactly one element, found shape [0, 3]", [] {
    Tensor::zeros(f32, {0, 3}).item<float>();
  });
}

// Values that every type holds, so that each must give the other's values exactly.
TEST(Tensor, CastsBetweenAllTypes) {
  const Tensor values = Tensor::of<double>({2, 2}, {0, 1, 1, 0});
  for (const DType from : kAnyDType.members()) {
    for (const DType to : kAnyDType.members()) {
      SCOPED_TRACE(std::string(name(from)) + " to " + std::string(name(to)));
      const Tensor cast = values.cast(from).cast(to);
      EXPECT_EQ(cast.dtype(), to);
      EXPECT_EQ(cast.shape(), values.shape());
      EXPECT_THAT(cast.to_vector<double>(), ElementsAre(0, 1, 1, 0));
    }
  }
}

TEST(Tensor, CastRoundsAndKeepsTheOrderOfViews) {
  const Tensor tensor = Tensor::of<float>({2, 2}, {1.5F, -2.75F, 300, 65520});
  const Tensor turned = tensor.transpose(std::vector<int>{1, 0});
  EXPECT_THAT(turned.cast(i32).to_vector<std::int32_t>(), ElementsAre(1, 300, -2, 65520));
  EXPECT_THAT(turned.to_vector<std::int8_t>(), ElementsAre(1, 127, -2, 127));
  EXPECT_TRUE(std::isinf(tensor.cast(f16).to_vector<float>()[3]));
  EXPECT_EQ(tensor.cast(bf16).to_vector<float>()[3], 65536);
  EXPECT_EQ(Tensor::zeros(f32, {0, 3}).cast(i8).shape(), (Shape{0, 3}));
}

TEST(Tensor, CastToTheSameTypeSharesMemory) {
  const Tensor tensor = Tensor::of<float>({2}, {1, 2});
  EXPECT_EQ(tensor.cast(f32).buffer(), tensor.buffer());
  EXPECT_NE(tensor.cast(f64).buffer(), tensor.buffer());
}

TEST(Tensor, ContiguityIgnoresWhatDoesNotMatter) {
  std::vector<float> memory(12);
  const auto contiguous = [&](Shape shape, Strides strides) {
    return Tensor(f32, std::move(shape), std::move(strides), 0, buffer_of(memory)).is_contiguous();
  };
  EXPECT_TRUE(contiguous({}, {}));
  EXPECT_TRUE(contiguous({3, 4}, {4, 1}));
  EXPECT_TRUE(contiguous({3, 1, 4}, {4, 77, 1}));
  EXPECT_TRUE(contiguous({2, 0}, {9, 9}));
  EXPECT_FALSE(contiguous({4, 3}, {1, 4}));
  EXPECT_FALSE(contiguous({3, 2}, {4, 1}));
  EXPECT_FALSE(contiguous({3}, {0}));
  EXPECT_TRUE(contiguous({1}, {0}));
}

TEST(Tensor, ContiguousCopiesOnlyWhenNeeded) {
  const Tensor tensor = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(tensor.contiguous().buffer(), tensor.buffer());
  const Tensor packed = tensor.transpose(std::vector<int>{1, 0}).contiguous();
  EXPECT_NE(packed.buffer(), tensor.buffer());
  EXPECT_TRUE(packed.is_contiguous());
  EXPECT_THAT(packed.to_vector<float>(), ElementsAre(1, 3, 2, 4));
  EXPECT_NE(tensor.clone().buffer(), tensor.buffer());
}

TEST(Tensor, CopyFromWritesThroughViews) {
  const Tensor tensor = Tensor::zeros(i32, {2, 3});
  tensor.slice(1, 2, 2, -2).copy_from(Tensor::of<std::int32_t>({2, 2}, {1, 2, 3, 4}));
  EXPECT_THAT(tensor.to_vector<std::int32_t>(), ElementsAre(2, 0, 1, 4, 0, 3));
  tensor.copy_from(Tensor::scalar<std::int32_t>(9).broadcast_to({2, 3}));
  EXPECT_THAT(tensor.to_vector<std::int32_t>(), ElementsAre(9, 9, 9, 9, 9, 9));
  EXPECT_NO_THROW(Tensor::zeros(i32, {0}).copy_from(Tensor::zeros(i32, {0})));
}

TEST(Tensor, CopyFromMayOverlap) {
  const Tensor tensor = Tensor::of<float>({5}, {0, 1, 2, 3, 4});
  tensor.copy_from(tensor.slice(0, 4, 5, -1));
  EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(4, 3, 2, 1, 0));
  tensor.slice(0, 1, 4).copy_from(tensor.slice(0, 0, 4));
  EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(4, 4, 3, 2, 1));
  tensor.copy_from(tensor);
  EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(4, 4, 3, 2, 1));
}

TEST(Tensor, CopyFromChecksItsSource) {
  const Tensor tensor = Tensor::zeros(f32, {2, 3});
  expect_error<TypeError>("cannot copy f64 elements into a tensor of f32", [&] {
    tensor.copy_from(Tensor::zeros(f64, {2, 3}));
  });
  expect_error<ShapeError>("cannot copy a tensor of shape [3, 2] into one of shape [2, 3]", [&] {
    tensor.copy_from(Tensor::zeros(f32, {3, 2}));
  });
  expect_error<InvalidArgument>("cannot copy into a broadcast view: its elements share memory",
                                [&] {
                                  Tensor::zeros(f32, {3}).broadcast_to({2, 3}).copy_from(tensor);
                                });
}

TEST(Tensor, BitEqualComparesBits) {
  const Tensor tensor = Tensor::of<float>({2}, {0, NAN});
  EXPECT_TRUE(bit_equal(tensor, tensor.clone()));
  EXPECT_FALSE(bit_equal(tensor, Tensor::of<float>({2}, {-0.0F, NAN})));
  EXPECT_FALSE(bit_equal(tensor, tensor.reshape({2, 1})));
  EXPECT_FALSE(bit_equal(Tensor::zeros(f32, {2}), Tensor::zeros(i32, {2})));
  EXPECT_TRUE(bit_equal(Tensor::zeros(f32, {0}), Tensor::zeros(f32, {0})));
  const Tensor turned = Tensor::of<float>({2, 2}, {1, 2, 3, 4}).transpose(std::vector<int>{1, 0});
  EXPECT_TRUE(bit_equal(turned, Tensor::of<float>({2, 2}, {1, 3, 2, 4})));
  EXPECT_TRUE(bit_equal(Tensor(), Tensor()));
  EXPECT_FALSE(bit_equal(Tensor(), tensor));
}

TEST(Tensor, PrintsItsFirstElements) {
  EXPECT_EQ(to_string(Tensor::of<float>({2, 2}, {1, 2.5F, -3, 4})), "f32[2, 2] {1, 2.5, -3, 4}");
  EXPECT_EQ(to_string(Tensor::of<float>({2, 2}, {1, 2, 3, 4}).transpose(std::vector<int>{1, 0}), 3),
            "f32[2, 2] {1, 3, 2, ...}");
  EXPECT_EQ(to_string(Tensor::of<float16>({1}, {float16(0.5F)})), "f16[1] {0.5}");
  EXPECT_EQ(to_string(Tensor::of<std::int8_t>({2}, {65, -1})), "i8[2] {65, -1}");
  EXPECT_EQ(to_string(Tensor::scalar(true)), "bool[] {true}");
  EXPECT_EQ(to_string(Tensor::zeros(u8, {0})), "u8[0] {}");
  EXPECT_EQ(to_string(Tensor::zeros(u8, {3}), 0), "u8[3] {...}");
  EXPECT_EQ(to_string(Tensor::zeros(u8, {3}), -1), "u8[3] {...}");
}

TEST(Tensor, ValuesOnADeviceCannotBeUsedHere) {
  const Tensor tensor = on_cuda({1});
  const Tensor host = Tensor::zeros(f32, {1});
  const char* message = "this tensor is on cuda:1; copy it to the cpu before its values are used";
  expect_error<DeviceError>(message, [&] { tensor.item<float>(); });
  expect_error<DeviceError>(message, [&] { tensor.to_vector<float>(); });
  expect_error<DeviceError>(message, [&] { tensor.clone(); });
  expect_error<DeviceError>(message, [&] { tensor.cast(f64); });
  expect_error<DeviceError>(message, [&] { tensor.copy_from(host); });
  expect_error<DeviceError>(message, [&] { host.copy_from(tensor); });
  expect_error<DeviceError>(message, [&] { bit_equal(tensor, host); });
  expect_error<DeviceError>(message, [&] { bit_equal(host, tensor); });
  expect_error<DeviceError>(message, [&] { on_cuda({4}).slice(0, 0, 2, 2).contiguous(); });
}

TEST(Tensor, HandlesOnADeviceWork) {
  const Tensor tensor = on_cuda({2, 3});
  EXPECT_EQ(tensor.device(), (Device{DeviceKind::cuda, 1}));
  EXPECT_EQ(tensor.reshape({3, 2}).raw(), tensor.raw());
  EXPECT_EQ(tensor.select(0, 1).data<float>(), tensor.data<float>() + 3);
  EXPECT_EQ(to_string(tensor), "f32[2, 3] on cuda:1");
}

}  // namespace antichain::tensor_test
