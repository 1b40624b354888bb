// Attributes: what an op is configured with, beside its inputs. Part of an op's identity.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/graph/dim.h"
#include "antichain/tensor/tensor.h"

namespace antichain {

using Ints = std::vector<std::int64_t>;
using AttrValue =
    std::variant<bool, std::int64_t, double, std::string, Ints, DType, Dim, Dims, Tensor>;

/// Describes one attribute in an op's definition; `fallback` is its value when not given.
struct AttrSpec {
  std::string name;
  std::string doc;
  std::vector<AttrValue> fallback = {};  // empty: the attribute must be given
};

/// Holds attributes by name, in the order of the definition once checked. Copies share them until
/// one of them is changed: an op and its copies in other graphs have the same.
class Attrs {
 public:
  using Entry = std::pair<std::string, AttrValue>;

  Attrs() = default;
  Attrs(std::initializer_list<Entry> entries)
      : entries_(std::make_shared<std::vector<Entry>>(entries)) {}

  /// Returns the attribute; throws InternalError when it is absent or of another type.
  template <class T>
  const T& get(std::string_view name) const {
    const AttrValue* value = find(name);
    ensure(value != nullptr && std::holds_alternative<T>(*value),
           "attribute '{}' is absent or of another type", name);
    return std::get<T>(*value);
  }
  const AttrValue* find(std::string_view name) const;
  void set(std::string_view name, AttrValue value);
  const std::vector<Entry>& entries() const;

  /// Returns these in the order of `specs`, fallbacks filled in; throws InvalidArgument naming `op`
  /// on an attribute that is unknown, missing or of another type than its fallback.
  Attrs checked(const std::vector<AttrSpec>& specs, std::string_view op) const;
  /// Replaces symbols in every dim.
  Attrs substitute(const std::unordered_map<std::uint32_t, Dim>& replacement) const;

  std::size_t hash() const;
  friend bool operator==(const Attrs& a, const Attrs& b);

 private:
  bool are_as_in(const std::vector<AttrSpec>& specs) const;
  std::vector<Entry>& own_entries();

  std::shared_ptr<std::vector<Entry>> entries_;  // none: there are none
};

/// Returns whether every symbol in it has a value.
bool is_bound(const AttrValue& value, const DimEnv& env);

std::string print_attr(const AttrValue& value);

}  // namespace antichain

template <>
struct std::hash<antichain::Attrs> {
  std::size_t operator()(const antichain::Attrs& attrs) const { return attrs.hash(); }
};
