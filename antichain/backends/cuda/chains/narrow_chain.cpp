#include "antichain/backends/cuda/chains/narrow_chain.h"

namespace antichain::cuda {

namespace {

using Kind = ChainValue::Kind;
using Source = ChainValue::Source;

constexpr std::int64_t kMostUnits = 32;
constexpr std::int64_t kMostWeights = 128;  // numbers of matrices that a lane keeps
constexpr std::int64_t kMostValues = 48;    // other numbers

std::string why_not_value(const ChainValue& value, std::int64_t units) {
  if (value.dtype != DType::f32) {
    return "a value is not f32";
  }
  if (value.kind == Kind::matrix || value.kind == Kind::shared) {
    return value.source == Source::captured || value.kind == Kind::shared
               ? ""
               : "a matrix differs from step to step";
  }
  return is_one_number(value.columns) || value.columns % units == 0 ? ""
                                                                    : "a value has other columns";
}

bool fits(const ChainOperand& operand, const ChainBody& body, std::int64_t columns) {
  if (operand.value < 0) {
    return true;
  }
  const std::int64_t units = narrow_units(body),
                     whole = body.values[static_cast<std::size_t>(operand.value)].columns;
  return is_one_number(operand.columns)
             ? is_one_number(whole)
             : operand.columns == columns && whole % units == 0 && operand.first % units == 0;
}

std::string why_not_stage(const ChainProduct& product, const ChainBody& body) {
  const std::int64_t units = narrow_units(body);
  const ChainValue& out = body.values[static_cast<std::size_t>(product.out)];
  const bool wide = product.left.columns % units == 0 && out.columns % units == 0 &&
                    !is_one_number(product.left.columns) && !is_one_number(out.columns);
  return wide && fits(product.left, body, product.left.columns) ? ""
                                                                : "a product has other columns";
}

std::string why_not_stage(const ChainElements& elements, const ChainBody& body) {
  const std::int64_t units = narrow_units(body);
  bool all = is_one_number(elements.columns) || elements.columns % units == 0;
  for (const auto& [id, operand] : elements.operands) {
    all = all && fits(operand, body, elements.columns);
  }
  for (const ChainElements::Result& result : elements.results) {
    const ChainValue& to = body.values[static_cast<std::size_t>(result.value)];
    all = all && to.kind == Kind::rows && result.first % units == 0 &&
          is_one_number(to.columns) == is_one_number(elements.columns);
  }
  return all ? "" : "element-wise ops cut values otherwise";
}

}  // namespace

Support narrow_chain_support(const ChainBody& body) {
  if (!body.support.yes) {
    return body.support;
  }
  if (body.has_groups) {
    return Support::no("there are groups of rows");
  }
  const std::int64_t units = narrow_units(body);
  if (units < 2 || units > kMostUnits) {
    return Support::no("a state has more units than a warp has lanes, or one");
  }
  std::int64_t numbers = 0, weights = 0;
  for (const ChainValue& value : body.values) {
    if (const std::string reason = why_not_value(value, units); !reason.empty()) {
      return Support::no(reason);
    }
    numbers += value.kind == Kind::matrix ? 0 : narrow_registers(value.columns, units);
  }
  for (const ChainStage& stage : body.stages) {
    const std::string reason =
        std::visit([&](const auto& one) { return why_not_stage(one, body); }, stage);
    if (!reason.empty()) {
      return Support::no(reason);
    }
    if (const auto* product = std::get_if<ChainProduct>(&stage)) {
      weights +=
          product->left.columns *
          narrow_registers(body.values[static_cast<std::size_t>(product->out)].columns, units);
    }
  }
  for (const ChainOperand& result : body.results) {
    if (!fits(result, body, result.columns) || result.value < 0 ||
        body.values[static_cast<std::size_t>(result.value)].kind != Kind::rows) {
      return Support::no("a result is cut otherwise");
    }
  }
  return weights <= kMostWeights && numbers <= kMostValues
             ? Support{}
             : Support::no("its values do not fit into registers");
}

}  // namespace antichain::cuda
