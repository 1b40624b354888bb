#include "antichain/passes/memory/rotor.h"

#include <algorithm>
#include <cmath>

#include "antichain/base/error.h"

namespace antichain {

Rotor::Rotor(std::vector<StageCost> stages, std::size_t levels)
    : stages_(std::move(stages)), levels_(levels) {
  double total = 0;
  std::size_t widest = 0;
  forward_.push_back(0);
  for (const StageCost& stage : stages_) {
    total += static_cast<double>(stage.kept);
    widest = std::max(widest, stage.output);
    forward_.push_back(forward_.back() + stage.forward);
  }
  total += 2 * static_cast<double>(widest);  // the gradients of a stage's input and output
  // Room for what rounding adds: half a level per stage, and some at its ends.
  ensure(levels_ > 4 * stages_.size(), "{} levels are too few for {} stages", levels_,
         stages_.size());
  unit_ = std::max(1.0, total / static_cast<double>(levels_ - 2 * stages_.size()));
  for (const StageCost& stage : stages_) {
    kept_.push_back(levels_of(stage.kept));
    output_.push_back(levels_of(stage.output));
  }
  times_.assign(stages_.size() * stages_.size() * (levels_ + 1), kNever);
  for (std::size_t length = 0; length < stages_.size(); ++length) {
    for (std::size_t first = 0; first + length < stages_.size(); ++first) {
      fill(first, first + length);
    }
  }
}

float& Rotor::time(std::size_t first, std::size_t last, std::size_t level) {
  return times_[(first * stages_.size() + last) * (levels_ + 1) + level];
}
float Rotor::time(std::size_t first, std::size_t last, std::size_t level) const {
  return times_[(first * stages_.size() + last) * (levels_ + 1) + level];
}

// To the nearest: what a schedule really takes is measured on the program that comes of it.
std::size_t Rotor::levels_of(std::size_t bytes) const {
  return static_cast<std::size_t>(std::llround(static_cast<double>(bytes) / unit_));
}

std::size_t Rotor::input_levels(std::size_t stage) const {
  return stage == 0 ? 0 : output_[stage - 1];
}

// The input of the first stage is there, and not counted. Either the first stage keeps everything
// and the rest goes on from its output; or stages first .. next - 1 are run for the input of `next`
// alone, and once more when the rest is done (equation 1 of the paper).
Rotor::NextStage Rotor::choose(std::size_t first, std::size_t last, std::size_t level) const {
  NextStage best;
  const StageCost& stage = stages_[first];
  const std::size_t own = kept_[first];
  // On the way back, the gradients of output and input are there, too.
  if (level >= own + output_[first] + input_levels(first)) {
    const float rest = first == last ? 0 : time(first + 1, last, level - own);
    best = {static_cast<float>(stage.forward + stage.backward) + rest, first};
  }
  std::size_t running = 0;  // most that stages first .. next - 1 take while they run
  for (std::size_t next = first + 1; next <= last; ++next) {
    const std::size_t input = next - 1 == first ? 0 : input_levels(next - 1);
    running = std::max(running, input + output_[next - 1]);
    if (level < running) {
      break;
    }
    const float seconds = static_cast<float>(forward_[next] - forward_[first]) +
                          time(next, last, level - output_[next - 1]) +
                          time(first, next - 1, level);
    if (seconds < best.seconds) {
      best = {seconds, next};
    }
  }
  return best;
}

void Rotor::fill(std::size_t first, std::size_t last) {
  for (std::size_t level = 0; level <= levels_; ++level) {
    time(first, last, level) = choose(first, last, level).seconds;
  }
}

double Rotor::seconds(std::size_t level) const {
  return stages_.empty() ? 0 : time(0, stages_.size() - 1, std::min(level, levels_));
}

std::size_t Rotor::least_level() const {
  std::size_t level = 0;
  while (level < levels_ && !std::isfinite(seconds(level))) {
    ++level;
  }
  return level;
}

std::vector<StageAction> Rotor::schedule(std::size_t level) const {
  using Kind = StageAction::Kind;
  struct Task {  // a range of stages within some memory, or one action
    std::size_t first, last, level;
    bool is_backward = false;
  };
  std::vector<StageAction> actions;
  std::vector<Task> pending;
  if (!stages_.empty()) {
    pending.push_back({0, stages_.size() - 1, std::min(level, levels_)});
  }
  while (!pending.empty()) {
    const Task task = pending.back();
    pending.pop_back();
    if (task.is_backward) {
      actions.push_back({Kind::backward, task.first});
      continue;
    }
    const NextStage step = choose(task.first, task.last, task.level);
    ensure(std::isfinite(step.seconds), "there is no schedule within {} levels", task.level);
    if (step.next == task.first) {
      actions.push_back({Kind::forward_keeping, task.first});
      pending.push_back({task.first, task.first, 0, true});
      if (task.first < task.last) {
        pending.push_back({task.first + 1, task.last, task.level - kept_[task.first]});
      }
      continue;
    }
    for (std::size_t stage = task.first; stage < step.next; ++stage) {
      actions.push_back({Kind::forward, stage});
    }
    pending.push_back({task.first, step.next - 1, task.level});
    pending.push_back({step.next, task.last, task.level - output_[step.next - 1]});
  }
  return actions;
}

}  // namespace antichain
