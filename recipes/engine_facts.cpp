#include "recipes/engine_facts.h"

#include <algorithm>
#include <map>
#include <string>

#include "antichain/base/error.h"

namespace antichain {

namespace {

constexpr const char *kMultigrid = "multigrid", *kKeptStates = "multigrid_guess";

}  // namespace

bool has_fixed_order(const Settings& settings) { return settings.text("order") == "fixed"; }

void tell_engines(Session& session, const RecipeContext& context, std::int64_t batches_per_epoch) {
  const std::int64_t steps = batches_per_epoch * context.settings.integer("epochs");
  session.set_engine_defaults(
      {kMultigrid,
       {{"batches", std::max<std::int64_t>(batches_per_epoch, 1)}, {"training_steps", steps}}});
  for (const EnginePlan::Part& part : context.engines().parts()) {
    if (part.engine.name() != kMultigrid) {
      continue;
    }
    const Settings settings = session.engines().find(kMultigrid).settings(part.engine);
    const bool knows_batches =
        settings.text("guess") == "batch" || settings.text("backward_guess") == "batch";
    require(
        !knows_batches || batches_per_epoch == 1 || has_fixed_order(context.settings),
        "guess=batch starts from what the same batch found an epoch before: set order=fixed, or "
        "batch to the size of the training set");
  }
}

Tensor refined_intervals(const Tensor& ends) {
  const std::vector<double> coarse = ends.to_vector<double>();
  Shape shape = ends.shape();
  const std::int64_t copies = shape[0], count = shape[1];
  const std::int64_t size = copies * count > 0 ? ends.numel() / (copies * count) : 0;
  shape[1] = 2 * count;
  std::vector<double> fine;
  for (std::int64_t row = 0; row < copies * 2 * count; ++row) {
    const std::int64_t copy = row / (2 * count), end = row % (2 * count);
    // Every second end is an end of the coarse intervals, the others lie in their middles.
    const std::int64_t after = end / 2;
    const std::int64_t before = end % 2 == 1 ? after : std::max<std::int64_t>(after - 1, 0);
    for (std::int64_t i = 0; i < size; ++i) {
      const auto value = [&](std::int64_t of) {
        return coarse[static_cast<std::size_t>((copy * count + of) * size + i)];
      };
      fine.push_back(0.5 * (value(before) + value(after)));
    }
  }
  return Tensor::of<double>(shape, fine).cast(ends.dtype());
}

void start_from_kept_states(StateStore& deeper, const StateStore& shallower) {
  std::map<std::string, Tensor> carried;
  for (const auto& [name, value] : deeper.all()) {
    if (name.find(kKeptStates) == std::string::npos) {
      continue;
    }
    const bool is_there = shallower.contains(name);
    Tensor known = is_there ? shallower.get(name) : value;
    if (is_there && known.shape() != value.shape() && known.rank() > 1) {
      known = refined_intervals(known);
    }
    if (!is_there || known.shape() != value.shape()) {
      return;  // grids that do not lie in each other: the first solves find guesses of their own
    }
    carried.emplace(name, known);
  }
  for (const auto& [name, value] : carried) {
    deeper.set(name, value);
  }
}

}  // namespace antichain
