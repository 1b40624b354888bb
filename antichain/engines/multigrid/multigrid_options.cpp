#include "antichain/engines/multigrid/multigrid_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "antichain/base/error.h"

namespace antichain::multigrid {

namespace {

constexpr const char *kAuto = "auto", *kAlways = "always", *kNever = "never";
constexpr const char *kF = "F", *kFcf = "FCF", *kV = "V";
constexpr const char* kAsForward = "forward";
// In the order of their enumerations.
constexpr std::array kCoarseSteps = {kAuto,      "matched",   "matched3", "plain",
                                     "rescaled", "rescaled2", "same"};
constexpr std::array kGuesses = {"coarse", "first", "zero", "batch", "class-means"};

template <class Enum, std::size_t size>
Enum read_choice(const std::array<const char*, size>& names, const std::string& text) {
  return static_cast<Enum>(std::ranges::find(names, text) - names.begin());
}

// Options that the adjoint may have in another way than the forward problem.
std::vector<OptionSpec> specs_of_a_solve() {
  return {
      {"levels", OptionKind::integer, "2", "grids, at most: 2 for two-level cycles", 2, 64},
      {"coarsening", OptionKind::integer, "8",
       "steps of a grid that one step of the next coarser grid stands for", 2, 1e6},
      {"cycles", OptionKind::integer, "2", "multigrid cycles of a solve; at most, with a tolerance",
       1, 1e6},
      {"coarsest", OptionKind::integer, "2", "a grid has at least so many steps", 2, 1e6},
      {.name = "coarse",
       .kind = OptionKind::choice,
       .fallback = kAuto,
       .doc = "the step of coarse grids: matched to second or third order, plain injection, the "
              "body with its step size multiplied, as it is or matched to second order, the same "
              "body; auto: by what the body looks like",
       .choices = {kCoarseSteps.begin(), kCoarseSteps.end()}},
      {"relaxations", OptionKind::integer, "0",
       "of C-points in a cycle on the finest grid, each with an F-relaxation behind it; 0: "
       "F-relaxation, 1: FCF-relaxation",
       0, 100},
      {"coarse_relaxations", OptionKind::integer, "0",
       "likewise on the grids between the finest and the coarsest", 0, 100},
      {"relaxation_weight", OptionKind::number, "1",
       "of what a relaxation of C-points finds; the rest is what was there before", 0.01, 1.99},
      {.name = "final_relaxation",
       .kind = OptionKind::choice,
       .fallback = kF,
       .doc = "the relaxation behind all cycles; FCF: one interval more is exact",
       .choices = {kF, kFcf}},
      {.name = "cycle",
       .kind = OptionKind::choice,
       .fallback = kV,
       .doc = "V-cycles or F-cycles, which differ from three levels on",
       .choices = {kV, kF}},
      {.name = "guess",
       .kind = OptionKind::choice,
       .fallback = kGuesses[0],
       .doc = "what the first cycle starts from: a solve on the coarser grids (XBraid: skip the "
              "first down-cycle), the first state everywhere, zeros, the states when the same "
              "batch was solved last (see batches), or their means over the examples of each class "
              "(see classes)",
       .choices = {kGuesses.begin(), kGuesses.end()}},
      {"tolerance", OptionKind::number, "0",
       "cycles end when the residual is this part of the states; 0: after all cycles", 0, 1},
      {"absolute_tolerance", OptionKind::number, "0",
       "cycles end when the residual's norm is at most this; 0: after all cycles", 0, 1e30},
  };
}

// What says that the adjoint has an option as the forward problem has it: 0 where that is no value
// of the option itself.
std::int64_t number_as_forward(const OptionSpec& spec) {
  return spec.kind == OptionKind::integer && spec.min > 0 ? 0 : -1;
}

// The same option for the adjoint problem, which is as the forward problem has it where nobody says
// otherwise.
OptionSpec of_adjoint(OptionSpec spec) {
  if (spec.kind == OptionKind::choice) {
    spec.choices.insert(spec.choices.begin(), kAsForward);
    spec.fallback = kAsForward;
  } else {
    const std::int64_t as_forward = number_as_forward(spec);
    spec.min = static_cast<double>(as_forward);
    spec.fallback = std::to_string(as_forward);
  }
  spec.doc = spec.name + " of the adjoint; " + spec.fallback + ": as forward";
  spec.name = "backward_" + spec.name;
  return spec;
}

// Reads the options of one problem, forward or adjoint.
class SolveReader {
 public:
  SolveReader(const Settings& settings, bool is_adjoint)
      : settings_(settings), is_adjoint_(is_adjoint) {
    for (const OptionSpec& spec : specs_of_a_solve()) {
      specs_.emplace(spec.name, spec);
    }
  }

  const std::string& text(const std::string& option) const {
    const std::string& own = settings_.text("backward_" + option);
    return is_adjoint_ && own != kAsForward ? own : settings_.text(option);
  }
  std::int64_t integer(const std::string& option) const {
    const OptionSpec& spec = specs_.at(option);
    const std::int64_t own = settings_.integer("backward_" + option);
    const std::int64_t as_forward = number_as_forward(spec);
    require(own == as_forward || static_cast<double>(own) >= spec.min,
            "the option backward_{} of engine 'multigrid' must be at least {}, or {} for that of "
            "the forward problem",
            option, spec.min, as_forward);
    return is_adjoint_ && own != as_forward ? own : settings_.integer(option);
  }
  double number(const std::string& option) const {
    const OptionSpec& spec = specs_.at(option);
    const double own = settings_.number("backward_" + option);
    const auto as_forward = static_cast<double>(number_as_forward(spec));
    require(own == as_forward || own >= spec.min,
            "the option backward_{} of engine 'multigrid' must be at least {}, or {} for that of "
            "the forward problem",
            option, spec.min, as_forward);
    return is_adjoint_ && own != as_forward ? own : settings_.number(option);
  }

 private:
  const Settings& settings_;
  bool is_adjoint_;
  std::map<std::string, OptionSpec> specs_;
};

// A share of the training steps, or their number.
std::int64_t read_serial_after(const Settings& settings) {
  const double given = settings.number("serial_after");
  if (given == 0 || given >= 1) {
    return std::llround(given);
  }
  const std::int64_t steps = settings.integer("training_steps");
  require(
      steps > 0,
      "engine 'multigrid': serial_after={} is a share of the training steps, and training_steps "
      "does not say how many there are",
      given);
  return std::max<std::int64_t>(1, std::llround(given * static_cast<double>(steps)));
}

SolveOptions read_solve(const Settings& settings, bool is_adjoint) {
  const SolveReader read(settings, is_adjoint);
  SolveOptions options{.levels = read.integer("levels"),
                       .coarsening = read.integer("coarsening"),
                       .cycles = read.integer("cycles"),
                       .coarsest = read.integer("coarsest"),
                       .relaxations = read.integer("relaxations"),
                       .coarse_relaxations = read.integer("coarse_relaxations"),
                       .relaxation_weight = read.number("relaxation_weight"),
                       .final_fcf = read.text("final_relaxation") == kFcf,
                       .f_cycle = read.text("cycle") == kF,
                       .guess = read_choice<Guess>(kGuesses, read.text("guess")),
                       .tolerance = read.number("tolerance"),
                       .absolute_tolerance = read.number("absolute_tolerance"),
                       .coarse = read_choice<CoarseStep>(kCoarseSteps, read.text("coarse")),
                       .adaptive = settings.integer("adaptive"),
                       .serial_after = read_serial_after(settings),
                       .groups = settings.integer("groups"),
                       .batches = settings.integer("batches"),
                       .classes = settings.integer("classes"),
                       .labels = settings.text("labels"),
                       .guess_memory = settings.integer("guess_memory")};
  require(
      options.relaxation_weight == 1 || options.relaxations > 0 || options.coarse_relaxations > 0,
      "engine 'multigrid': relaxation_weight={} is for relaxations of C-points: set relaxations "
      "or coarse_relaxations",
      options.relaxation_weight);
  require(options.guess != Guess::class_means || (options.classes > 0 && !options.labels.empty()),
          "engine 'multigrid': guess=class-means needs classes, their number, and labels, the name "
          "of the input that tells the class of each example");
  return options;
}

}  // namespace

std::string name(CoarseStep coarse) { return kCoarseSteps[static_cast<std::size_t>(coarse)]; }
std::string name(Guess guess) { return kGuesses[static_cast<std::size_t>(guess)]; }

std::vector<OptionSpec> option_specs() {
  std::vector<OptionSpec> specs = {
      {.name = "when",
       .kind = OptionKind::choice,
       .fallback = kAuto,
       .doc = "when to solve a chain by multigrid instead of step by step; auto: where it is "
              "faster",
       .choices = {kAuto, kAlways, kNever}},
      {"adaptive", OptionKind::integer, "0",
       "every so many training steps a solve is checked against the steps one after the other, "
       "which count in that training step: one more cycle where the cosine of what they do to the "
       "states is below 0.9999, one fewer where it is twice above 0.999999; and one more where the "
       "last cycle before left a quarter of the residual or more, at most once between checks; 0: "
       "the "
       "number of cycles stays",
       0, 1e9},
      {"serial_after", OptionKind::number, "0",
       "training steps after which all chains go step by step, to end with the exact gradient; "
       "below 1: a share of all training steps; 0: never",
       0, 1e15},
      {"groups", OptionKind::integer, "0",
       "of intervals: each is stepped through by one thread, interval by interval; results do not "
       "depend on it; 0: all intervals are one computation, for devices that are wide",
       0, 1024},
      {"training_steps", OptionKind::integer, "0", "in all, for serial_after; recipes know them", 0,
       1e15},
      {"batches", OptionKind::integer, "1",
       "training steps from one solve of a batch to the next, for guess=batch: the batches of an "
       "epoch, which recipes know, in the same order in each",
       1, 1e9},
      {"classes", OptionKind::integer, "0", "number of classes, for guess=class-means", 0, 1e9},
      {"labels", OptionKind::text, "y",
       "name of the input that tells the class of each example, for guess=class-means"},
      {"guess_memory", OptionKind::integer, "1024",
       "MB that the states kept for first guesses of a chain may take", 1, 1e9},
  };
  const std::vector<OptionSpec> both = specs_of_a_solve();
  specs.insert(specs.end(), both.begin(), both.end());
  for (const OptionSpec& spec : both) {
    specs.push_back(of_adjoint(spec));
  }
  return specs;
}

Options read_options(const Settings& settings) {
  const std::string& when = settings.text("when");
  return {
      .when = when == kAlways ? When::always : (when == kNever ? When::never : When::where_faster),
      .forward = read_solve(settings, false),
      .backward = read_solve(settings, true)};
}

EngineChoice always_so(const SolveOptions& options, const Settings& defaults) {
  std::vector<EngineOption> all = {{"when", kAlways},
                                   {"adaptive", options.adaptive},
                                   {"serial_after", options.serial_after},
                                   {"groups", options.groups},
                                   {"batches", options.batches},
                                   {"classes", options.classes},
                                   {"labels", options.labels},
                                   {"guess_memory", options.guess_memory},
                                   {"levels", options.levels},
                                   {"coarsening", options.coarsening},
                                   {"cycles", options.cycles},
                                   {"coarsest", options.coarsest},
                                   {"coarse", name(options.coarse)},
                                   {"relaxations", options.relaxations},
                                   {"coarse_relaxations", options.coarse_relaxations},
                                   {"relaxation_weight", options.relaxation_weight},
                                   {"final_relaxation", options.final_fcf ? kFcf : kF},
                                   {"cycle", options.f_cycle ? kF : kV},
                                   {"guess", name(options.guess)},
                                   {"tolerance", options.tolerance},
                                   {"absolute_tolerance", options.absolute_tolerance}};
  for (const OptionSpec& spec : specs_of_a_solve()) {
    const OptionSpec own = of_adjoint(spec);
    all.push_back({own.name, own.fallback});
  }
  std::vector<EngineOption> named;
  for (const EngineOption& option : all) {
    if (defaults.text(option.name) != option.value) {
      named.push_back(option);
    }
  }
  return {kEngine, std::move(named)};
}

}  // namespace antichain::multigrid
