// Files and bytes for the tests of readers.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "antichain/data/byte_source.h"
#include "tests/base/temporary_folder.h"

namespace antichain::data {

/// Returns everything that a source gives.
std::string read_all(ByteSource& source);
/// Opens text in memory; it is called "file" and must outlive the source.
std::unique_ptr<ByteSource> open_text(std::string_view text);

#ifdef ANTICHAIN_HAS_ZLIB
std::string gzip(std::string_view content);
#endif
#ifdef ANTICHAIN_HAS_LZMA
std::string xz(std::string_view content);
#endif

/// Returns an IDX file of that element type and shape.
std::string idx_file(int type, std::initializer_list<int> shape, std::string_view elements);
/// Returns a .npy file; `shape` as Python writes it.
std::string npy_file(std::string_view descr, std::string_view shape, std::string_view elements,
                     bool fortran_order = false, int version = 1);
/// Returns a tar archive with these files.
std::string tar_file(std::initializer_list<std::pair<std::string_view, std::string_view>> files);
/// Returns the bytes of values, as they lie in memory.
template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

/// Sets an environment variable, or unsets it, and restores it in the end.
class WithVariable {
 public:
  WithVariable(const char* name, const char* value);
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;
  ~WithVariable();

 private:
  void set(const char* value) const;

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace antichain::data
