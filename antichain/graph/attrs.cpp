#include "antichain/graph/attrs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace antichain {

namespace {

constexpr std::size_t kComparedBytes =
    64;  // larger constants are equal only when they share memory

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (a.buffer() == b.buffer()) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides() &&
           a.offset() == b.offset();
  }
  return a.bytes() <= kComparedBytes && a.bytes() == b.bytes() && bit_equal(a, b);
}

std::size_t combine(std::size_t seed, std::size_t value) {
  constexpr std::size_t kGoldenRatio = 0x9E3779B97F4A7C15;
  return (seed ^ value) * kGoldenRatio + (seed >> 7);
}

struct HashValue {
  std::size_t operator()(const Ints& values) const {
    std::size_t seed = values.size();
    for (std::int64_t value : values) {
      seed = combine(seed, static_cast<std::size_t>(value));
    }
    return seed;
  }
  std::size_t operator()(const Dims& dims) const {
    std::size_t seed = dims.size();
    for (Dim dim : dims) {
      seed = combine(seed, dim.hash());
    }
    return seed;
  }
  std::size_t operator()(const Tensor& tensor) const {
    const std::size_t seed =
        combine(static_cast<std::size_t>(tensor.dtype()), (*this)(tensor.shape()));
    if (!tensor.defined() || tensor.bytes() > kComparedBytes) {
      return combine(seed, std::hash<const void*>()(tensor.buffer().get()));
    }
    const Tensor packed = tensor.contiguous();
    return combine(seed, std::hash<std::string_view>()(
                             {static_cast<const char*>(packed.raw()), packed.bytes()}));
  }
  std::size_t operator()(Dim dim) const { return dim.hash(); }
  std::size_t operator()(DType dtype) const { return static_cast<std::size_t>(dtype); }
  template <class T>
  std::size_t operator()(const T& value) const {
    return std::hash<T>()(value);
  }
};

struct EqualValue {
  bool operator()(const Tensor& a, const Tensor& b) const { return same_tensor(a, b); }
  // By bits: 0.0 and -0.0 are different attributes.
  bool operator()(double a, double b) const {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  template <class T, class U>
  bool operator()(const T&, const U&) const {
    return false;
  }
};

struct PrintValue {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(const Ints& values) const { return to_string(values); }
  std::string operator()(DType dtype) const { return std::string(name(dtype)); }
  std::string operator()(Dim dim) const { return dim.str(); }
  std::string operator()(const Dims& dims) const { return to_string(dims); }
  std::string operator()(const Tensor& tensor) const { return to_string(tensor, 4); }
  template <class T>
  std::string operator()(T value) const {
    return fmt::format("{}", value);
  }
};

}  // namespace

const std::vector<Attrs::Entry>& Attrs::entries() const {
  static const std::vector<Entry> kNone;
  return entries_ ? *entries_ : kNone;
}

std::vector<Attrs::Entry>& Attrs::own_entries() {
  if (!entries_ || entries_.use_count() > 1) {
    entries_ = std::make_shared<std::vector<Entry>>(entries());
  }
  return *entries_;
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const Entry& entry : entries()) {
    if (entry.first == name) {
      return &entry.second;
    }
  }
  return nullptr;
}

void Attrs::set(std::string_view name, AttrValue value) {
  std::vector<Entry>& entries = own_entries();
  for (Entry& entry : entries) {
    if (entry.first == name) {
      entry.second = std::move(value);
      return;
    }
  }
  entries.emplace_back(name, std::move(value));
}

bool Attrs::are_as_in(const std::vector<AttrSpec>& specs) const {
  return std::ranges::equal(entries(), specs, [](const Entry& entry, const AttrSpec& spec) {
    return entry.first == spec.name &&
           (spec.fallback.empty() || entry.second.index() == spec.fallback[0].index());
  });
}

Attrs Attrs::checked(const std::vector<AttrSpec>& specs, std::string_view op) const {
  if (are_as_in(specs)) {
    return *this;
  }
  Attrs result;
  std::vector<Entry>& entries = result.own_entries();
  entries.reserve(specs.size());
  for (const AttrSpec& spec : specs) {
    const AttrValue* given = find(spec.name);
    require(given != nullptr || !spec.fallback.empty(), "{}: attribute '{}' is missing", op,
            spec.name);
    require(!given || spec.fallback.empty() || given->index() == spec.fallback[0].index(),
            "{}: attribute '{}' has the wrong type", op, spec.name);
    entries.emplace_back(spec.name, given ? *given : spec.fallback[0]);
  }
  for (const Entry& entry : this->entries()) {
    require(result.find(entry.first) != nullptr, "{}: there is no attribute '{}'", op, entry.first);
  }
  return result;
}

Attrs Attrs::substitute(const std::unordered_map<std::uint32_t, Dim>& replacement) const {
  Attrs result = *this;
  for (Entry& entry : result.own_entries()) {
    if (auto* dim = std::get_if<Dim>(&entry.second)) {
      *dim = dim->substitute(replacement);
    } else if (auto* dims = std::get_if<Dims>(&entry.second)) {
      *dims = antichain::substitute(*dims, replacement);
    }
  }
  return result;
}

std::size_t Attrs::hash() const {
  std::size_t seed = entries().size();
  for (const Entry& entry : entries()) {
    seed = combine(seed, std::visit(HashValue{}, entry.second));
  }
  return seed;
}

bool operator==(const Attrs& a, const Attrs& b) {
  return a.entries_ == b.entries_ ||
         std::ranges::equal(
             a.entries(), b.entries(), [](const Attrs::Entry& x, const Attrs::Entry& y) {
               return x.first == y.first && std::visit(EqualValue{}, x.second, y.second);
             });
}

bool is_bound(const AttrValue& value, const DimEnv& env) {
  const Dim* dim = std::get_if<Dim>(&value);
  const Dims* dims = std::get_if<Dims>(&value);
  return (!dim || dim->is_bound(env)) && (!dims || is_bound(*dims, env));
}

std::string print_attr(const AttrValue& value) { return std::visit(PrintValue{}, value); }

}  // namespace antichain
