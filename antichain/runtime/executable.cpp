#include "antichain/runtime/executable.h"

#include <fmt/format.h>

#include <unordered_set>

#include "antichain/graph/traversal.h"
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
                       std::span<const Op> effects, const Backend& backend,
                       const KernelTable& kernels, const Logger& logger, StateStore& states)
    : graph_(std::move(graph)), backend_(&backend), states_(&states) {
  std::unordered_set<OpId> used;
  for (Op op : schedule(*graph_, results, effects)) {
    used.insert(op.id());
  }
  for (Op input : graph_->inputs()) {
    inputs_.push_back(input.output());
    input_used_.push_back(used.contains(input.id()));
  }
  program_ = std::make_unique<Program>(*graph_, inputs_, results, effects, kernels, logger);
  print_line_ = print_to_stdout;
}

std::vector<Tensor> Executable::bind(const Feeds& feeds, DimEnv& env) const {
  std::vector<Tensor> arguments;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::string& name = inputs_[i].producer().attrs().get<std::string>("name");
    const auto fed = feeds.find(name);
    taken += fed != feeds.end() ? 1 : 0;
    require(fed != feeds.end() || !input_used_[i], "input '{}' is not fed", name);
    if (fed == feeds.end()) {
      arguments.emplace_back();
      continue;
    }
    require(fed->second.defined(), "input '{}' is fed with nothing", name);
    check_fits(name, fed->second, inputs_[i].type());
    arguments.push_back(backend_->to_device(fed->second));
    for (int axis = 0; axis < inputs_[i].rank(); ++axis) {
      const Dim dim = inputs_[i].dim(axis);
      const std::int64_t size = fed->second.shape()[static_cast<std::size_t>(axis)];
      if (dim.is_symbol() && !env.is_bound(dim.symbol())) {
        const DimRange range = dim.range();
        require<ShapeError>(size >= range.min && size <= range.max,
                            "input '{}': '{}' is {}, outside its range [{}, {}]", name, dim.str(),
                            size, range.min, range.max);
        env.bind(dim.symbol(), size);
      }
    }
  }
  if (taken != feeds.size()) {
    std::string known;
    for (Var input : inputs_) {
      known += (known.empty() ? "" : ", ") + input.producer().attrs().get<std::string>("name");
    }
    for (const auto& [name, tensor] : feeds) {
      const bool found = std::any_of(inputs_.begin(), inputs_.end(), [&name = name](Var input) {
        return input.producer().attrs().get<std::string>("name") == name;
      });
      require(found, "there is no input called '{}'; this executable takes: {}", name, known);
    }
  }
  return arguments;
}

void Executable::check_sizes(std::span<const Tensor> arguments, DimEnv& env) const {
  const auto for_each_size = [&](const auto& visit) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      for (int axis = 0; arguments[i].defined() && axis < inputs_[i].rank(); ++axis) {
        visit(inputs_[i], axis, arguments[i].shape()[static_cast<std::size_t>(axis)]);
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
Executable& Executable::operator=(Executable&&) noexcept = default;
Executable::~Executable() = default;

std::size_t Executable::num_steps() const { return program_->num_steps(); }

Results Executable::run(const Feeds& feeds, const std::vector<RunObserver*>& observers) const {
  RunState state{.backend = backend_,
                 .env = {},
                 .states = states_,
                 .print_line = print_line_,
                 .observers = observers};
  const std::vector<Tensor> arguments = bind(feeds, state.env);
  check_sizes(arguments, state.env);
  std::vector<Tensor> results = program_->run(arguments, state);
  for (Tensor& result : results) {
    result = backend_->to_host(result);
    // A result is the caller's own: it must not share memory with feeds, states or constants.
    if (result.buffer().use_count() > 1) {
      result = result.clone();
    }
  }
  return Results(std::move(results));
}

}  // namespace antichain
