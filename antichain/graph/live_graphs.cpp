#include "antichain/graph/live_graphs.h"

#include "antichain/base/error.h"

namespace antichain {

LiveGraphs::Number LiveGraphs::add() {
  static std::atomic<Number> last{0};
  for (std::size_t tries = 0; tries < kMost; ++tries) {
    const Number number = last.fetch_add(1, std::memory_order_relaxed) + 1;
    Number free = 0;  // numbers of graphs that live are passed over when they come round again
    if (number != 0 && at(number).compare_exchange_strong(free, number)) {
      return number;
    }
  }
  fail<InvalidArgument>("there are {} graphs already, which is the most that may live", kMost);
}

}  // namespace antichain
