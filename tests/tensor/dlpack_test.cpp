#include "antichain/tensor/dlpack.h"

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/tensor/expect_error.h"

namespace antichain::dlpack_test {

using testing::ElementsAre;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

// A handle as another library would make it: a packed [2, 3] of float, which counts its deletions.
struct Foreign {
  std::vector<float> memory = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<std::int64_t> shape = {2, 3}, strides = {3, 1};
  int deleted = 0;
  DLManagedTensor managed{.dl_tensor = {.data = memory.data(),
                                        .device = {kDLCPU, 0},
                                        .ndim = 2,
                                        .dtype = {.code = kDLFloat, .bits = 32, .lanes = 1},
                                        .shape = shape.data(),
                                        .strides = strides.data(),
                                        .byte_offset = 0},
                          .manager_ctx = this,
                          .deleter = [](DLManagedTensor* self) {
                            ++static_cast<Foreign*>(self->manager_ctx)->deleted;
                          }};
  DLTensor& tensor = managed.dl_tensor;
};

// Expects the error and that the handle still belongs to the caller.
template <class E, class F>
void expect_refused(std::string_view message, F&& change) {
  Foreign foreign;
  change(foreign);
  expect_error<E>(message, [&] { from_dlpack(&foreign.managed); });
  EXPECT_EQ(foreign.deleted, 0) << message;
}

TEST(ToDlpack, DescribesEveryType) {
  const auto type_of = [](DType dtype) {
    DLManagedTensor* managed = to_dlpack(Tensor::zeros(dtype, {1}));
    const DLDataType type = managed->dl_tensor.dtype;
    managed->deleter(managed);
    EXPECT_EQ(type.lanes, 1);
    return std::pair<int, int>(type.code, type.bits);
  };
  EXPECT_EQ(type_of(f32), std::pair(2, 32));
  EXPECT_EQ(type_of(f64), std::pair(2, 64));
  EXPECT_EQ(type_of(bf16), std::pair(4, 16));
  EXPECT_EQ(type_of(f16), std::pair(2, 16));
  EXPECT_EQ(type_of(i8), std::pair(0, 8));
  EXPECT_EQ(type_of(i32), std::pair(0, 32));
  EXPECT_EQ(type_of(i64), std::pair(0, 64));
  EXPECT_EQ(type_of(u8), std::pair(1, 8));
  EXPECT_EQ(type_of(boolean), std::pair(1, 8));
}

TEST(ToDlpack, SharesMemoryUntilTheDeleterIsCalled) {
  Tensor tensor = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::weak_ptr<Buffer> buffer = tensor.buffer();
  float* second_column = tensor.data<float>() + 1;
  DLManagedTensor* managed = to_dlpack(tensor.select(1, 1));
  tensor = Tensor();

  const DLTensor& view = managed->dl_tensor;
  EXPECT_EQ(view.data, second_column);
  EXPECT_EQ(view.byte_offset, 0U);
  EXPECT_EQ(view.device.device_type, kDLCPU);
  ASSERT_EQ(view.ndim, 1);
  EXPECT_EQ(view.shape[0], 2);
  EXPECT_EQ(view.strides[0], 3);
  EXPECT_FALSE(buffer.expired());
  managed->deleter(managed);
  EXPECT_TRUE(buffer.expired());
}

TEST(ToDlpack, NamesTheDevice) {
  float memory[1] = {};
  const auto buffer =
      std::make_shared<Buffer>(memory, sizeof(memory), Device{DeviceKind::cuda, 3}, nullptr);
  DLManagedTensor* managed = to_dlpack(Tensor(f32, {1}, {1}, 0, buffer));
  EXPECT_EQ(managed->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(managed->dl_tensor.device.device_id, 3);
  const Tensor back = from_dlpack(managed);
  EXPECT_EQ(back.device(), (Device{DeviceKind::cuda, 3}));
}

TEST(ToDlpack, RefusesAnUndefinedTensor) {
  expect_error<InvalidArgument>("an undefined tensor cannot be exported to DLPack",
                                [] { to_dlpack(Tensor()); });
}

TEST(FromDlpack, SharesMemoryAndDeletesOnceAtTheEnd) {
  Foreign foreign;
  Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_EQ(tensor.dtype(), f32);
  EXPECT_EQ(tensor.raw(), foreign.memory.data());
  EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  Tensor row = tensor.select(0, 1);
  tensor = Tensor();
  EXPECT_EQ(foreign.deleted, 0);
  EXPECT_THAT(row.to_vector<float>(), ElementsAre(3, 4, 5));
  row = Tensor();
  EXPECT_EQ(foreign.deleted, 1);
}

TEST(FromDlpack, TakesNullStridesAsPacked) {
  Foreign foreign;
  foreign.tensor.strides = nullptr;
  EXPECT_EQ(from_dlpack(&foreign.managed).strides(), (Strides{3, 1}));
}

TEST(FromDlpack, TakesNegativeAndZeroStridesAndOffsets) {
  Foreign foreign;
  foreign.strides = {0, -2};
  foreign.tensor.byte_offset = 5 * sizeof(float);
  const Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(5, 3, 1, 5, 3, 1));
}

TEST(FromDlpack, TakesScalarsAndEmptyTensors) {
  Foreign scalar;
  scalar.tensor.ndim = 0;
  scalar.tensor.shape = scalar.tensor.strides = nullptr;
  scalar.tensor.byte_offset = 4;
  EXPECT_EQ(from_dlpack(&scalar.managed).item<float>(), 1);
  Foreign empty;
  empty.shape = {0, 3};
  empty.tensor.data = nullptr;
  EXPECT_TRUE(from_dlpack(&empty.managed).to_vector<float>().empty());
  EXPECT_EQ(empty.deleted, 1);
}

TEST(FromDlpack, LivesWithoutADeleter) {
  Foreign foreign;
  foreign.managed.deleter = nullptr;
  EXPECT_EQ(from_dlpack(&foreign.managed).numel(), 6);
  EXPECT_EQ(foreign.deleted, 0);
}

TEST(FromDlpack, EveryTypeComesBack) {
  for (const DType dtype : kAnyDType.members()) {
    SCOPED_TRACE(name(dtype));
    const Tensor tensor = Tensor::of<double>({2, 2}, {0, 1, 1, 0}).cast(dtype);
    const Tensor back = from_dlpack(to_dlpack(tensor.transpose(std::vector<int>{1, 0})));
    EXPECT_EQ(back.dtype(), dtype == boolean ? u8 : dtype);
    EXPECT_EQ(back.strides(), (Strides{1, 2}));
    EXPECT_EQ(back.raw(), tensor.raw());
    EXPECT_THAT(back.to_vector<double>(), ElementsAre(0, 1, 1, 0));
  }
}

TEST(FromDlpack, OverlapIsSeenAcrossHandles) {
  const Tensor tensor = Tensor::of<float>({4}, {1, 2, 3, 4});
  const Tensor reversed = from_dlpack(to_dlpack(tensor.slice(0, 3, 4, -1)));
  tensor.copy_from(reversed);
  EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(4, 3, 2, 1));
}

TEST(FromDlpack, RefusesNull) {
  expect_error<InvalidArgument>("DLPack handle is null", [] { from_dlpack(nullptr); });
  expect_refused<InvalidArgument>("DLPack data is null, but the tensor has elements",
                                  [](Foreign& foreign) { foreign.tensor.data = nullptr; });
  expect_refused<ShapeError>("DLPack shape is null, but ndim is 2",
                             [](Foreign& foreign) { foreign.tensor.shape = nullptr; });
}

TEST(FromDlpack, RefusesOtherTypes) {
  expect_refused<TypeError>(
      "DLPack type code 5 with 64 bits is not supported; use float 16, 32 or 64, bfloat 16, "
      "int 8, 32 or 64, or uint 8",
      [](Foreign& foreign) {
        foreign.tensor.dtype = {kDLComplex, 64, 1};
      });
  expect_refused<TypeError>(
      "DLPack type code 0 with 16 bits is not supported; use float 16, 32 or 64, bfloat 16, "
      "int 8, 32 or 64, or uint 8",
      [](Foreign& foreign) {
        foreign.tensor.dtype = {kDLInt, 16, 1};
      });
  expect_refused<TypeError>("DLPack elements must have 1 lane, found 4",
                            [](Foreign& foreign) { foreign.tensor.dtype.lanes = 4; });
}

TEST(FromDlpack, RefusesOtherDevices) {
  expect_refused<NotSupported>("DLPack device type 8 is not supported; use CPU (1) or CUDA (2)",
                               [](Foreign& foreign) {
                                 foreign.tensor.device = {kDLMetal, 0};
                               });
  expect_refused<InvalidArgument>("DLPack device id must not be negative, found -1",
                                  [](Foreign& foreign) {
                                    foreign.tensor.device = {kDLCUDA, -1};
                                  });
}

TEST(FromDlpack, RefusesImpossibleSizes) {
  expect_refused<ShapeError>("DLPack ndim must not be negative, found -1",
                             [](Foreign& foreign) { foreign.tensor.ndim = -1; });
  expect_refused<ShapeError>("shape [-2, 3] has the negative size -2",
                             [](Foreign& foreign) { foreign.shape[0] = -2; });
  expect_refused<ShapeError>(
      "shape [9223372036854775807, 3] has more elements than 64 bits can count",
      [](Foreign& foreign) { foreign.shape[0] = kLargest; });
  expect_refused<ShapeError>(
      "shape [4611686018427387904, 1] with 4 bytes per element has more bytes than 64 bits can "
      "count",
      [](Foreign& foreign) {
        foreign.shape = {std::int64_t{1} << 62, 1};
        foreign.strides = {0, 1};
      });
  expect_refused<ShapeError>(
      "shape [2, 3] with strides [3, 9223372036854775807] reaches further than 64 bits can count",
      [](Foreign& foreign) { foreign.strides[1] = kLargest; });
}

TEST(FromDlpack, RefusesImpossibleAddresses) {
  constexpr const char* kOutside =
      "DLPack shape, strides and byte_offset reach outside the address space";
  expect_refused<InvalidArgument>("DLPack data is not aligned to its elements of 4 bytes",
                                  [](Foreign& foreign) { foreign.tensor.byte_offset = 2; });
  expect_refused<InvalidArgument>(
      kOutside, [](Foreign& foreign) { foreign.tensor.byte_offset = ~std::uint64_t{0} - 3; });
  expect_refused<InvalidArgument>(kOutside,
                                  [](Foreign& foreign) { foreign.strides[0] = kLargest / 2; });
  expect_refused<InvalidArgument>(
      kOutside, [](Foreign& foreign) { foreign.strides[0] = -(std::int64_t{1} << 60); });
}

}  // namespace antichain::dlpack_test
