#include "tests/conformance/sample_case.h"

#include <random>

namespace antichain::conformance {

namespace {

std::string input_name(std::size_t index) { return "in" + std::to_string(index); }

// Sizes of 1 stay constants: they broadcast, and a symbol does not.
std::vector<DimSpec> declared_shape(const Tensor& value, std::size_t input, Sizes sizes) {
  std::vector<DimSpec> shape;
  for (std::size_t axis = 0; axis < value.shape().size(); ++axis) {
    const std::int64_t size = value.shape()[axis];
    if (sizes == Sizes::symbolic && size != 1) {
      shape.emplace_back("d" + std::to_string(input) + "_" + std::to_string(axis));
    } else {
      shape.emplace_back(size);
    }
  }
  return shape;
}

}  // namespace

std::vector<Tensor> make_inputs(const Sample& sample, DType dtype) {
  std::mt19937_64 generator(std::hash<std::string>()(sample.label) ^ sample.inputs.size());
  std::vector<Tensor> values;
  for (const SampleInput& input : sample.inputs) {
    const DType type = input.dtype.value_or(dtype);
    if (!input.values.empty()) {
      values.push_back(Tensor::of<std::int64_t>(input.shape, input.values).cast(type));
      continue;
    }
    // Unsigned types cannot hold the negative part of a range.
    const bool negative_allowed = type != u8 && type != boolean;
    const double low = negative_allowed ? input.low : std::max(input.low, 0.0);
    std::uniform_real_distribution<double> draw(low, std::max(input.high, low + 1e-3));
    std::vector<double> elements(static_cast<std::size_t>(numel(input.shape)));
    for (double& element : elements) {
      element = draw(generator);
      element = is_float(type) ? element : std::floor(element);
    }
    values.push_back(Tensor::of<double>(input.shape, elements).cast(type));
  }
  return values;
}

SampleCase::SampleCase(const Sample& sample, DType dtype, Sizes sizes)
    : graph_(new Graph(session_.graph())), values_(make_inputs(sample, dtype)) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    inputs_.push_back(graph_->input(
        input_name(i), values_[i].dtype(),
        declared_shape(values_[i], i, sample.inputs[i].fixed_size ? Sizes::constant : sizes)));
  }
  outputs_ = sample.build(*graph_, inputs_);
}

Var SampleCase::add_input(const std::string& name, const Tensor& value) {
  values_.push_back(value);
  const Var input = graph_->input(name, value.dtype(),
                                  declared_shape(value, values_.size() - 1, Sizes::constant));
  inputs_.push_back(input);
  return input;
}

Feeds SampleCase::feeds() const {
  Feeds feeds;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    feeds[inputs_[i].name()] = values_[i];
  }
  return feeds;
}

Feeds SampleCase::feeds(std::size_t changed, const Tensor& value) const {
  Feeds result = feeds();
  result[inputs_[changed].name()] = value;
  return result;
}

std::vector<Tensor> SampleCase::evaluate(const std::vector<Var>& values, int level) {
  Executable executable = session_.compile(values, {.compiler = {.level = level}});
  executable.set_print_line([](std::string_view) {});
  return executable(feeds()).tensors();
}

std::vector<DType> dtypes_of(const OpDef& def, const Sample& sample) {
  for (const SampleInput& input : sample.inputs) {
    if (!input.dtype) {
      return def.dtypes.members();
    }
  }
  return {f64};
}

}  // namespace antichain::conformance
