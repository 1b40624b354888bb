#include "antichain/engines/multigrid/multigrid_options.h"

#include <algorithm>
#include <array>
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
constexpr std::array kGuesses = {"coarse", "first", "zero"};

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
      {.name = "relaxation",
       .kind = OptionKind::choice,
       .fallback = kF,
       .doc = "relaxation on the finest grid: within intervals, or FCF: to their ends and again",
       .choices = {kF, kFcf}},
      {.name = "coarse_relaxation",
       .kind = OptionKind::choice,
       .fallback = kF,
       .doc = "likewise on the grids between the finest and the coarsest",
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
              "first down-cycle), the first state everywhere, or zeros",
       .choices = {kGuesses.begin(), kGuesses.end()}},
      {"tolerance", OptionKind::number, "0",
       "cycles end when the residual is this part of the states; 0: after all cycles", 0, 1},
  };
}

// The same option for the adjoint problem, which is as the forward problem has it where nobody says
// otherwise.
OptionSpec of_adjoint(OptionSpec spec) {
  if (spec.kind == OptionKind::choice) {
    spec.choices.insert(spec.choices.begin(), kAsForward);
    spec.fallback = kAsForward;
    spec.doc = spec.name + " of the adjoint; " + kAsForward + ": as forward";
  } else {
    spec.min = spec.kind == OptionKind::number ? -1 : 0;
    spec.fallback = spec.kind == OptionKind::number ? "-1" : "0";
    spec.doc = spec.name + " of the adjoint; " + spec.fallback + ": as forward";
  }
  spec.name = "backward_" + spec.name;
  return spec;
}

SolveOptions read_solve(const Settings& settings, bool is_adjoint) {
  const auto text = [&](const std::string& option) {
    const std::string& own = settings.text("backward_" + option);
    return is_adjoint && own != kAsForward ? own : settings.text(option);
  };
  const auto integer = [&](const std::string& option) {
    const std::int64_t own = settings.integer("backward_" + option);
    require(own != 1 || option == "cycles",
            "the option backward_{} of engine 'multigrid' must be at least 2, or 0 for that of the "
            "forward problem",
            option);
    return is_adjoint && own != 0 ? own : settings.integer(option);
  };
  const double own_tolerance = settings.number("backward_tolerance");
  return {
      .levels = integer("levels"),
      .coarsening = integer("coarsening"),
      .cycles = integer("cycles"),
      .coarsest = settings.integer("coarsest"),
      .relaxes_fcf = text("relaxation") == kFcf,
      .relaxes_coarse_fcf = text("coarse_relaxation") == kFcf,
      .f_cycle = text("cycle") == kF,
      .guess = read_choice<Guess>(kGuesses, text("guess")),
      .tolerance = is_adjoint && own_tolerance >= 0 ? own_tolerance : settings.number("tolerance"),
      .coarse = read_choice<CoarseStep>(kCoarseSteps, settings.text("coarse")),
      .adaptive = settings.integer("adaptive"),
      .serial_after = settings.integer("serial_after")};
}

}  // namespace

std::string name(CoarseStep coarse) { return kCoarseSteps[static_cast<std::size_t>(coarse)]; }

std::vector<OptionSpec> option_specs() {
  std::vector<OptionSpec> specs = {
      {.name = "when",
       .kind = OptionKind::choice,
       .fallback = kAuto,
       .doc = "when to solve a chain by multigrid instead of step by step; auto: where it is "
              "faster",
       .choices = {kAuto, kAlways, kNever}},
      {.name = "coarse",
       .kind = OptionKind::choice,
       .fallback = kAuto,
       .doc = "the step of coarse grids: matched to second or third order, plain injection, the "
              "body with its step size multiplied, as it is or matched to second order, the same "
              "body; auto: by what the body looks like",
       .choices = {kCoarseSteps.begin(), kCoarseSteps.end()}},
      {"coarsest", OptionKind::integer, "2", "a grid has at least so many steps", 2, 1e6},
      {"adaptive", OptionKind::integer, "0",
       "every so many training steps a solve is checked against the steps one after the other, "
       "which "
       "count in that training step: one more cycle where the cosine of what they do to the states "
       "is below 0.9999, one fewer where it is twice above 0.999999; 0: the number of cycles stays",
       0, 1e9},
      {"serial_after", OptionKind::integer, "0",
       "training steps after which all chains go step by step, to end with the exact gradient; 0: "
       "never",
       0, 1e15},
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
  const std::vector<EngineOption> all = {
      {"when", kAlways},
      {"coarse", name(options.coarse)},
      {"coarsest", options.coarsest},
      {"adaptive", options.adaptive},
      {"serial_after", options.serial_after},
      {"levels", options.levels},
      {"coarsening", options.coarsening},
      {"cycles", options.cycles},
      {"relaxation", options.relaxes_fcf ? kFcf : kF},
      {"coarse_relaxation", options.relaxes_coarse_fcf ? kFcf : kF},
      {"cycle", options.f_cycle ? kF : kV},
      {"guess", kGuesses[static_cast<std::size_t>(options.guess)]},
      {"tolerance", options.tolerance},
      {"backward_levels", 0},
      {"backward_coarsening", 0},
      {"backward_cycles", 0},
      {"backward_relaxation", kAsForward},
      {"backward_coarse_relaxation", kAsForward},
      {"backward_cycle", kAsForward},
      {"backward_guess", kAsForward},
      {"backward_tolerance", -1}};
  std::vector<EngineOption> named;
  for (const EngineOption& option : all) {
    if (defaults.text(option.name) != option.value) {
      named.push_back(option);
    }
  }
  return {kEngine, std::move(named)};
}

}  // namespace antichain::multigrid
