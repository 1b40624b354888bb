#include "antichain/engines/hashing/hashing_options.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "antichain/base/error.h"
#include "antichain/base/usable_memory.h"

namespace antichain::hashing {

namespace {

// So many ids in a bucket on average: fewer find too little, more find what is not near.
constexpr std::int64_t kUnitsPerBucket = 48;
// Tables are int32, and a session has other uses for memory; no more than the machine has, either.
constexpr double kMostTableBytes = 8e9;

OptionSpec choice_option(std::string name, std::string fallback, std::string doc,
                         std::vector<std::string> choices) {
  return {.name = std::move(name),
          .kind = OptionKind::choice,
          .fallback = std::move(fallback),
          .doc = std::move(doc),
          .choices = std::move(choices)};
}

std::int64_t position(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) - names.begin();
}

const std::vector<std::string> kSelectionNames = {"vanilla", "threshold", "top"};
const std::vector<std::string> kPolicyNames = {"fifo", "reservoir"};

// As many bits as make buckets of kUnitsPerBucket, in whole pieces.
std::int64_t default_pieces(std::int64_t units, int bits_per_piece) {
  const auto buckets =
      static_cast<std::uint64_t>(std::max<std::int64_t>(2, units / kUnitsPerBucket));
  return std::max<std::int64_t>(1, (std::bit_width(buckets) - 1) / bits_per_piece);
}

// Units that an example needs for itself cost rows of memory that nobody else reads; those drawn
// for all examples are one dense product, and as many as keep what they estimate near enough. With
// half as many of the former and more of the latter a step takes less, and an epoch learns more.
constexpr std::int64_t kUsualOwn = 32, kFewestDrawn = 512, kMostDrawn = 2048, kUnitsPerDrawn = 20;
constexpr std::int64_t kFewestOwn = 8;  // true labels are among them
// Of all examples together.
constexpr std::int64_t kUnitsPerShared = 16, kFewestShared = 1024, kMostShared = 4096;
// A GPU computes more of them in no more time, and is given more examples with labels at once.
constexpr std::int64_t kMostSharedOfGpu = 16384;

void choose_active(Options& options, std::int64_t units) {
  ActiveOptions& active = options.active;
  if (active.active == 0 && options.share == 0 && active.shared) {
    const std::int64_t most = options.device == DeviceKind::cpu ? kMostShared : kMostSharedOfGpu;
    active.active = std::clamp(units / kUnitsPerShared, kFewestShared, most);
    active.drawn = active.active / 2;
  } else if (active.active == 0 && options.share == 0) {
    active.drawn = std::clamp(units / kUnitsPerDrawn, kFewestDrawn, kMostDrawn);
    active.active = active.drawn + kUsualOwn;
  } else {
    if (active.active == 0) {
      active.active = std::llround(options.share * static_cast<double>(units));
    }
    active.active = std::clamp<std::int64_t>(active.active, 1, units);
    active.drawn = std::min<std::int64_t>(
        std::llround(options.drawn_share * static_cast<double>(active.active)),
        active.active - std::min(kFewestOwn, active.active));
  }
  if (active.active >= units) {
    active.active = units;
    active.drawn = std::max<std::int64_t>(0, units - kUsualOwn);
  }
}

}  // namespace

std::vector<OptionSpec> option_specs(DeviceKind device) {
  const std::string whose = device == DeviceKind::cpu ? "example" : "batch";
  return {
      choice_option("family", "simhash", "hash functions", HashSpec::family_names()),
      choice_option("transform", "norms", "how inner products of rows become angles",
                    HashSpec::transform_names()),
      {"K", kInteger, "0", "pieces of a code; 0: by the number of units", 0, HashSpec::kMostBits},
      {"L", kInteger, "24", "hash tables", 1, 4096},
      {"range", kInteger, "0",
       "buckets of a table that codes are folded into; 0: one for each code", 0,
       1 << HashSpec::kMostBits},
      {"probes", kInteger, "1", "buckets looked into per table", 1, HashSpec::kMostBits + 1},
      {"bucket", kInteger, "128", "units that a bucket holds", 1, 1e9},
      choice_option("policy", "reservoir", "which units stay in a bucket that is full",
                    kPolicyNames),
      choice_option("select", "top", "which units that tables give are taken", kSelectionNames),
      {"threshold", kInteger, "2", "tables that have to give a unit, for select=threshold", 1,
       4096},
      {"active", kInteger, "0",
       "units that are computed; 0: by `share` or, if that is 0, by the number of units", 0, 1e9},
      {"share", kNumber, "0", "part of the units that are computed, if `active` is 0", 0, 1},
      {"drawn", kNumber, "0.25",
       "part of `active`, or of `share`, that is drawn evenly, the same for all examples, at least",
       0, 1},
      choice_option("for", whose, "who has active units of its own", {"example", "batch"}),
      {"rehash", kInteger, "50", "steps from one hashing of rows to the next, at first", 1, 1e9},
      {"rehash_growth", kNumber, "1.2", "factor by which these steps become more each time", 1, 10},
      choice_option("rehash_rows", "used", "which rows are hashed then", {"used", "all"}),
      {"drift", kNumber, "0",
       "part of the codes that is out of date before rows are hashed; 0: any", 0, 1},
      {"new_functions", kInteger, "0",
       "steps from one draw of hash functions to the next; 0: never", 0, 1e9},
      choice_option("updates", "ordered",
                    "how rows are updated: each once, with the same bits in every run, or hogwild: "
                    "by every example at once without locks, so that no two runs are the same",
                    {"ordered", "hogwild"}),
      choice_option("inference", "dense",
                    "how evaluation computes the layers; hashed also means when=always",
                    {"dense", "hashed"}),
      {"inference_share", kNumber, "0",
       "part of the units that evaluation computes, for inference=hashed; 0: as in training", 0, 1},
      choice_option("when", "where_faster", "whether to hash layers for which that is slower",
                    {"where_faster", "always"}),
  };
}

Options read_options(const Settings& settings, DeviceKind device) {
  Options options;
  options.device = device;
  options.spec = {.family = static_cast<HashFamily>(
                      position(HashSpec::family_names(), settings.text("family"))),
                  .transform = static_cast<HashTransform>(
                      position(HashSpec::transform_names(), settings.text("transform"))),
                  .pieces = settings.integer("K"),
                  .tables = settings.integer("L"),
                  .range = settings.integer("range")};
  options.tables = {
      .bucket = settings.integer("bucket"),
      .policy = static_cast<BucketPolicy>(position(kPolicyNames, settings.text("policy")))};
  options.active = {
      .active = settings.integer("active"),
      .selection = static_cast<Selection>(position(kSelectionNames, settings.text("select"))),
      .threshold = settings.integer("threshold"),
      .shared = settings.text("for") == "batch"};
  options.share = settings.number("share");
  options.drawn_share = settings.number("drawn");
  options.probes = settings.integer("probes");
  options.rehash = settings.integer("rehash");
  options.rehash_growth = settings.number("rehash_growth");
  options.rehash_all = settings.text("rehash_rows") == "all";
  options.drift = settings.number("drift");
  options.new_functions = settings.integer("new_functions");
  options.updates =
      settings.text("updates") == "hogwild" ? RowUpdates::lock_free : RowUpdates::ordered;
  options.hashed_inference = settings.text("inference") == "hashed";
  options.inference_share = settings.number("inference_share");
  options.when = settings.text("when") == "always" || options.hashed_inference ? When::always
                                                                               : When::where_faster;
  return options;
}

Options for_layer(Options options, std::int64_t units, std::int64_t features) {
  options.spec.features = features;
  if (options.spec.pieces == 0) {
    options.spec.pieces = default_pieces(units, options.spec.bits_per_piece());
  }
  require(options.spec.bits() <= HashSpec::kMostBits,
          "engine 'hashing': K={} pieces of {} bits make codes of {} bits, at most {} can be",
          options.spec.pieces, options.spec.bits_per_piece(), options.spec.bits(),
          HashSpec::kMostBits);
  require(
      options.probes <= options.spec.pieces + 1,
      "engine 'hashing': probes={}, but codes of K={} pieces have {} that differ in one at most",
      options.probes, options.spec.pieces, options.spec.pieces + 1);
  const double bytes =
      4.0 * static_cast<double>(options.spec.tables) *
      (static_cast<double>(options.spec.num_codes()) + 2.0 * static_cast<double>(units));
  const double most = std::min(kMostTableBytes, static_cast<double>(usable_memory()));
  require(bytes <= most,
          "engine 'hashing': L={} tables of {} buckets for {} units take {:.1f} GB, at most {:.1f} "
          "are used; a smaller range, fewer pieces (K) or tables (L) take less",
          options.spec.tables, options.spec.num_codes(), units, bytes / 1e9, most / 1e9);
  options.tables.num_codes = options.spec.num_codes();
  options.active.units = units;
  choose_active(options, units);
  return options;
}

}  // namespace antichain::hashing
