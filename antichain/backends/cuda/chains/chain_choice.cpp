#include "antichain/backends/cuda/chains/chain_choice.h"

#include <algorithm>
#include <optional>

#include "antichain/backends/cuda/chains/chain_slabs.h"
#include "antichain/backends/cuda/chains/narrow_chain.h"
#include "antichain/backends/cuda/core/grid_sizes.h"

namespace antichain::cuda {

namespace {

constexpr int kChainThreads = 256;
constexpr int kMostRows = 4;  // that share what a thread reads of a matrix
constexpr int kFewestBuffers = 2, kMostBuffers = 4;
constexpr int kFewestSlabs = 2, kMostSlabs = 4;
constexpr int kMostTallRows = 64, kMostTallThreads = 512;
constexpr double kBlocksWanted = 1.5;  // per multiprocessor, before a block takes more rows
constexpr double kFewestBlocks = 0.4, kMostBlocksEach = 6;  // likewise, of what may be faster
// Of a matrix that a block may read in every step for a few rows: one of 256 x 256.
constexpr std::size_t kMostPassingBytes = 300'000;
// Elements of a matrix from which on products of small floats by tensor cores, group by group, are
// faster than all steps in one kernel without them.
constexpr std::int64_t kTensorCoresPay = 128 * 128;

std::size_t largest_matrix(const ChainBody& body) {
  std::size_t bytes = 0;
  for (const ChainValue& value : body.values) {
    if (value.kind == ChainValue::Kind::matrix) {
      const auto elements = static_cast<std::size_t>(value.height * value.columns);
      bytes = std::max(bytes, elements * size_of(value.dtype));
    }
  }
  return bytes;
}

bool tensor_cores_pay(const ChainBody& body) {
  return std::ranges::any_of(body.values, [](const ChainValue& value) {
    return value.kind == ChainValue::Kind::matrix && size_of(value.dtype) == 2 &&
           value.height * value.columns >= kTensorCoresPay;
  });
}

}  // namespace

std::int64_t ChainRows::blocks(ChainShape shape) const {
  return divided_up(rows, shape.rows_per_block) * groups;
}

Support chain_support(Op op, std::size_t most_shared, bool tf32) {
  const ChainBody body(op);
  if (!body.support.yes) {
    return body.support;
  }
  if (body.has_groups && tensor_cores_pay(body)) {
    return Support::no("tensor cores are faster, step by step");
  }
  if (chain_kernel(op, body, {1, kChainThreads, kFewestBuffers}).shared_bytes <= most_shared) {
    return {};
  }
  if (const std::string reason = why_not_by_slabs(body); !reason.empty()) {
    return Support::no("its values do not fit into the memory that threads share, and " + reason);
  }
  const bool is_too_large = !body.has_groups && largest_matrix(body) > kMostPassingBytes;
  if (tf32 || is_too_large ||
      chain_kernel(op, body, {1, kChainThreads, kFewestBuffers, kFewestSlabs}).shared_bytes >
          most_shared) {
    return Support::no("its values do not fit into the memory that threads share");
  }
  return {};
}

namespace {

// With as many slabs as fit; two blocks in a multiprocessor wait less than one.
std::optional<ChainChoice> by_slabs(Op op, const ChainBody& body, const DeviceContext& device,
                                    ChainShape shape) {
  const std::size_t most_shared = device.most_shared_bytes();
  for (shape.slabs = kMostSlabs; shape.slabs >= kFewestSlabs; --shape.slabs) {
    ChainKernel kernel = chain_kernel(op, body, shape);
    const bool is_last = shape.slabs == kFewestSlabs;
    if (kernel.shared_bytes <= (is_last ? most_shared : most_shared / 2)) {
      return ChainChoice{shape, std::move(kernel)};
    }
  }
  return std::nullopt;
}

std::optional<ChainChoice> tall(Op op, const ChainBody& body, const DeviceContext& device,
                                int rows) {
  const int threads = slab_threads(body, rows);
  return threads > kMostTallThreads
             ? std::nullopt
             : by_slabs(op, body, device,
                        {.rows_per_block = rows, .threads = threads, .buffers = kFewestBuffers});
}

// Many rows per block where there are enough of them for all multiprocessors: what is read of a
// matrix is used by all of them.
std::optional<ChainChoice> tallest(Op op, const ChainBody& body, const ChainRows& rows,
                                   const DeviceContext& device) {
  const double blocks = kBlocksWanted * static_cast<double>(device.num_multiprocessors());
  std::optional<ChainChoice> found;
  for (int tall_rows = kMostTallRows; tall_rows >= device::kTallRows && !found; tall_rows /= 2) {
    if (tall_rows <= power_of_two(rows.rows) &&
        static_cast<double>(rows.all()) >= tall_rows * blocks) {
      found = tall(op, body, device, tall_rows);
    }
  }
  return found;
}

// With whole matrices in shared memory, if they fit.
std::optional<ChainChoice> of_few_rows(Op op, const ChainBody& body, const DeviceContext& device,
                                       int rows) {
  ChainShape shape{.rows_per_block = rows, .threads = kChainThreads, .buffers = kMostBuffers};
  ChainKernel kernel = chain_kernel(op, body, shape);
  while (kernel.shared_bytes > device.most_shared_bytes() &&
         (shape.buffers > kFewestBuffers || shape.rows_per_block > 1)) {
    (shape.buffers > kFewestBuffers ? shape.buffers : shape.rows_per_block) /= 2;
    kernel = chain_kernel(op, body, shape);
  }
  return kernel.shared_bytes <= device.most_shared_bytes()
             ? std::optional(ChainChoice{shape, std::move(kernel)})
             : std::nullopt;
}

std::optional<ChainChoice> of_few_rows_by_slabs(Op op, const ChainBody& body,
                                                const DeviceContext& device, int rows,
                                                int threads) {
  return by_slabs(op, body, device,
                  {.rows_per_block = rows,
                   .threads = std::max(threads, slab_threads(body, rows)),
                   .buffers = kFewestBuffers});
}

}  // namespace

// As few rows as give all multiprocessors work; one per warp where a warp can keep it.
ChainChoice estimated_choice(Op op, const ChainBody& body, const ChainRows& rows,
                             const DeviceContext& device) {
  if (narrow_chain_support(body).yes) {
    ChainKernel narrow = narrow_chain_kernel(op, body);
    if (narrow.shared_bytes <= device.most_shared_bytes()) {
      return {{.rows_per_block = 1, .threads = kWarp, .buffers = 0}, std::move(narrow)};
    }
  }
  const bool can_pass = why_not_by_slabs(body).empty();
  std::optional<ChainChoice> found = can_pass ? tallest(op, body, rows, device) : std::nullopt;
  int few = 1;
  while (few < kMostRows && rows.all() > few * device.num_multiprocessors()) {
    few *= 2;
  }
  if (!found) {
    found = of_few_rows(op, body, device, few);
  }
  for (; can_pass && !found && few > 0; few /= 2) {
    found = of_few_rows_by_slabs(op, body, device, few, kChainThreads);
  }
  ensure(found.has_value(), "the kernel of a chain that was taken does not fit");
  return *found;
}

std::vector<ChainChoice> other_choices(Op op, const ChainBody& body, const ChainRows& rows,
                                       const DeviceContext& device, const ChainChoice& estimated) {
  std::vector<ChainChoice> others;
  const auto add = [&](const std::optional<ChainChoice>& choice) {
    const auto is_same = [&](const ChainChoice& other) {
      return other.kernel.text == choice->kernel.text;
    };
    if (choice && !is_same(estimated) && std::ranges::none_of(others, is_same)) {
      others.push_back(*choice);
    }
  };
  if (estimated.shape.threads == kWarp || !why_not_by_slabs(body).empty()) {
    return others;
  }
  for (int per_block = 1; per_block <= kMostTallRows; per_block *= 2) {
    const double blocks = static_cast<double>(rows.blocks({per_block, 0, 0})) /
                          static_cast<double>(device.num_multiprocessors());
    if (blocks < kFewestBlocks || blocks > kMostBlocksEach || per_block > power_of_two(rows.rows)) {
      continue;
    }
    if (per_block >= device::kTallRows) {
      add(tall(op, body, device, per_block));
    } else {
      add(of_few_rows(op, body, device, per_block));
      for (int threads = kChainThreads / 2; threads <= 2 * kChainThreads; threads *= 2) {
        add(of_few_rows_by_slabs(op, body, device, per_block, threads));
      }
    }
  }
  return others;
}

}  // namespace antichain::cuda
