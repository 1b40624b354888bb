#include "benchmarks/op_case.h"

#include <random>

namespace antichain::bench {

namespace {

std::string input_name(std::size_t index) { return "in" + std::to_string(index); }

Executable compile(Session& session, Graph& graph, const std::vector<CaseInput>& inputs,
                   const OpCase::Build& build) {
  std::vector<Var> vars;
  for (const CaseInput& input : inputs) {
    const std::vector<DimSpec> shape(input.shape.begin(), input.shape.end());
    vars.push_back(graph.input(input_name(vars.size()), input.dtype, shape));
  }
  return session.compile({build(graph, vars)});
}

Feeds make_feeds(const std::vector<CaseInput>& inputs) {
  Feeds feeds;
  for (const CaseInput& input : inputs) {
    feeds[input_name(feeds.size())] = numbers(input.dtype, input.shape);
  }
  return feeds;
}

}  // namespace

Tensor numbers(DType dtype, const Shape& shape) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> draw(is_float(dtype) ? -1.0F : 0.0F, 2.0F);
  Tensor result = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const float value = draw(random);
    result.data<float>()[i] = value > 1 && is_float(dtype) ? value - 1 : value;
  }
  return result.cast(dtype);
}

OpCase::OpCase(const std::vector<CaseInput>& inputs, const Build& build)
    : feeds_(make_feeds(inputs)), executable_(compile(session_, graph_, inputs, build)) {
  run();
}

const Tensor& OpCase::input(std::size_t index) const {
  return feeds_.find(input_name(index))->second;
}

double OpCase::bytes() const {
  auto bytes = static_cast<double>(result().bytes());
  for (const auto& feed : feeds_) {
    bytes += static_cast<double>(feed.second.bytes());
  }
  return bytes;
}

}  // namespace antichain::bench
