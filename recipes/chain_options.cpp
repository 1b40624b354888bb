#include "recipes/chain_options.h"

#include <iterator>

#include "antichain/base/error.h"
#include "antichain/ops/scans/affine_scan.h"

namespace antichain {

namespace {

constexpr const char *kStepByStep = "serial", *kChosen = "auto";

}  // namespace

std::vector<RecipeOption> with_chain_options(std::vector<RecipeOption> options) {
  std::vector<RecipeOption> own = {
      {.name = "forward",
       .kind = OptionKind::choice,
       .fallback = kStepByStep,
       .doc = "how the chain's states are found; newton: all steps at once, again and again",
       .choices = {kStepByStep, kForwardNewton}},
      {"tolerance", OptionKind::number, "0",
       "of forward=newton, as a part of the largest state; 0: what the precision allows", 0, 1},
      {.name = "scan_algorithm",
       .kind = OptionKind::choice,
       .fallback = kChosen,
       .doc = "of engine=scan; auto: a scan where it is faster, by the algorithm that is",
       .choices = {kChosen, kScanSerial, kScanBlelloch, kScanHybrid, kScanChunked}},
      {"scan_chunk", OptionKind::integer, "0",
       "steps that hybrid and chunked keep together; 0: chosen", 0, 1e9},
  };
  std::ranges::move(own, std::back_inserter(options));
  return options;
}

ForwardOptions forward_of(const Recipe& recipe, const RecipeSettings& settings) {
  if (!recipe.engine_for_chain || settings.text("forward") == kStepByStep) {
    return {};
  }
  return {.method = settings.text("forward"), .tolerance = settings.number("tolerance")};
}

void set_scan_options(const Recipe& recipe, const RecipeSettings& settings,
                      SessionOptions& options) {
  if (!recipe.engine_for_chain) {
    return;
  }
  const std::string& algorithm = settings.text("scan_algorithm");
  const std::int64_t chunk = settings.integer("scan_chunk");
  require(chunk == 0 || algorithm == kScanHybrid || algorithm == kScanChunked,
          "scan_chunk is for scan_algorithm=hybrid and scan_algorithm=chunked");
  if (algorithm != kChosen) {
    options.always_scan = true;
    options.scan_algorithm = algorithm;
    options.scan_chunk = chunk;
  }
}

}  // namespace antichain
