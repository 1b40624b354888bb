// What can be set about the engine `likelihood`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "antichain/base/settings.h"

namespace antichain::likelihood {

/// Where noise goes, and whose gradients are estimated from it.
enum class Mode {
  mixed,    // values of a few sites, the others are differentiated exactly
  layer,    // values of every site, one site at a time
  full,     // values of all sites at once
  weights,  // the parameters: evolution strategies
  forward,  // the parameters, along which the derivative is exact: forward gradients
};
enum class NoiseKind { hadamard, rademacher, gaussian, laplace };
enum class Baseline { clean, leave_one_out, none };

struct Options {
  Mode mode = Mode::mixed;
  std::int64_t copies = 0;  // of a site, both of an antithetic pair counted
  NoiseKind noise = NoiseKind::hadamard;
  double sigma = 0;
  bool antithetic = false;
  Baseline baseline = Baseline::clean;
  bool masks_inactive = true;  // no noise, and no gradient, where the relu behind a site is 0
  bool keeps_last = true;      // the last site is differentiated exactly
  std::int64_t cuts = 1;
  std::string cut = {};  // scopes of the sites to cut at; empty: where needed, or the narrowest
  bool allocates_by_cost = false;
  bool learns_feedback = false;
  std::int64_t at_once = 0;  // copies that are computed at once; 0: see copies_at_once
  bool keeps_values = false;
  bool reports = true;
  std::int64_t watch = 0;

  /// Returns how often noise is drawn: once for both of an antithetic pair.
  std::int64_t draws(std::int64_t of_copies) const {
    return antithetic ? of_copies / 2 : of_copies;
  }
};

std::vector<OptionSpec> option_specs();
/// Throws InvalidArgument where options do not go together.
Options read_options(const Settings& settings);

}  // namespace antichain::likelihood
