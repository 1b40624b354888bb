#include "antichain/backends/cpu/convolution/channel_columns.h"

#include <algorithm>

#include "antichain/backends/cpu/threads/partial_sums.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kChannelTask = 1 << 15;  // elements
constexpr std::int64_t kTaskColumns = 1 << 10;

Cut in_parts(std::int64_t size, std::int64_t longest) {
  return {size, (size + longest - 1) / longest};
}

}  // namespace

ChannelColumns::ChannelColumns(std::int64_t rows, std::int64_t channels, std::size_t element_bytes)
    : rows_(in_parts(rows, kChannelTask / std::min(channels, kTaskColumns))),
      columns_(in_parts(channels, kTaskColumns)),
      element_bytes_(static_cast<std::int64_t>(element_bytes)),
      partial_(static_cast<std::size_t>(2 * rows_.parts() * channels)) {}

void ChannelColumns::sum(const NormGradientLoops& loops, const void* g, const void* x,
                         const double* shifts, double* sums) {
  for_each_task([&](const ColumnTask& task) {
    double* const grads = partial_.data() + 2 * task.part * channels() + task.first;
    double* const products = grads + channels();
    std::fill_n(grads, task.count, 0.0);
    std::fill_n(products, task.count, 0.0);
    loops.sum_columns(static_cast<const std::byte*>(g) + task.offset,
                      static_cast<const std::byte*>(x) + task.offset, task.rows, channels(),
                      task.count, shifts + task.first, grads, products);
  });
  add_partial_sums(partial_.data(), rows_.parts(), 2 * channels(), sums);
}

}  // namespace antichain::cpu
