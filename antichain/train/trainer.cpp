#include "antichain/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/base/folder_lock.h"
#include "antichain/train/event_file.h"

namespace antichain {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kCurvePoints = 1000;  // of the training loss, about

// Of a batch with this number: the last one of an epoch may be smaller.
std::int64_t samples_in(const data::Batches& batches, std::int64_t number) {
  const std::int64_t batch = batches.options().batch;
  return std::min(batch, batches.dataset().size() - number * batch);
}

void check(const Training& training, const TrainOptions& options) {
  require(options.epochs > 0, "epochs must be above 0, got {}", options.epochs);
  require(options.keep > 0, "at least one checkpoint must be kept, got {}", options.keep);
  require(options.evaluate_every > 0, "evaluate_every must be above 0, got {}",
          options.evaluate_every);
  require(options.checkpoint_every >= 0 && options.patience >= 0 && options.max_steps >= 0 &&
              options.most_bad_steps >= 0,
          "checkpoint_every, patience, max_steps and most_bad_steps must not be negative");
  require(options.patience == 0 || !training.evaluations.empty(),
          "patience needs an evaluation to watch");
  require(!options.resume || !options.folder.empty(), "resume needs a folder");
}

}  // namespace

bool TrainResult::is_diverged() const {
  return !std::isfinite(train_loss) || std::ranges::any_of(scores, [](const auto& score) {
    return !std::isfinite(score.second.loss);
  });
}

Trainer::Trainer(Training training, TrainOptions options)
    : training_(std::move(training)), options_(std::move(options)) {
  check(training_, options_);
  steps_per_epoch_ = training_.batches.batches_per_epoch();
  require(steps_per_epoch_ > 0, "there is not one batch to train on");
  all_steps_ = options_.epochs * steps_per_epoch_;
  if (options_.max_steps > 0) {
    all_steps_ = std::min(all_steps_, options_.max_steps);
  }
  note_every_ = std::max<std::int64_t>(1, all_steps_ / kCurvePoints);
}

Trainer::~Trainer() = default;

TrainResult Trainer::run() {
  restore();
  saved_at_ = time_now();
  while (!state_.finished && !stopped_) {
    if (run_epoch()) {
      finish_epoch();
    }
    const bool due = time_now() - saved_at_ >= options_.checkpoint_seconds;
    if (due || options_.checkpoint_every > 0 || state_.finished || stopped_) {
      save();
    }
  }
  return {.finished = state_.finished,
          .train_loss = train_loss_,
          .scores = scores_,
          .epochs = state_.epoch - 1,
          .steps = state_.step,
          .samples = state_.samples,
          .seconds = state_.seconds,
          .history = state_.history};
}

void Trainer::restore() {
  if (options_.folder.empty()) {
    return;
  }
  lock_ = options_.lock;
  if (!lock_) {
    try {
      std::filesystem::create_directories(options_.folder);
    } catch (const std::filesystem::filesystem_error& error) {
      fail_on_file("make the folder", error);
    }
    lock_ = std::make_shared<const FolderLock>(options_.folder);
  }
  remove_leftovers(options_.folder / "checkpoints");
  std::optional<Checkpoint> found = load_checkpoint(options_.folder / "checkpoints");
  require(!found || options_.resume,
          "'{}' already holds checkpoints; resume, or choose another folder",
          options_.folder.string());
  if (found) {
    restore(std::move(*found));
  }
  events_ = std::make_unique<EventFile>(options_.folder / "events", state_.history);
  if (state_.finished) {  // nothing to train: say what was found then
    for (const Evaluation& evaluation : training_.evaluations) {
      scores_[evaluation.name] = evaluate(evaluation);
    }
    const auto curve = state_.history.find("train/loss");
    train_loss_ = curve != state_.history.end() ? curve->second.back().value : 0;
  }
}

// All of it is looked at before anything is taken over.
void Trainer::restore(Checkpoint checkpoint) {
  try {
    check_position(checkpoint.state);
    if (!checkpoint.best.empty()) {
      training_.states.require_fits(checkpoint.best);
    }
    training_.states.set_all(checkpoint.states);
  } catch (const InvalidArgument& error) {
    fail<DataError>("the checkpoint in '{}' does not fit this model and these data: {}",
                    options_.folder.string(), error.what());
  }
  state_ = std::move(checkpoint.state);
  best_ = std::move(checkpoint.best);
  steps_before_ = state_.step;
  samples_before_ = state_.samples;
}

// A finished run goes nowhere, so nothing depends on where it is.
void require_position(const TrainState& state, std::int64_t epochs, std::int64_t steps_per_epoch) {
  if (state.finished) {
    return;
  }
  require(state.epoch <= epochs, "it is in epoch {}, of {}", state.epoch, epochs);
  require(state.batch < steps_per_epoch &&
              state.step == (state.epoch - 1) * steps_per_epoch + state.batch,
          "it is at step {}, which is not batch {} of epoch {} where an epoch has {} batches",
          state.step, state.batch, state.epoch, steps_per_epoch);
}

void Trainer::check_position(const TrainState& state) const {
  require_position(state, options_.epochs, steps_per_epoch_);
  require(state.finished || options_.max_steps == 0 || state.step < options_.max_steps,
          "it has done {} steps already, so it cannot end after {} (max_steps)", state.step,
          options_.max_steps);
}

// Returns whether the epoch came to its end.
bool Trainer::run_epoch() {
  data::Batch batch;
  training_.batches.start(state_.epoch, state_.batch);
  while (training_.batches.next(batch)) {
    run_step(batch);
    const bool last = state_.batch == steps_per_epoch_;
    if (!last && options_.checkpoint_every > 0 && state_.step % options_.checkpoint_every == 0) {
      save();
    }
    if (state_.step == options_.max_steps) {
      return true;
    }
    stopped_ = options_.stop && options_.stop();
    if (stopped_) {
      return last;
    }
  }
  return true;
}

// A device computes this step while the loss of the one before is looked at and the next batch is
// fetched. Where the loss is there at once, so is what is said about it.
void Trainer::run_step(const data::Batch& batch) {
  const std::size_t free = started_ ? 1 - started_->results : 0;
  if (!started_) {  // otherwise time goes on being counted: steps overlap
    counted_until_ = Clock::now();
  }
  training_.step.start_into(results_[free], batch);
  finish_step();
  started_ = StartedStep{free, samples_in(training_.batches, state_.batch)};
  ++state_.step;
  ++state_.batch;
  state_.samples += started_->samples;
  if (!results_[free].is_pending()) {
    finish_step();
  }
}

// Waits for the loss of the step that was started last, if it is not known yet.
void Trainer::finish_step() {
  if (!started_) {
    return;
  }
  const double loss = results_[started_->results].item<double>();
  const Clock::time_point now = Clock::now();
  state_.seconds += std::chrono::duration<double>(now - counted_until_).count();
  counted_until_ = now;
  const std::int64_t samples = started_->samples;
  started_.reset();
  if (!is_good(loss)) {
    return;
  }
  state_.loss_total += loss * static_cast<double>(samples);
  state_.loss_samples += samples;
  if (state_.step % note_every_ == 0) {
    note("step/loss", loss);
    note_reports();
  }
  report_progress(loss);
}

// Whether a loss is a number. Throws when too many were not.
bool Trainer::is_good(double loss) {
  bad_steps_ = std::isfinite(loss) ? 0 : bad_steps_ + 1;
  require<DataError>(bad_steps_ <= options_.most_bad_steps,
                     "the loss is {} after step {}{}; a smaller lr may help", loss, state_.step,
                     bad_steps_ > 1 ? fmt::format(", and {} times in a row", bad_steps_) : "");
  return bad_steps_ == 0;
}

void Trainer::finish_epoch() {
  finish_step();
  // NaN where every step was bad.
  train_loss_ = state_.loss_total / static_cast<double>(state_.loss_samples);
  note("train/loss", train_loss_);
  note("train/seconds", state_.seconds);
  const bool last = state_.epoch == options_.epochs || state_.step == options_.max_steps;
  if (last || state_.epoch % options_.evaluate_every == 0) {
    for (const Evaluation& evaluation : training_.evaluations) {
      note(evaluation.name, scores_[evaluation.name] = evaluate(evaluation));
    }
    if (options_.patience > 0) {
      keep_best(scores_.at(training_.evaluations.front().name));
    }
  }
  state_.finished = last || out_of_patience();
  ++state_.epoch;
  state_.batch = 0;
  state_.loss_total = 0;
  state_.loss_samples = 0;
  if (state_.finished && !best_.empty()) {
    training_.states.set_all(best_);
    for (const Evaluation& evaluation : training_.evaluations) {
      scores_[evaluation.name] = evaluate(evaluation);
    }
  }
}

void Trainer::note(const std::string& curve, double value) {
  const CurvePoint point{.step = state_.step, .value = value, .time = time_now()};
  state_.history[curve].push_back(point);
  if (events_) {
    events_->add(curve, point);
  }
}

void Trainer::note(const std::string& evaluation, const Score& score) {
  note(evaluation + "/loss", score.loss);
  if (!std::isnan(score.accuracy)) {
    note(evaluation + "/accuracy", score.accuracy);
  }
  for (const auto& [metric, value] : score.metrics) {
    note(fmt::format("{}/{}", evaluation, metric), value);
  }
}

// What engines have measured since the step before (with_report).
void Trainer::note_reports() {
  for (const std::string& name : training_.states.names(kReportPrefix)) {
    const auto value = training_.states.get(name).item<double>();
    if (!std::isnan(value)) {  // otherwise nothing was measured yet
      note(name, value);
    }
  }
}

bool Trainer::out_of_patience() const {
  return options_.patience > 0 && state_.epoch - state_.best_epoch >= options_.patience;
}

void Trainer::keep_best(const Score& score) {
  // By accuracy where there is one, otherwise by the loss; the earlier of equals stays.
  const bool by_accuracy = !std::isnan(score.accuracy);
  const double value = by_accuracy ? score.accuracy : -score.loss;
  // Anything is better than what is no number.
  if (state_.best_epoch == 0 || value > state_.best_score ||
      (std::isnan(state_.best_score) && !std::isnan(value))) {
    state_.best_score = value;
    state_.best_epoch = state_.epoch;
    best_.clear();
    for (const auto& [name, tensor] : training_.states.all()) {
      best_[name] = tensor.clone();
    }
  }
}

void Trainer::save() {
  finish_step();
  if (options_.folder.empty()) {
    return;
  }
  save_checkpoint(options_.folder / "checkpoints",
                  {.state = state_, .states = training_.states.all(), .best = best_},
                  options_.keep);
  saved_at_ = time_now();
}

void Trainer::report_progress(double loss) const {
  if (!options_.progress) {
    return;
  }
  TrainProgress progress{.epoch = state_.epoch,
                         .epochs = options_.epochs,
                         .step = state_.step,
                         .steps = all_steps_,
                         .first_step = steps_before_,
                         .samples = state_.samples - samples_before_,
                         .loss = loss,
                         .accuracy = std::numeric_limits<double>::quiet_NaN()};
  if (!training_.evaluations.empty()) {
    const auto score = scores_.find(training_.evaluations.front().name);
    progress.accuracy = score != scores_.end() ? score->second.accuracy : progress.accuracy;
  }
  options_.progress(progress);
}

}  // namespace antichain
