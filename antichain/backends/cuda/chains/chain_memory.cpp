#include "antichain/backends/cuda/chains/chain_memory.h"

#include <algorithm>
#include <limits>

namespace antichain::cuda {

namespace {

constexpr std::size_t kAfterAll = std::numeric_limits<std::size_t>::max();

bool is_whole(const ChainOperand& operand, const ChainBody& body) {
  return operand.value >= 0 && operand.first == 0 &&
         operand.columns == body.values[static_cast<std::size_t>(operand.value)].columns;
}

class MemoryFinder {
 public:
  MemoryFinder(const ChainBody& body, int states)
      : body_(body), states_(states), memory_(body.values.size()), last_read_(memory_.size()) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      memory_[i] = static_cast<int>(i);
    }
    for (std::size_t i = 0; i < body.stages.size(); ++i) {
      if (const auto* product = std::get_if<ChainProduct>(&body.stages[i])) {
        read(product->left, i);
      } else {
        for (const auto& [id, operand] : std::get<ChainElements>(body.stages[i]).operands) {
          read(operand, i);
        }
      }
    }
    for (const ChainOperand& result : body.results) {
      read(result, kAfterAll);
    }
  }

  std::vector<int> find() {
    for (std::size_t i = 0; i < body_.stages.size(); ++i) {
      if (const auto* elements = std::get_if<ChainElements>(&body_.stages[i])) {
        std::vector<int> taken;
        for (const ChainElements::Result& result : elements->results) {
          take_memory(*elements, result, i, taken);
        }
      }
    }
    return memory_;
  }

 private:
  const ChainValue& value(int index) const { return body_.values[static_cast<std::size_t>(index)]; }

  void read(const ChainOperand& operand, std::size_t stage) {
    if (operand.value >= 0) {
      std::size_t& last = last_read_[static_cast<std::size_t>(operand.value)];
      last = std::max(last, stage);
    }
  }

  void take_memory(const ChainElements& elements, const ChainElements::Result& result,
                   std::size_t stage, std::vector<int>& taken) {
    const ChainValue& written = value(result.value);
    if (written.kind != ChainValue::Kind::rows || written.columns != elements.columns) {
      return;
    }
    for (const auto source : {ChainValue::Source::state, ChainValue::Source::body}) {
      for (const auto& [id, operand] : elements.operands) {
        if (is_free(elements, operand, source, result.value, stage) &&
            std::ranges::count(taken, operand.value) == 0) {
          memory_[static_cast<std::size_t>(result.value)] =
              memory_[static_cast<std::size_t>(operand.value)];
          taken.push_back(operand.value);
          return;
        }
      }
    }
  }

  // Whether element-wise code may write a result over what it reads there.
  bool is_free(const ChainElements& elements, const ChainOperand& operand,
               ChainValue::Source source, int result, std::size_t stage) const {
    const int from = operand.value;
    if (from < 0 || !is_whole(operand, body_) || value(from).source != source) {
      return false;
    }
    const ChainValue &read = value(from), &written = value(result);
    return read.kind == written.kind && read.dtype == written.dtype &&
           read.columns == written.columns &&
           (source == ChainValue::Source::body || is_next_of(from, result)) &&
           last_read_[static_cast<std::size_t>(from)] == stage && is_read_once(elements, from);
  }

  bool is_next_of(int state, int result) const {
    const ChainOperand& next = body_.results[static_cast<std::size_t>(state)];
    return state < states_ && next.value == result && is_whole(next, body_);
  }
  // Not also as some columns of it.
  static bool is_read_once(const ChainElements& elements, int from) {
    return std::ranges::count_if(elements.operands, [from](const auto& read) {
             return read.second.value == from;
           }) == 1;
  }

  const ChainBody& body_;
  int states_;
  std::vector<int> memory_;
  std::vector<std::size_t> last_read_;  // by value: the stage; of what nobody reads the first
};

}  // namespace

std::vector<int> memory_of_values(const ChainBody& body, int states) {
  return MemoryFinder(body, states).find();
}

}  // namespace antichain::cuda
