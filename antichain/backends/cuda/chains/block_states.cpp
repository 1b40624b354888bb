#include "antichain/backends/cuda/chains/block_states.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/backends/cuda/chains/narrow_chain.h"

namespace antichain::cuda {

namespace {

bool is_same(const ChainOperand& a, const ChainOperand& b) {
  return a.value == b.value && a.first == b.first && a.columns == b.columns;
}

}  // namespace

BlockStates::BlockStates(Op chain, const ChainBody& body, bool is_wanted)
    : chain_(chain), layout_(chain), body_(body), is_reversed_(chain.attrs().get<bool>("reverse")) {
  const std::int64_t units = narrow_units(body);
  for (std::size_t i = 0; is_wanted && i < body.stages.size(); ++i) {
    const auto* const product = std::get_if<ChainProduct>(&body.stages[i]);
    if (product == nullptr || product->left.columns != units) {
      continue;
    }
    const ChainValue& left = body.values[static_cast<std::size_t>(product->left.value)];
    if (left.source == ChainValue::Source::state && left.columns == units) {
      kept_.try_emplace(product->left.value, i);
    }
  }
}

bool BlockStates::is_kept(std::size_t stage) const {
  return std::ranges::any_of(kept_, [stage](const auto& kept) { return kept.second == stage; });
}

int BlockStates::before(int output) const {
  const int state = output - layout_.first_before();
  return state >= 0 && state < layout_.states && kept_.contains(state) ? state : -1;
}

int BlockStates::after(int output) const {
  const int y = output - layout_.first_y();
  for (const auto& [state, stage] : kept_) {
    if (y >= 0 && y < layout_.ys &&
        is_same(body_.results[static_cast<std::size_t>(state)],
                body_.results[static_cast<std::size_t>(layout_.states + y)])) {
      return state;
    }
  }
  return -1;
}

std::string BlockStates::stores() const {
  std::string declared, stored;
  for (const auto& [state, stage] : kept_) {
    std::string places, lags;
    int outputs = 0;
    for (int i = layout_.states; i < chain_.num_outputs(); ++i) {
      if (before(i) == state || after(i) == state) {
        const std::string_view separator = outputs++ > 0 ? ", " : "";
        places += fmt::format("{}first_row(a.out[{}])", separator, i);
        lags += fmt::format("{}{}", separator, after(i) == state);
      }
    }
    declared +=
        fmt::format("  StepStores<kUnits, {0}> k{1}({{{2}}}, {{{3}}}, {4}a.rows * kUnits);\n",
                    outputs, state, places, lags, is_reversed_ ? "-" : "");
    stored += fmt::format("    k{}.store(&m{}[from * kBlockSteps * 8].rows[0], is_first, steps);\n",
                          state, stage);
  }
  return fmt::format(
      "  long long done = 0;\n  int half = 0;\n"
      "  const auto first_row = [&](void* output) {{\n    return output == nullptr ? nullptr : "
      "(float*)output + (first * a.rows + row) * kUnits;\n  }};\n{}"
      "  const auto store_kept = [&](int from, bool is_first, int steps) {{\n{}  }};\n"
      "  const auto store_block = [&] {{ store_kept(1 - half, done == kBlockSteps, kBlockSteps); "
      "}};\n",
      declared, stored);
}

std::string BlockStates::store_last() const {
  std::string text;
  for (int i = layout_.first_y(); i < layout_.first_y() + layout_.ys; ++i) {
    if (const int state = after(i); state >= 0) {
      text += fmt::format(
          "  if (owns && a.out[{0}] != nullptr && a.length > 0) {{\n"
          "    ((float*)a.out[{0}])[({1} * a.rows + row) * kUnits + unit] = v{2}_0;\n  }}\n",
          i, is_reversed_ ? "0" : "(a.length - 1)", state);
    }
  }
  return text;
}

}  // namespace antichain::cuda
