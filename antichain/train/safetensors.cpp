#include "antichain/train/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <compare>
#include <fstream>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/base/out_of_memory.h"
#include "antichain/base/output_file.h"
#include "antichain/train/json_file.h"

namespace antichain {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

namespace {

using OrderedJson = nlohmann::ordered_json;
using Json = nlohmann::json;

constexpr std::array<std::pair<DType, std::string_view>, kNumDTypes> kNames = {{{f32, "F32"},
                                                                                {f64, "F64"},
                                                                                {bf16, "BF16"},
                                                                                {f16, "F16"},
                                                                                {i8, "I8"},
                                                                                {i32, "I32"},
                                                                                {i64, "I64"},
                                                                                {u8, "U8"},
                                                                                {boolean, "BOOL"}}};
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kLengthBytes = 8, kAlignment = 8;
constexpr const char* kIsNoFile = "is not a good safetensors file";
// The length is the format's own limit; names, then type, shape and place, then sizes.
constexpr JsonLimits kLimits = {.bytes = 100'000'000, .depth = 3};

std::string_view file_name(DType dtype) {
  for (const auto& [known, name] : kNames) {
    if (known == dtype) {
      return name;
    }
  }
  fail<InternalError>("safetensors: no name for {}", name(dtype));
}

std::optional<DType> dtype_called(std::string_view name) {
  for (const auto& [dtype, known] : kNames) {
    if (known == name) {
      return dtype;
    }
  }
  return std::nullopt;
}

std::string header_of(const Safetensors& contents) {
  OrderedJson header = OrderedJson::object();
  if (!contents.metadata.empty()) {
    header[std::string(kMetadata)] = contents.metadata;
  }
  std::size_t offset = 0;
  for (const auto& [name, tensor] : contents.tensors) {
    require(name != kMetadata, "a tensor cannot be called '{}' in a safetensors file", name);
    header[name] = {{"dtype", file_name(tensor.dtype())},
                    {"shape", tensor.shape()},
                    {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

// A file being read, with the sentence about what is wrong with it.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path.string()) {
    const auto kind = std::filesystem::status(path);
    if (std::filesystem::is_directory(kind)) {
      fail_on_file("read", path, EISDIR);
    }
    require<DataError>(std::filesystem::is_regular_file(kind) || !std::filesystem::exists(kind),
                       "cannot read '{}': it is no regular file", path_);
    errno = 0;
    stream_.open(path, std::ios::binary);
    if (!stream_.good()) {
      fail_on_file("read", path, errno);
    }
    size_ = std::filesystem::file_size(path);
  }

  template <class... Args>
  void demand(bool condition, fmt::format_string<Args...> what, Args&&... args) const {
    require<DataError>(condition, "'{}' {}: {}", path_, kIsNoFile,
                       condition ? "" : fmt::format(what, std::forward<Args>(args)...));
  }

  void read(void* to, std::size_t bytes) {
    errno = 0;
    stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
    if (stream_.bad()) {  // otherwise it ends too early
      fail_on_file("read", path_, errno == 0 ? EIO : errno);
    }
    demand(stream_.good() || bytes == 0, "it ends too early");
  }
  std::uintmax_t size() const { return size_; }

  Json header() {
    std::uint64_t length = 0;
    demand(size_ >= kLengthBytes, "it has {} bytes", size_);
    read(&length, kLengthBytes);
    demand(length <= size_ - kLengthBytes, "its header of {} bytes does not fit into its {} bytes",
           length, size_);
    demand(length <= kLimits.bytes, "its header has {} bytes; at most {} are read", length,
           kLimits.bytes);
    std::string text(length, '\0');
    read(text.data(), length);
    demand(text.starts_with('{'), "its header is not a JSON object");
    Json header = parse_json(text, path_, kIsNoFile, kLimits);
    data_bytes_ = size_ - kLengthBytes - length;
    return header;
  }

  Tensor tensor(const std::string& name, const Json& entry) {
    demand(entry.is_object() && entry.contains("dtype") && entry["dtype"].is_string() &&
               entry.contains("shape") && entry["shape"].is_array() &&
               entry.contains("data_offsets") && entry["data_offsets"].is_array(),
           "the entry of '{}' lacks dtype, shape or data_offsets", name);
    const std::optional<DType> dtype = dtype_called(entry["dtype"].get_ref<const std::string&>());
    demand(dtype.has_value(), "'{}' has the unknown type {}", name, entry["dtype"].dump());
    const auto [begin, end] = offsets(name, entry["data_offsets"]);
    const Shape shape = shape_of(name, entry["shape"], (end - begin) / size_of(*dtype));
    demand(static_cast<std::uint64_t>(numel(shape)) * size_of(*dtype) == end - begin,
           "'{}' has {} bytes, which does not fit its type and shape", name, end - begin);
    Tensor result = Tensor::empty(*dtype, shape);
    stream_.seekg(static_cast<std::streamoff>(size_ - data_bytes_ + begin));
    read(result.raw(), end - begin);
    if (dtype == boolean) {
      const auto* const bytes = static_cast<const std::uint8_t*>(result.raw());
      demand(std::all_of(bytes, bytes + (end - begin), [](std::uint8_t b) { return b <= 1; }),
             "'{}' holds bools that are neither 0 nor 1", name);
    }
    return result;
  }

  // Every byte belongs to one tensor, as the format demands.
  void check_cover() {
    std::ranges::sort(taken_);
    std::uint64_t end = 0;
    for (const Part& part : taken_) {
      demand(part.begin >= end, "'{}' overlaps another tensor", part.name);
      demand(part.begin == end, "there are bytes of no tensor before '{}'", part.name);
      end = part.end;
    }
    demand(end == data_bytes_, "there are bytes of no tensor at its end");
  }

 private:
  std::pair<std::uint64_t, std::uint64_t> offsets(const std::string& name, const Json& pair) {
    demand(pair.size() == 2 && pair[0].is_number_unsigned() && pair[1].is_number_unsigned(),
           "the data_offsets of '{}' are not two numbers", name);
    const auto begin = pair[0].get<std::uint64_t>(), end = pair[1].get<std::uint64_t>();
    demand(begin <= end && end <= data_bytes_, "'{}' lies outside of the file", name);
    // Checked here, too, so that what is allocated never exceeds the file.
    demand(end - begin <= data_bytes_ - taken_bytes_, "'{}' overlaps another tensor", name);
    taken_bytes_ += end - begin;
    if (end > begin) {
      taken_.push_back({begin, end, name});
    }
    return {begin, end};
  }

  Shape shape_of(const std::string& name, const Json& sizes, std::uint64_t most) const {
    Shape shape;
    // Of all sizes but zeros, so that the strides of an empty tensor stay small too.
    std::uint64_t elements = 1;
    constexpr std::uint64_t kMostOfNothing = std::uint64_t{1} << 40;
    const std::uint64_t limit = most > 0 ? most : kMostOfNothing;
    for (const Json& size : sizes) {
      demand(size.is_number_unsigned(), "the shape of '{}' is not a list of sizes", name);
      const auto value = size.get<std::uint64_t>();
      demand(value == 0 || elements <= limit / value, "the shape of '{}' exceeds its bytes", name);
      elements *= value == 0 ? 1 : value;
      shape.push_back(static_cast<std::int64_t>(value));
    }
    return shape;
  }

  struct Part {
    std::uint64_t begin, end;
    std::string name;
    auto operator<=>(const Part&) const = default;
  };

  std::string path_;
  std::ifstream stream_;
  std::uintmax_t size_ = 0, data_bytes_ = 0, taken_bytes_ = 0;
  std::vector<Part> taken_;
};

Safetensors read_all(const std::filesystem::path& path) {
  Reader reader(path);
  Safetensors result;
  const Json header = reader.header();
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      reader.demand(entry.is_object(), "its metadata is not an object");
      for (const auto& [key, value] : entry.items()) {
        reader.demand(value.is_string(), "its metadata '{}' is not a text", key);
        result.metadata[key] = value.get<std::string>();
      }
    } else {
      result.tensors.emplace(name, reader.tensor(name, entry));
    }
  }
  reader.check_cover();
  return result;
}

}  // namespace

void save_safetensors(const std::filesystem::path& path, const Safetensors& contents) {
  const std::string header = header_of(contents);
  const std::uint64_t length = header.size();
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const auto& [name, tensor] : contents.tensors) {
    const Tensor packed = tensor.contiguous();
    file.write({static_cast<const std::byte*>(packed.raw()), packed.bytes()});
  }
  file.commit();
}

Safetensors load_safetensors(const std::filesystem::path& path) {
  try {
    return read_all(path);
  } catch (const std::filesystem::filesystem_error& error) {
    fail_on_file("read", error);
  } catch (const OutOfMemory& error) {
    fail<MachineError>("cannot read '{}': {}", path.string(), error.what());
  } catch (const std::bad_alloc&) {
    fail<MachineError>("cannot read '{}': out of memory", path.string());
  }
}

}  // namespace antichain
