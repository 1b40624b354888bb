// Formats: github.com/tensorflow/tensorflow, core/lib/io/record_writer.h (records) and
// core/util/event.proto, core/framework/summary.proto (field numbers below).
#include "antichain/train/event_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "antichain/base/file_error.h"

namespace antichain {

namespace {

constexpr std::string_view kEventPrefix = "events.out.tfevents.";

// CRC-32C (Castagnoli), bit by bit: records are short.
std::uint32_t crc32c(std::string_view bytes) {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    }
  }
  return ~crc;
}

// Records hold "masked" sums, so that a sum over bytes that hold sums stays sound.
std::uint32_t masked_crc(std::string_view bytes) {
  constexpr std::uint32_t kDelta = 0xA282EAD8;
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + kDelta;
}

template <class T>
std::string raw_bytes(T value) {
  std::string text(sizeof(T), '\0');
  std::memcpy(text.data(), &value, sizeof(T));
  return text;
}

// Protocol buffers, as far as events need them: a field is its number and kind, then its value.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) {
    text += static_cast<char>(value | 0x80);
  }
  return text + static_cast<char>(value);
}

std::string field(std::uint64_t number, Wire wire, const std::string& value) {
  const std::string key = varint((number << 3) | static_cast<std::uint64_t>(wire));
  return wire == Wire::bytes ? key + varint(value.size()) + value : key + value;
}

std::string event(double time, std::int64_t step, const std::string& what) {
  const std::string number =  // 0 is what a reader takes when there is none
      step == 0 ? "" : field(2, Wire::varint, varint(static_cast<std::uint64_t>(step)));
  return field(1, Wire::fixed64, raw_bytes(time)) + number + what;
}

std::string scalar_summary(std::string_view tag, double value) {
  const std::string entry = field(1, Wire::bytes, std::string(tag)) +
                            field(2, Wire::fixed32, raw_bytes(static_cast<float>(value)));
  return field(5, Wire::bytes, field(1, Wire::bytes, entry));
}

void remove_older(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(kEventPrefix)) {
      std::filesystem::remove(entry.path());
    }
  }
}

}  // namespace

double time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

EventFile::EventFile(const std::filesystem::path& folder, const History& history) {
  try {
    std::filesystem::create_directories(folder);
    remove_older(folder);
  } catch (const std::filesystem::filesystem_error& error) {
    fail_on_file("write", error);
  }
  const double now = time_now();
  path_ = (folder / fmt::format("{}{:.0f}.antichain", kEventPrefix, now)).string();
  file_ = std::fopen(path_.c_str(), "wbxe");  // x: nothing that is there is written into
  if (file_ == nullptr) {
    fail_on_file("write", path_, errno);
  }
  write_record(event(now, 0, field(3, Wire::bytes, "brain.Event:2")));
  for (const auto& [name, curve] : history) {
    for (const CurvePoint& point : curve) {
      add(name, point);
    }
  }
}

EventFile::~EventFile() {
  if (file_ != nullptr) {
    std::fclose(file_);
  }
}

void EventFile::add(std::string_view curve, const CurvePoint& point) {
  write_record(event(point.time, point.step, scalar_summary(curve, point.value)));
}

void EventFile::write_record(const std::string& event) {
  const std::string length = raw_bytes<std::uint64_t>(event.size());
  const std::string record =
      length + raw_bytes(masked_crc(length)) + event + raw_bytes(masked_crc(event));
  const bool is_written = std::fwrite(record.data(), 1, record.size(), file_) == record.size() &&
                          std::fflush(file_) == 0;
  if (!is_written) {
    fail_on_file("write", path_, errno);
  }
}

}  // namespace antichain
