#include "antichain/engines/likelihood/likelihood_options.h"

#include <algorithm>

#include "antichain/base/error.h"

namespace antichain::likelihood {

namespace {

const std::vector<std::string> kModes = {"mixed", "layer", "full", "weights", "forward"};
const std::vector<std::string> kNoises = {"hadamard", "rademacher", "gaussian", "laplace"};
const std::vector<std::string> kBaselines = {"clean", "leave-one-out", "none"};
const std::vector<std::string> kYesNo = {"yes", "no"};

OptionSpec one_of(std::string name, std::string fallback, std::string doc,
                  const std::vector<std::string>& choices) {
  return {.name = std::move(name),
          .kind = OptionKind::choice,
          .fallback = std::move(fallback),
          .doc = std::move(doc),
          .choices = choices};
}

template <class E>
E chosen(const Settings& settings, const char* option, const std::vector<std::string>& names) {
  return static_cast<E>(std::ranges::find(names, settings.text(option)) - names.begin());
}

bool is_on_parameters(Mode mode) { return mode == Mode::weights || mode == Mode::forward; }

// Refuses what would be set without being read.
void require_effects(const Settings& settings, const Options& options) {
  const Mode mode = options.mode;
  const auto refuse = [&](bool is_read, const char* option, const char* why) {
    require(is_read, "engine 'likelihood': {}={} does nothing {}; leave it out", option,
            settings.text(option), why);
  };
  const bool is_mixed = mode == Mode::mixed, is_of_parameters = is_on_parameters(mode);
  refuse(options.cut.empty() || is_mixed, "cut", "outside of mode=mixed");
  refuse(options.cuts == 1 || is_mixed, "cuts", "outside of mode=mixed");
  refuse(options.cuts == 1 || options.cut.empty(), "cuts", "where cut names the sites");
  refuse(options.baseline == Baseline::clean || !options.antithetic, "baseline",
         "where antithetic=yes takes the difference of two runs");
  refuse(options.baseline == Baseline::clean || mode != Mode::forward, "baseline",
         "where mode=forward takes slopes");
  refuse(!options.allocates_by_cost || mode == Mode::layer || is_mixed, "allocation",
         "where all copies have noise everywhere");
  refuse(!options.keeps_values || mode == Mode::layer || mode == Mode::full, "keep",
         "outside of modes layer and full");
  refuse(options.keeps_last || mode == Mode::layer || mode == Mode::full, "last",
         "outside of modes layer and full");
  refuse(options.masks_inactive || !is_of_parameters, "inactive", "where noise is on parameters");
}

void require_copies(const Options& options) {
  require(!options.antithetic || options.copies % 2 == 0,
          "engine 'likelihood': copies={} cannot be paired; take an even number or antithetic=no",
          options.copies);
  const bool is_left_out = options.baseline == Baseline::leave_one_out;
  require(!is_left_out || options.noise != NoiseKind::hadamard,
          "engine 'likelihood': baseline=leave-one-out needs copies that are drawn independently, "
          "and those of noise=hadamard are not; take baseline=clean or another noise");
  require(!is_left_out || options.copies > 1,
          "engine 'likelihood': baseline=leave-one-out leaves nothing of copies=1; take 2 or more");
  require(options.at_once == 0 || options.copies % options.at_once == 0,
          "engine 'likelihood': copies={} is no multiple of at_once={}", options.copies,
          options.at_once);
  require(!options.antithetic || options.at_once != 1,
          "engine 'likelihood': at_once=1 parts antithetic pairs; take 2");
  require(
      !options.learns_feedback || (!is_on_parameters(options.mode) && options.keeps_last),
      "engine 'likelihood': feedback=yes predicts from the exact gradient of a site behind; take "
      "it with mode=mixed, layer or full, and last=exact");
}

}  // namespace

std::vector<OptionSpec> option_specs() {
  constexpr double kSmallestSigma = 1e-9, kLargestSigma = 1e3;
  return {
      one_of("mode", "mixed",
             "noise on: a few sites (exact derivatives elsewhere), every site one at a time, all "
             "sites at once; or on the parameters: evolution strategies, forward gradients",
             kModes),
      {"copies", kInteger, "32", "noisy runs per site", 1, 65'536},
      one_of("noise", "hadamard", "its distribution; hadamard: orthogonal rows of -1 and 1",
             kNoises),
      {"sigma", kNumber, "0.01", "deviation of the noise", kSmallestSigma, kLargestSigma},
      one_of("antithetic", "no", "whether runs come in pairs with noise of opposite signs", kYesNo),
      one_of("baseline", "clean", "what is subtracted from the loss of a noisy run", kBaselines),
      one_of("inactive", "masked", "units that the relu behind them sets to 0",
             {"masked", "noisy"}),
      one_of("last", "exact", "the gradient of the last site, for modes layer and full",
             {"exact", "estimated"}),
      {"cuts", kInteger, "1",
       "sites that mode=mixed cuts at, the narrowest, where ops have derivatives everywhere", 1,
       1000},
      {.name = "cut",
       .kind = OptionKind::text,
       .fallback = "auto",
       .doc = "scopes of the sites that mode=mixed cuts at, with + between them; auto: by cuts"},
      one_of("allocation", "equal", "how modes layer and mixed divide copies among sites",
             {"equal", "cost"}),
      one_of(
          "feedback", "no",
          "whether gradients at sites are predicted, by a learned matrix, from those at the next",
          kYesNo),
      {"at_once", kInteger, "0", "copies that are computed at once; 0: as many as the caches hold",
       0, 65'536},
      one_of("keep", "no", "whether modes layer and full keep the values of the clean run", kYesNo),
      one_of("report", "yes", "whether standard errors and runs are reported", kYesNo),
      {"watch", kInteger, "0",
       "steps from one comparison with back-propagation to the next; 0: never", 0, 1e9},
  };
}

Options read_options(const Settings& settings) {
  Options options;
  options.mode = chosen<Mode>(settings, "mode", kModes);
  options.copies = settings.integer("copies");
  options.noise = chosen<NoiseKind>(settings, "noise", kNoises);
  options.sigma = settings.number("sigma");
  options.antithetic = settings.text("antithetic") == "yes";
  options.baseline = chosen<Baseline>(settings, "baseline", kBaselines);
  options.masks_inactive = settings.text("inactive") == "masked";
  options.keeps_last = settings.text("last") == "exact";
  options.cuts = settings.integer("cuts");
  options.cut = settings.text("cut") == "auto" ? "" : settings.text("cut");
  options.allocates_by_cost = settings.text("allocation") == "cost";
  options.learns_feedback = settings.text("feedback") == "yes";
  options.at_once = settings.integer("at_once");
  options.keeps_values = settings.text("keep") == "yes";
  options.reports = settings.text("report") == "yes";
  options.watch = settings.integer("watch");
  require_effects(settings, options);
  require_copies(options);
  return options;
}

}  // namespace antichain::likelihood
