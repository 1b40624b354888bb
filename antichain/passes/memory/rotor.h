// The fastest way to run a sequence of unequal stages forwards and backwards in little memory, by
// the dynamic program of Rotor (Beaumont, Eyraud-Dubois, Hermann, Joly and Shilova, 2019, "Optimal
// checkpointing for heterogeneous chains").
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace antichain {

/// What a stage costs: seconds and bytes.
struct StageCost {
  double forward = 0, backward = 0;
  std::size_t output = 0;  // of what later stages take from this one and those before
  std::size_t kept = 0;    // of what its way back takes from it, its output included
};

struct StageAction {
  enum class Kind {
    forward,          // run the stage; only what it hands on is needed
    forward_keeping,  // run the stage; its way back follows before it is run again
    backward
  } kind;
  std::size_t stage;
};

class Rotor {
 public:
  /// Fills the table for memory in so many equal steps, up to what keeping everything takes. Takes
  /// O(stages^3 levels).
  explicit Rotor(std::vector<StageCost> stages, std::size_t levels = 2000);

  std::size_t levels() const { return levels_; }
  /// Returns the fewest levels of memory for which there is a schedule.
  std::size_t least_level() const;
  /// Returns how long the schedule takes; infinity where there is none.
  double seconds(std::size_t level) const;
  /// Returns the fastest schedule within so many levels of memory, which must be possible.
  std::vector<StageAction> schedule(std::size_t level) const;

 private:
  static constexpr float kNever = std::numeric_limits<float>::infinity();
  struct NextStage {
    float seconds = kNever;
    std::size_t next = 0;  // the stage up to which nothing is kept; that one itself: keep all
  };

  float& time(std::size_t first, std::size_t last, std::size_t level);
  float time(std::size_t first, std::size_t last, std::size_t level) const;
  std::size_t levels_of(std::size_t bytes) const;
  std::size_t input_levels(std::size_t stage) const;
  void fill(std::size_t first, std::size_t last);
  NextStage choose(std::size_t first, std::size_t last, std::size_t level) const;

  std::vector<StageCost> stages_;
  std::size_t levels_;
  double unit_ = 1;                         // bytes of a level
  std::vector<std::size_t> kept_, output_;  // in levels
  std::vector<double> forward_;             // seconds of all stages before
  std::vector<float> times_;                // by first stage, last stage, level
};

}  // namespace antichain
