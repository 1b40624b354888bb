#include "antichain/backends/cuda/chains/sum_starts.h"

#include <algorithm>

#include "antichain/ops/elementwise/elementwise.h"

namespace antichain::cuda {

namespace {

using Source = ChainValue::Source;

bool overlap(const ChainOperand& a, const ChainOperand& b) {
  return a.value == b.value && a.first < b.first + b.columns && b.first < a.first + a.columns;
}

// How many reads there are of some columns of a value, in all of the body.
std::ptrdiff_t count_readers(const ChainBody& body, const ChainOperand& columns) {
  std::ptrdiff_t count = std::ranges::count_if(
      body.results, [&](const ChainOperand& result) { return overlap(result, columns); });
  for (const ChainStage& stage : body.stages) {
    if (const auto* product = std::get_if<ChainProduct>(&stage)) {
      count += overlap(product->left, columns) ? 1 : 0;
    } else {
      count +=
          std::ranges::count_if(std::get<ChainElements>(stage).operands,
                                [&](const auto& read) { return overlap(read.second, columns); });
    }
  }
  return count;
}

std::ptrdiff_t count_readers(const ChainElements& elements, VarId id) {
  std::ptrdiff_t count = std::ranges::count(elements.results, id, &ChainElements::Result::from);
  for (Op op : elements.ops) {
    for (Var input : op.inputs()) {
      count += input.id() == id ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

SumStarts::SumStarts(const ChainBody& body, std::int64_t units) {
  std::set<int> products;
  for (const ChainStage& stage : body.stages) {
    if (const auto* product = std::get_if<ChainProduct>(&stage)) {
      products.insert(product->out);
      continue;
    }
    const auto& elements = std::get<ChainElements>(stage);
    const auto operand_of = [&](Var value) -> const ChainOperand* {
      const auto found = std::ranges::find(elements.operands, value.id(),
                                           [](const auto& read) { return read.first; });
      return found == elements.operands.end() || found->second.value < 0 ? nullptr : &found->second;
    };
    for (Op op : elements.ops) {
      if (&op.def() != &add_def() || op.input(0) == op.input(1)) {
        continue;
      }
      for (const int side : {0, 1}) {
        const ChainOperand *sum = operand_of(op.input(side)),
                           *other = operand_of(op.input(1 - side));
        const bool starts =
            sum != nullptr && other != nullptr && products.contains(sum->value) &&
            body.values[static_cast<std::size_t>(other->value)].source != Source::body &&
            sum->columns == other->columns && sum->columns % units == 0 &&
            sum->first % units == 0 && count_readers(body, *sum) == 1 &&
            count_readers(elements, op.input(side).id()) == 1;
        if (starts) {
          for (std::int64_t run = 0; run < sum->columns / units; ++run) {
            starts_.emplace(std::pair(sum->value, sum->first / units + run), Start{*other, run});
          }
          done_.emplace(op.id(), side);
          break;
        }
      }
    }
  }
}

const SumStarts::Start* SumStarts::of(int product_value, std::int64_t run) const {
  const auto found = starts_.find({product_value, run});
  return found == starts_.end() ? nullptr : &found->second;
}

int SumStarts::result_of(Op addition) const {
  const auto found = done_.find(addition.id());
  return found == done_.end() ? -1 : found->second;
}

}  // namespace antichain::cuda
