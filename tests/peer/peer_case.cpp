#include "tests/peer/peer_case.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "tests/build_paths.h"

namespace antichain::peer {

namespace {

using Json = nlohmann::json;

// The file has 12 significant digits; a sum of a few hundred products in another order loses three.
constexpr double kRelative = 1e-9;
// Of the largest element: what cancellation leaves of an element that is small beside the others.
constexpr double kOfLargest = 1e-13;
// Of derivatives, where all elements may cancel: the gradient of a softmax that is summed up.
constexpr double kAbsolute = 1e-14;

double parse_number(const Json& value) {
  if (!value.is_string()) {
    return value.is_boolean() ? static_cast<double>(value.get<bool>()) : value.get<double>();
  }
  const std::string text = value;
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "nan" ? std::nan("") : text == "inf" ? infinity : -infinity;
}

Tensor parse_tensor(const Json& json) {
  const Shape shape = json.at("shape");
  const DType dtype = parse_dtype(json.at("dtype").get<std::string>());
  std::vector<double> values;
  if (json.contains("fill")) {
    values.assign(static_cast<std::size_t>(numel(shape)), parse_number(json.at("fill")));
  } else {
    for (const Json& value : json.at("values")) {
      values.push_back(parse_number(value));
    }
  }
  return Tensor::of(shape, values).cast(dtype);
}

std::vector<Tensor> parse_tensors(const Json& parent, const char* name) {
  std::vector<Tensor> result;
  for (const Json& json : parent.value(name, Json::array())) {
    result.push_back(parse_tensor(json));
  }
  return result;
}

std::vector<Case> read_cases() {
  const std::filesystem::path path = source_folder() / "tests/peer/values.json";
  std::ifstream file(path);
  require<DataError>(file.good(), "cannot read {}", path.string());
  const Json document = Json::parse(file);
  std::vector<Case> result;
  for (const Json& json : document.at("cases")) {
    result.push_back({.op = json.at("op"),
                      .label = json.at("label"),
                      .attributes = json.value("attributes", Json::object()),
                      .inputs = parse_tensors(json, "inputs"),
                      .outputs = parse_tensors(json, "outputs"),
                      .grads = parse_tensors(json, "grads"),
                      .second = parse_tensors(json, "second")});
  }
  return result;
}

double largest_finite(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) {
    result = std::isfinite(value) ? std::max(result, std::abs(value)) : result;
  }
  return result;
}

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = read_cases();
  return cases;
}

Tensor weights(const Shape& shape, std::int64_t number) {
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto position = static_cast<std::int64_t>(i);
    values[i] = static_cast<double>((37 * position + 13 * number) % 101 - 50) / 32;
  }
  return Tensor::of(shape, values);
}

std::string difference(const Tensor& ours, const Tensor& theirs, bool may_cancel) {
  if (ours.dtype() != theirs.dtype() || ours.shape() != theirs.shape()) {
    return fmt::format("is {}{}, PyTorch's {}{}", name(ours.dtype()), to_string(ours.shape()),
                       name(theirs.dtype()), to_string(theirs.shape()));
  }
  const auto a = ours.to_vector<double>(), b = theirs.to_vector<double>();
  const double floor = kOfLargest * largest_finite(b) + (may_cancel ? kAbsolute : 0);
  std::size_t worst = 0;
  double worst_excess = 0;  // error / tolerance
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    double excess = same ? 0 : std::abs(a[i] - b[i]) / (kRelative * std::abs(b[i]) + floor);
    if (std::isnan(excess)) {
      excess = std::numeric_limits<double>::infinity();
    }
    if (excess > worst_excess) {
      worst = i;
      worst_excess = excess;
    }
  }
  return worst_excess <= 1 ? ""
                           : fmt::format("element {} of {} is {:.12g}, PyTorch's {:.12g}", worst,
                                         to_string(ours.shape()), a[worst], b[worst]);
}

}  // namespace antichain::peer
