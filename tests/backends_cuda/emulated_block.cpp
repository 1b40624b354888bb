#include "tests/backends_cuda/emulated_block.h"

#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "antichain/base/error.h"
#include "antichain/tensor/half.h"

namespace antichain::emulated {

namespace {

constexpr unsigned kLanes = 32;
constexpr std::size_t kStackBytes = 256 * 1024;  // of one thread

struct Copy {
  void* to;
  const void* from;  // null: zeros
  std::size_t bytes;
  std::size_t step;
};

struct Thread {
  ucontext_t context;
  std::unique_ptr<std::byte[]> stack{new std::byte[kStackBytes]};
  std::vector<Copy> copies;
  std::size_t steps = 0;  // of copies, that have ended
  bool is_done = false;
};

// Lets as many come as it is for, and then all of them go.
struct Meeting {
  unsigned came = 0;
  std::uint64_t number = 0;
};

struct Warp {
  std::map<unsigned, Meeting> meetings;  // by mask
  Words words[kLanes];
};

struct BlockCopy {
  CopyBarrier* barrier;
  void* to;
  const void* from;
  std::size_t bytes;
};

struct Block {
  const BlockOptions* options;
  const std::function<void()>* run;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<BlockCopy> copies = {};
  Meeting all = {};
  ucontext_t scheduler = {};
  unsigned current = 0;
  bool has_moved = false;  // whether a meeting took place or a thread ended

  Thread& own() { return threads[current]; }
  Warp& warp() { return warps[current / kLanes]; }
};

Block* running = nullptr;  // one at a time

void meet(Meeting& meeting, unsigned expected) {
  const std::uint64_t number = meeting.number;
  if (++meeting.came == expected) {
    meeting.came = 0;
    ++meeting.number;
    running->has_moved = true;
  }
  while (meeting.number == number) {
    swapcontext(&running->own().context, &running->scheduler);
  }
}

void run_thread() {
  (*running->run)();
  running->own().is_done = true;
  running->has_moved = true;
  swapcontext(&running->own().context, &running->scheduler);
}

void arrive(const Copy& copy) {
  if (copy.from != nullptr) {
    std::memcpy(copy.to, copy.from, copy.bytes);
  } else {
    std::memset(copy.to, 0, copy.bytes);
  }
}

// On its own: the compiler takes getcontext for a function that returns twice.
[[gnu::noinline]] void prepare(Thread& thread) {
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = kStackBytes;
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, run_thread, 0);
}

// Runs the threads of a warp as long as they get anywhere, far ahead of others that they do not
// wait for. Returns whether all of them have ended.
bool run_warp(Block& block, unsigned warp, bool& has_moved) {
  const unsigned first = warp * kLanes;
  const unsigned end = std::min(first + kLanes, block.options->threads);
  bool is_done = false;
  do {
    block.has_moved = false;
    is_done = true;
    for (block.current = first; block.current < end; ++block.current) {
      if (!block.own().is_done) {
        is_done = false;
        threadIdx.x = block.current;
        swapcontext(&block.scheduler, &block.own().context);
      }
    }
    has_moved |= block.has_moved;
  } while (block.has_moved);
  return is_done;
}

}  // namespace

void run_block(const BlockOptions& options, const std::function<void()>& thread) {
  Block block{.options = &options,
              .run = &thread,
              .threads = std::vector<Thread>(options.threads),
              .warps = std::vector<Warp>((options.threads + kLanes - 1) / kLanes)};
  running = &block;
  blockIdx.x = options.block;
  blockDim.x = options.threads;
  for (Thread& one : block.threads) {
    prepare(one);
  }
  const auto warps = static_cast<unsigned>(block.warps.size());
  for (bool is_done = false; !is_done;) {
    is_done = true;
    bool has_moved = false;
    for (unsigned i = 0; i < warps; ++i) {
      const bool in_order = options.schedule == Schedule::first_warp_first;
      is_done &= run_warp(block, in_order ? i : warps - 1 - i, has_moved);
    }
    ensure(is_done || has_moved, "threads of an emulated block wait for each other");
  }
  running = nullptr;
}

void wait_for_lanes(unsigned mask) {
  meet(running->warp().meetings[mask], static_cast<unsigned>(std::popcount(mask)));
}
void wait_for_block() { meet(running->all, running->options->threads); }

const Words* exchange(unsigned mask, const Words& own) {
  Warp& warp = running->warp();
  wait_for_lanes(mask);  // everybody has read what was given before
  warp.words[running->current % kLanes] = own;
  wait_for_lanes(mask);
  return warp.words;
}

void begin_copy(void* to, const void* from, std::size_t bytes, bool wanted) {
  const auto is_aligned = [bytes](const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
  };
  ensure(is_aligned(to) && is_aligned(from), "a copy is not aligned");
  const Copy copy{to, wanted ? from : nullptr, bytes, running->own().steps};
  if (running->options->arrival == Arrival::at_once) {
    arrive(copy);
  } else {
    running->own().copies.push_back(copy);
  }
}

void end_copies() { ++running->own().steps; }

void begin_block(CopyBarrier* barrier, void* to, const void* from, std::size_t bytes) {
  const auto is_aligned = [](const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % 16 == 0;
  };
  ensure(is_aligned(to) && is_aligned(from) && bytes % 16 == 0, "a block is not aligned");
  ensure(barrier->begun == barrier->arrived, "two copies have one barrier at the same time");
  ++barrier->begun;
  if (running->options->arrival == Arrival::at_once) {
    std::memcpy(to, from, bytes);
    ++barrier->arrived;
  } else {
    running->copies.push_back({barrier, to, from, bytes});
  }
}

void wait_for_block(CopyBarrier* barrier, unsigned parity) {
  while (barrier->arrived % 2 == parity) {
    std::erase_if(running->copies, [barrier](const BlockCopy& copy) {
      if (copy.barrier != barrier) {
        return false;
      }
      std::memcpy(copy.to, copy.from, copy.bytes);
      ++barrier->arrived;
      running->has_moved = true;
      return true;
    });
    if (barrier->arrived % 2 == parity) {
      swapcontext(&running->own().context, &running->scheduler);
    }
  }
}

void finish_copies() {
  std::ranges::for_each(running->own().copies, arrive);
  running->own().copies.clear();
}

void finish_copies_but(std::size_t steps) {
  Thread& own = running->own();
  std::erase_if(own.copies, [&](const Copy& copy) {
    const bool is_waited_for = copy.step + steps < own.steps;
    if (is_waited_for) {
      arrive(copy);
    }
    return is_waited_for;
  });
}

}  // namespace antichain::emulated

namespace antichain::device {

namespace {

constexpr unsigned kAllLanes = 0xffffffffU;

unsigned short element_at(std::uint64_t row, unsigned column) {
  unsigned short bits = 0;
  std::memcpy(&bits, reinterpret_cast<const unsigned short*>(row) + column, sizeof(bits));
  return bits;
}

Quad load_quad(const void* row, bool transposed) {
  const auto address = reinterpret_cast<std::uint64_t>(row);
  ensure(address % 16 == 0, "a row of a matrix is not aligned");
  const emulated::Words* rows = emulated::exchange(kAllLanes, {{address}});
  const unsigned lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4 * 2;
  Quad result = {};
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    const auto at = [&](unsigned r, unsigned c) -> unsigned {
      return element_at(rows[8 * matrix + r].at[0], c);
    };
    result.at[matrix] = transposed ? at(pair, group) | at(pair + 1, group) << 16
                                   : at(group, pair) | at(group, pair + 1) << 16;
  }
  // Nobody may change the matrices before all lanes have read them.
  emulated::wait_for_lanes(kAllLanes);
  return result;
}

}  // namespace

Quad load_matrices(const void* row) { return load_quad(row, false); }
Quad load_transposed(const void* row) { return load_quad(row, true); }

float value_of(bf16 element) { return static_cast<float>(std::bit_cast<bfloat16>(element.bits)); }
float value_of(f16 element) { return static_cast<float>(std::bit_cast<float16>(element.bits)); }
void round_to(bf16& element, float value) { element.bits = bfloat16(value).bits; }
void round_to(f16& element, float value) { element.bits = float16(value).bits; }

// Lane l holds of a[16 x 16], in the order of the registers: row l / 4 and the row 8 below at
// columns 2 (l % 4) and the next, then both at the columns 8 further; of b[16 x 8], column l / 4 at
// rows 2 (l % 4) and the next, then 8 rows below.
void add_product_of(float (&sums)[4], const Quad& a, unsigned b0, unsigned b1,
                    float (*value)(unsigned short bits)) {
  const emulated::Words* lanes =
      emulated::exchange(kAllLanes, {{a.at[0], a.at[1], a.at[2], a.at[3], b0, b1}});
  const auto half_of = [value](std::uint64_t pair, unsigned which) {
    return value(static_cast<unsigned short>(pair >> (16 * which) & 0xffff));
  };
  const auto a_at = [&](unsigned row, unsigned k) {
    const emulated::Words& from = lanes[row % 8 * 4 + k % 8 / 2];
    return half_of(from.at[row / 8 + k / 8 * 2], k % 2);
  };
  const auto b_at = [&](unsigned k, unsigned column) {
    return half_of(lanes[column * 4 + k % 8 / 2].at[4 + k / 8], k % 2);
  };
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 4; ++i) {
    double total = sums[i];
    for (unsigned k = 0; k < 16; ++k) {
      total += static_cast<double>(a_at(lane / 4 + i / 2 * 8, k)) *
               static_cast<double>(b_at(k, lane % 4 * 2 + i % 2));
    }
    sums[i] = static_cast<float>(total);
  }
}

namespace {

// The hardware leaves the last 13 bits of factors out, and rounds sums towards 0.
std::uint64_t short_word(float value) { return std::bit_cast<std::uint32_t>(value) & 0xffffe000U; }
double short_value(std::uint64_t word) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
}
float towards_zero(double total) {
  const auto nearest = static_cast<float>(total);
  return std::abs(static_cast<double>(nearest)) > std::abs(total) ? std::nextafterf(nearest, 0)
                                                                  : nearest;
}

}  // namespace

// Who holds what is said in tensor_core.cuh.
void add_short_product(float (&sums)[4], const float (&a)[4], float b0, float b1) {
  const emulated::Words* lanes =
      emulated::exchange(kAllLanes, {{short_word(a[0]), short_word(a[1]), short_word(a[2]),
                                      short_word(a[3]), short_word(b0), short_word(b1)}});
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 4; ++i) {
    double total = sums[i];
    for (unsigned k = 0; k < 8; ++k) {
      total += short_value(lanes[lane / 4 * 4 + k / 2].at[i / 2 * 2 + k % 2]) *
               short_value(lanes[(lane % 4 * 2 + i % 2) * 4 + k / 2].at[4 + k % 2]);
    }
    sums[i] = towards_zero(total);
  }
}

void add_half_product(float (&sums)[4], const float (&a)[4], float b0) {
  const emulated::Words* lanes = emulated::exchange(
      kAllLanes, {{short_word(a[0]), 0, short_word(a[2]), 0, short_word(b0), 0}});
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 4; ++i) {
    double total = sums[i];
    for (unsigned k = 0; k < 4; ++k) {
      total += short_value(lanes[lane / 4 * 4 + k].at[i / 2 * 2]) *
               short_value(lanes[(lane % 4 * 2 + i % 2) * 4 + k].at[4]);
    }
    sums[i] = towards_zero(total);
  }
}

}  // namespace antichain::device
