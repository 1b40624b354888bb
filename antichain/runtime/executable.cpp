#include "antichain/runtime/executable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <utility>

#include "antichain/graph/id_map.h"
#include "antichain/graph/traversal.h"
#include "antichain/runtime/frame_cache.h"
#include "antichain/runtime/program.h"

namespace antichain {

namespace {

void check_fits(const std::string& name, const Tensor& value, const VarType& type) {
  require<TypeError>(value.dtype() == type.dtype, "input '{}' must be {}, got {}", name,
                     antichain::name(type.dtype), antichain::name(value.dtype()));
  require<ShapeError>(value.rank() == static_cast<int>(type.shape.size()),
                      "input '{}' must have shape {}, got {}", name, to_string(type.shape),
                      to_string(value.shape()));
}

// Values that come into the store later have the types and sizes that frames are made for.
void declare_states_of(Op op, StateStore& states) {
  for (const std::string& name : op.states()) {
    const VarType& type = op.graph().find_state(name)->type;
    if (is_bound(type.shape, {})) {
      states.declare(name, type.dtype, evaluate(type.shape, {}));
    }
  }
}

// Finds the one unknown symbol of a size such as 2*n + 1 from its value; leaves what is not linear.
void solve(Dim dim, std::int64_t size, DimEnv& env) {
  std::vector<std::uint32_t> symbols;
  dim.collect_symbols(symbols);
  std::erase_if(symbols, [&env](std::uint32_t symbol) { return env.is_bound(symbol); });
  if (symbols.empty() || std::count(symbols.begin(), symbols.end(), symbols[0]) !=
                             static_cast<std::ptrdiff_t>(symbols.size())) {
    return;
  }
  const auto at = [&](std::int64_t value) {
    DimEnv tried = env;
    tried.bind(symbols[0], value);
    return dim.evaluate(tried);
  };
  const std::int64_t start = at(0), slope = at(1) - start;
  if (slope != 0 && at((size - start) / slope) == size) {
    env.bind(symbols[0], (size - start) / slope);
  }
}

}  // namespace

Executable::Executable(std::unique_ptr<Graph> graph, std::span<const Var> results,
                       std::span<const Op> effects, std::shared_ptr<const Backend> backend,
                       const KernelTable& kernels, const Logger& logger,
                       std::shared_ptr<StateStore> states)
    : backend_(std::move(backend)), states_(std::move(states)), graph_(std::move(graph)) {
  IdSet<OpId> used;
  for (Op op : schedule(*graph_, results, effects)) {
    used.insert(op.id());
    declare_states_of(op, *states_);
  }
  for (Op input : graph_->inputs()) {
    inputs_.push_back(input.output());
    names_.push_back(input.attrs().get<std::string>("name"));
    input_used_.push_back(used.contains(input.id()));
  }
  results_.assign(results.begin(), results.end());
  program_ = std::make_unique<Program>(*graph_, inputs_, results, effects, kernels, logger);
  print_line_ = std::make_unique<PrintLine>(print_to_stdout);
  frames_ = std::make_unique<FramePool>(*program_);
}

void Executable::check_feeds(const Feeds& feeds, std::span<const Tensor* const> arguments) const {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    taken += arguments[i] != &not_fed_ ? 1 : 0;
    require(arguments[i] != &not_fed_ || !input_used_[i], "input '{}' is not fed", names_[i]);
    if (arguments[i] == &not_fed_) {
      continue;
    }
    require(arguments[i]->defined(), "input '{}' is fed with nothing", names_[i]);
    check_fits(names_[i], *arguments[i], inputs_[i].type());
  }
  if (taken != feeds.size()) {
    for (const auto& feed : feeds) {
      require(std::find(names_.begin(), names_.end(), feed.first) != names_.end(),
              "there is no input called '{}'; this executable takes: {}", feed.first,
              fmt::join(names_, ", "));
    }
  }
}

void Executable::bind_symbols(std::span<const Tensor* const> arguments, DimEnv& env) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    for (int axis = 0; arguments[i]->defined() && axis < inputs_[i].rank(); ++axis) {
      const Dim dim = inputs_[i].dim(axis);
      const std::int64_t size = arguments[i]->shape()[static_cast<std::size_t>(axis)];
      if (dim.is_symbol() && !env.is_bound(dim.symbol())) {
        const DimRange range = dim.range();
        require<ShapeError>(size >= range.min && size <= range.max,
                            "input '{}': '{}' is {}, outside its range [{}, {}]", names_[i],
                            dim.str(), size, range.min, range.max);
        env.bind(dim.symbol(), size);
      }
    }
  }
}

void Executable::check_sizes(std::span<const Tensor* const> arguments, DimEnv& env) const {
  const auto for_each_size = [&](const auto& visit) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      for (int axis = 0; arguments[i]->defined() && axis < inputs_[i].rank(); ++axis) {
        visit(inputs_[i], axis, arguments[i]->shape()[static_cast<std::size_t>(axis)]);
      }
    }
  };
  for_each_size(
      [&env](Var input, int axis, std::int64_t size) { solve(input.dim(axis), size, env); });
  for_each_size([&env](Var input, int axis, std::int64_t size) {
    const Dim dim = input.dim(axis);
    const bool known = dim.is_bound(env);
    require<ShapeError>(
        known && dim.evaluate(env) == size, "input '{}': axis {} must be {}{}, got {}",
        input.producer().attrs().get<std::string>("name"), axis, dim.str(),
        dim.is_constant() || !known ? "" : fmt::format(" = {}", dim.evaluate(env)), size);
  });
}

Executable::Executable(Executable&&) noexcept = default;
// Member by member, the backend would be gone before what lies in its memory.
Executable& Executable::operator=(Executable&& other) noexcept {
  if (this != &other) {
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
  }
  return *this;
}
Executable::~Executable() = default;

std::size_t Executable::num_steps() const { return program_->num_steps(); }

Results Executable::run(const Feeds& feeds, const std::vector<RunObserver*>& observers) const {
  Results results;
  run_into(results, feeds, observers);
  return results;
}

void Executable::take_feeds(const Feeds& feeds, std::vector<const Tensor*>& arguments) const {
  arguments.clear();
  for (const std::string& name : names_) {
    const auto fed = feeds.find(name);
    arguments.push_back(fed != feeds.end() ? &fed->second : &not_fed_);
  }
  check_feeds(feeds, arguments);
}

void Executable::prepare(std::span<const Tensor* const> arguments, RunContext& shared) const {
  shared.backend = backend_.get();
  shared.states = states_.get();
  shared.print_line = print_line_.get();
  shared.lanes = parallel_steps_ ? backend_->lanes() : 1;
  shared.parallel = parallel_steps_;
  bind_symbols(arguments, shared.env);
  check_sizes(arguments, shared.env);
}

void Results::wait() const {
  const Tensor none;
  while (!sent_.empty()) {  // nobody may see the memory of one that did not arrive
    const SentResult& sent = sent_.front();
    sent.arrival->take(sent.number < tensors_.size() ? tensors_[sent.number] : none);
    sent_.erase(sent_.begin());
  }
}

void Executable::run_into(Results& results, const Feeds& feeds,
                          const std::vector<RunObserver*>& observers) const {
  start_into(results, feeds, observers);
  results.wait();
}

void Executable::start_into(Results& results, const Feeds& feeds,
                            const std::vector<RunObserver*>& observers) const {
  results.sent_.clear();
  const auto held = backend_->hold();
  const FramePool::Lease frames = frames_->borrow();
  std::vector<const Tensor*>& arguments = frames->arguments;
  take_feeds(feeds, arguments);
  const FrameCache::Entry& entry =
      frames->find(arguments, [&](RunContext& shared) { prepare(arguments, shared); });
  entry.shared->observers = observers;
  results.tensors_.resize(results_.size());
  const Device place = results_on_device_ ? backend_->device() : Device{};
  frames->targets.clear();
  for (std::size_t i = 0; i < results_.size(); ++i) {
    Tensor& result = results.tensors_[i];
    // A result is the caller's own: it must not share memory with feeds, states or other results.
    if (const std::optional<Shape>& shape = entry.result_shapes[i]; !shape) {
      result = Tensor();
    } else if (!result.defined() || result.device() != place ||
               result.dtype() != results_[i].dtype() || result.shape() != *shape ||
               !result.is_contiguous() || !sole_owner(result.buffer())) {
      result = place == Device{} ? Tensor::empty(results_[i].dtype(), *shape)
                                 : backend_->allocate(results_[i].dtype(), *shape);
    }
    frames->targets.push_back(&result);
  }
  try {
    entry.frame->run(arguments, frames->targets, &results.sent_);
  } catch (const OutOfMemory& error) {
    throw explained(error, entry.frame->memory_report());
  } catch (const std::bad_alloc&) {  // of a library, or of memory that a kernel works in
    fail<DeviceError>("out of memory on {} while running", to_string(backend_->device()));
  }
  // Where no result comes to the host, somebody may want to know whether it went well.
  if (results_.empty() || place != Device{}) {
    if (std::shared_ptr<Arrival> end = backend_->send_to_host(backend_->allocate(u8, {0}))) {
      results.sent_.push_back({results_.size(), std::move(end)});
    }
  }
  backend_->end_run();
  for (Tensor& result : results.tensors_) {
    if (result.device() != place) {
      result = place == Device{} ? backend_->to_host(result) : backend_->to_device(result);
    }
    if (!sole_owner(result.buffer())) {
      result = place == Device{} ? result.clone() : backend_->clone(result);
    }
  }
}

MemoryReport Executable::memory_report(const Feeds& feeds) const {
  const auto held = backend_->hold();
  const FramePool::Lease frames = frames_->borrow();
  take_feeds(feeds, frames->arguments);
  return frames
      ->find(frames->arguments, [&](RunContext& shared) { prepare(frames->arguments, shared); })
      .frame->memory_report();
}

RunStatistics Executable::statistics() const { return frames_->statistics(); }

std::size_t Executable::memory_bytes() const { return frames_->memory_bytes(); }

}  // namespace antichain
