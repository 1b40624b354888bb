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
      one_of("feedback", "no",
             "whether modes layer and full learn to predict gradients from that of the last site",
             kYesNo),
      {"at_once", kInteger, "0", "copies that are computed at once; 0: all", 0, 65'536},
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
  require(!options.antithetic || options.copies % 2 == 0,
          "engine 'likelihood': copies={} cannot be paired; take an even number or antithetic=no",
          options.copies);
  const bool is_left_out = options.baseline == Baseline::leave_one_out && !options.antithetic;
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
      !options.learns_feedback ||
          ((options.mode == Mode::layer || options.mode == Mode::full) && options.keeps_last),
      "engine 'likelihood': feedback=yes predicts from the exact gradient of the last site; take "
      "it with mode=layer or mode=full, and last=exact");
  return options;
}

}  // namespace antichain::likelihood
