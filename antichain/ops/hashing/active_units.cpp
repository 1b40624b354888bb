#include "antichain/ops/hashing/active_units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "antichain/base/philox.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/hashing/hash_codes.h"
#include "antichain/ops/hashing/largest_norm.h"
#include "antichain/ops/reference/checked_indices.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

namespace {

constexpr std::array<const char*, 3> kSelections = {"vanilla", "threshold", "top"};
constexpr int kCodes = 0, kStarts = 1, kIds = 2, kStep = 3, kLabels = 4, kRowStarts = 5;

std::vector<VarType> infer_active_units(InferContext& context) {
  const bool labels = context.num_inputs() > kLabels;
  context.require_inputs(labels ? kRowStarts + 1 : kLabels);
  for (const int input : {kCodes, kStarts, kIds}) {
    context.require_dtype(input, {DType::i32});
    context.require_rank(input, input == kCodes ? 3 : 2);
  }
  context.require_dtype(kStep, {DType::i64});
  context.require_rank(kStep, 0);
  const Dims& codes = context.shape(kCodes);
  context.unify(codes[1], context.shape(kStarts)[0], "the numbers of tables of codes and starts");
  context.unify(codes[1], context.shape(kIds)[0], "the numbers of tables of codes and ids");
  const Attrs& attrs = context.attrs();
  const std::int64_t units = attrs.get<std::int64_t>("units"),
                     active = attrs.get<std::int64_t>("active");
  context.unify(context.shape(kIds)[1], units, "ids of a table and units");
  require(active >= 1 && active <= units, "{}: {} of {} units cannot be active", context.op_name(),
          active, units);
  require(std::ranges::count(kSelections, attrs.get<std::string>("selection")) == 1,
          "{}: there is no selection '{}'", context.op_name(), attrs.get<std::string>("selection"));
  Dim num_labels = 0;
  if (labels) {
    for (const int input : {kLabels, kRowStarts}) {
      context.require_dtype(input, {DType::i32, DType::i64});
      context.require_rank(input, 1);
    }
    context.unify(context.shape(kRowStarts)[0], codes[0] + 1, "row_starts and examples and one");
    num_labels = context.shape(kLabels)[0];
  }
  const ActiveOptions options = active_options(attrs);
  require(options.drawn >= 0 && options.drawn <= active,
          "{}: {} of {} active units cannot be drawn", context.op_name(), options.drawn, active);
  const Dim count = codes[0] * options.own(), common = options.common();
  return {{DType::i64, {count}},      {DType::f32, {count}},
          {DType::i64, {common}},     {DType::f32, {options.shared ? Dim(1) : codes[0], common}},
          {DType::i64, {num_labels}}, {DType::i64, {}}};
}

// Builds the active units of one example, or of all.
class Choice {
 public:
  explicit Choice(const ActiveOptions& options) : options_(options) {}

  /// Makes a unit active that has to be.
  void add_label(std::int64_t id) { add(id); }
  void add_found(std::int64_t id) { ++counts_[id], first_seen_.push_back(id); }

  /// Chooses among what was found; returns how many are active by that.
  std::int64_t choose(const DrawnIds& draws) {
    const std::int64_t room = std::max<std::int64_t>(0, options_.active - options_.drawn - size());
    std::vector<std::int64_t> candidates;
    const std::int64_t least = options_.selection == Selection::threshold ? options_.threshold : 1;
    for (const std::int64_t id : first_seen_) {
      if (places_.contains(id) || counts_[id] < least) {
        continue;
      }
      candidates.push_back(id);
      places_[id] = 0;  // for now: each is a candidate once
    }
    for (const std::int64_t id : candidates) {
      places_.erase(id);
    }
    const auto rotated = [&](std::int64_t id) {
      return (id - draws.rotation() + options_.units) % options_.units;
    };
    if (options_.shared) {
      std::ranges::sort(candidates, {}, rotated);
    }
    if (options_.shared || options_.selection == Selection::top) {
      std::ranges::stable_sort(candidates, std::greater(),
                               [this](std::int64_t id) { return counts_[id]; });
    }
    candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(room)));
    for (const std::int64_t id : candidates) {
      add(id);
    }
    return static_cast<std::int64_t>(candidates.size());
  }

  /// Draws what is still missing; returns the correction of what was drawn.
  float draw(DrawnIds draws) {
    known_ = size();
    while (size() < options_.active) {
      const std::int64_t id = draws.next();
      if (!places_.contains(id)) {
        add(id);
      }
    }
    const auto drawn = static_cast<double>(options_.active - known_);
    return static_cast<float>(
        drawn == 0 ? 0 : std::log(static_cast<double>(options_.units - known_) / drawn));
  }

  std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }
  std::int64_t known() const { return known_; }  // those that were not drawn
  const std::vector<std::int64_t>& ids() const { return ids_; }

 private:
  void add(std::int64_t id) {
    if (places_.try_emplace(id, ids_.size()).second) {
      ids_.push_back(id);
    }
  }

  const ActiveOptions& options_;
  std::map<std::int64_t, std::size_t> places_;
  std::map<std::int64_t, std::int64_t> counts_;
  std::vector<std::int64_t> ids_, first_seen_;
  std::int64_t known_ = 0;
};

class Reference {
 public:
  explicit Reference(KernelContext& context)
      : context_(context),
        options_(active_options(*context.attrs)),
        draws_(options_.units, context.in(kStep).item<std::int64_t>()),
        step_(context.in(kStep).item<std::int64_t>()),
        codes_(load<std::int64_t>(context.in(kCodes))),
        starts_(load<std::int64_t>(context.in(kStarts))),
        table_ids_(load<std::int64_t>(context.in(kIds))) {
    if (context.num_inputs() > kLabels) {
      labels_ = checked_indices(context, kLabels, options_.units);
      check_row_starts(context, kRowStarts, static_cast<std::int64_t>(labels_.size()));
      row_starts_ = load<std::int64_t>(context.in(kRowStarts));
      slots_.resize(labels_.size());
    }
  }

  void run() {
    options_.shared ? run_shared() : run_each();
    store(slots_, context_.out(4));
    *context_.out(5).data<std::int64_t>() = found_;
  }

 private:
  std::int64_t examples() const { return context_.in(kCodes).shape()[0]; }
  std::int64_t tables() const { return context_.in(kCodes).shape()[1]; }

  void add_labels(std::int64_t example, Choice& choice) {
    if (row_starts_.empty()) {
      return;
    }
    const auto at = static_cast<std::size_t>(example);
    for (std::int64_t k = row_starts_[at]; k < row_starts_[at + 1]; ++k) {
      choice.add_label(labels_[static_cast<std::size_t>(k)]);
    }
    const std::int64_t room = options_.shared ? options_.active : options_.own();
    require<DataError>(choice.size() <= room,
                       "{}: {} units have to be active for their labels, there is room for {}",
                       context_.where, choice.size(), room);
  }

  // Notes where the values of an example's labels stand, given where those of units do.
  void place_labels(std::int64_t example, const std::map<std::int64_t, std::int64_t>& places) {
    if (row_starts_.empty()) {
      return;
    }
    const auto at = static_cast<std::size_t>(example);
    for (std::int64_t k = row_starts_[at]; k < row_starts_[at + 1]; ++k) {
      const auto label = static_cast<std::size_t>(k);
      slots_[label] = example * options_.active + places.at(labels_[label]);
    }
  }

  void add_buckets(std::int64_t example, Choice& choice) const {
    const std::int64_t probes = context_.in(kCodes).shape()[2];
    const std::int64_t num_starts = context_.in(kStarts).shape()[1];
    for (std::int64_t k = 0; k < tables(); ++k) {
      const std::int64_t table = (step_ + k) % tables();
      for (std::int64_t probe = 0; probe < probes; ++probe) {
        const std::int64_t code =
            codes_[static_cast<std::size_t>((example * tables() + table) * probes + probe)];
        const auto bucket = static_cast<std::size_t>(table * num_starts + code);
        for (std::int64_t i = starts_[bucket]; i < starts_[bucket + 1]; ++i) {
          choice.add_found(table_ids_[static_cast<std::size_t>(table * options_.units + i)]);
        }
      }
    }
  }

  void run_each() {
    std::int64_t* ids = context_.out(0).data<std::int64_t>();
    float* correction = context_.out(1).data<float>();
    float* common_correction = context_.out(3).data<float>();
    std::map<std::int64_t, std::int64_t> common;
    DrawnIds walk = draws_;
    for (std::int64_t place = 0; place < options_.common(); ++place) {
      const std::int64_t id = walk.next();
      common.emplace(id, place);
      context_.out(2).data<std::int64_t>()[place] = id;
    }
    for (std::int64_t example = 0; example < examples(); ++example) {
      Choice choice(options_);
      add_labels(example, choice);
      add_buckets(example, choice);
      found_ += choice.choose(draws_);
      const float of_drawn = choice.draw(draws_);
      std::map<std::int64_t, std::int64_t> places;
      std::int64_t own = 0;
      for (std::int64_t i = 0; i < options_.active; ++i) {
        const std::int64_t id = choice.ids()[static_cast<std::size_t>(i)];
        const float of_unit = i < choice.known() ? 0 : of_drawn;
        if (const auto found = common.find(id); found != common.end()) {
          common_correction[example * options_.common() + found->second] = of_unit;
          places.emplace(id, options_.own() + found->second);
        } else {
          *ids++ = id;
          *correction++ = of_unit;
          places.emplace(id, own++);
        }
      }
      place_labels(example, places);
    }
  }

  void run_shared() {
    Choice choice(options_);
    for (std::int64_t example = 0; example < examples(); ++example) {
      add_labels(example, choice);
    }
    for (std::int64_t example = 0; example < examples(); ++example) {
      add_buckets(example, choice);
    }
    found_ = choice.choose(draws_);
    const float of_drawn = choice.draw(draws_);
    std::map<std::int64_t, float> sorted;
    for (std::int64_t i = 0; i < choice.size(); ++i) {
      sorted[choice.ids()[static_cast<std::size_t>(i)]] = i < choice.known() ? 0 : of_drawn;
    }
    std::map<std::int64_t, std::int64_t> places;
    std::int64_t* ids = context_.out(2).data<std::int64_t>();
    float* correction = context_.out(3).data<float>();
    for (const auto& [id, value] : sorted) {
      places.emplace(id, static_cast<std::int64_t>(places.size()));
      *ids++ = id;
      *correction++ = value;
    }
    for (std::int64_t example = 0; example < examples(); ++example) {
      place_labels(example, places);
    }
  }

  KernelContext& context_;
  ActiveOptions options_;
  DrawnIds draws_;
  std::int64_t step_;
  std::vector<std::int64_t> codes_, starts_, table_ids_, labels_, row_starts_, slots_;
  std::int64_t found_ = 0;
};

// Codes and tables of three tables with five codes for eleven units.
struct SampleTables {
  std::vector<std::int64_t> codes = {0, 3, 1, 4, 4, 2, 2, 0, 0, 1, 1, 3};  // of 4 examples
  std::vector<std::int64_t> of_units = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0,   //
                                        3, 3, 1, 1, 0, 0, 2, 2, 4, 4, 3,   //
                                        1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1};
};

Sample active_sample(const char* label, const ActiveOptions& options, bool labels) {
  const SampleTables tables;
  std::vector<SampleInput> inputs = {indices_of({4, 3, 1}, tables.codes, DType::i32),
                                     indices_of({3, 11}, tables.of_units, DType::i32)};
  inputs[1].fixed_size = true;
  if (labels) {
    inputs.push_back(indices_of({5}, {7, 2, 10, 2, 0}));
    inputs.push_back(indices_of({5}, {0, 2, 2, 4, 5}));
  }
  return {label, inputs, [options, labels](Graph& graph, Inputs in) {
            const HashTables sorted = hash_tables(in[1], {.num_codes = 5, .bucket = 4});
            const ActiveUnits units =
                active_units(in[0], sorted, labels ? LabelRows{in[2], in[3]} : LabelRows{},
                             scalar(graph, i64, 5), options);
            return std::vector<Var>{units.ids,   units.correction,        units.common,
                                    units.slots, units.common_correction, units.found};
          }};
}

std::vector<Sample> active_units_samples() {
  const auto options = [](std::int64_t active, Selection selection, bool shared = false) {
    return ActiveOptions{
        .units = 11, .active = active, .drawn = 1, .selection = selection, .shared = shared};
  };
  return {active_sample("vanilla", options(5, Selection::vanilla), true),
          active_sample("threshold", options(6, Selection::threshold), true),
          active_sample("top", options(4, Selection::top), true),
          active_sample("no labels", options(5, Selection::top), false),
          active_sample("all of them", options(11, Selection::top), true),
          active_sample("shared", options(7, Selection::top, true), true),
          active_sample("shared, threshold", options(8, Selection::threshold, true), true),
          active_sample("shared, no labels", options(6, Selection::vanilla, true), false)};
}

// Returns y with x y = 1 modulo m, for x without a common factor with m (Euclid's algorithm).
std::int64_t inverse_modulo(std::int64_t x, std::int64_t m) {
  std::int64_t rest = m, other = x % m, factor = 0, other_factor = 1;
  while (other != 0) {
    const std::int64_t quotient = rest / other;
    rest = std::exchange(other, rest - quotient * other);
    factor = std::exchange(other_factor, factor - quotient * other_factor);
  }
  return factor < 0 ? factor + m : factor;
}

}  // namespace

ActiveOptions active_options(const Attrs& attrs) {
  const auto selection = std::ranges::find(kSelections, attrs.get<std::string>("selection"));
  return {.units = attrs.get<std::int64_t>("units"),
          .active = attrs.get<std::int64_t>("active"),
          .drawn = attrs.get<std::int64_t>("drawn"),
          .selection = static_cast<Selection>(selection - kSelections.begin()),
          .threshold = attrs.get<std::int64_t>("threshold"),
          .shared = attrs.get<bool>("shared")};
}

std::int64_t DrawnIds::stride(std::int64_t units) {
  // Steps of about the golden ratio spread evenly.
  constexpr double kGoldenRatio = 0.6180339887498949;
  auto stride = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(kGoldenRatio * static_cast<double>(units)));
  while (std::gcd(stride, units) != 1) {
    ++stride;
  }
  return stride;
}

DrawnIds::DrawnIds(std::int64_t units, std::int64_t step) : units_(units), stride_(stride(units)) {
  const PhiloxBlock block =
      philox({}, {static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32), 0, 0});
  first_ = static_cast<std::int64_t>(block[0] % static_cast<std::uint64_t>(units));
  at_ = first_;
  inverse_ = inverse_modulo(stride_, units);
}

const OpDef& active_units_def() {
  static const OpDef def{
      .name = "active_units",
      .doc =
          "The units of a wide layer that examples, or a batch, compute: true labels, what hash "
          "tables give for their codes, and others drawn evenly with the correction for it.",
      .attributes = {{"units", "of the layer"},
                     {"active", "chosen"},
                     {"drawn", "of these, drawn evenly at least"},
                     {"selection", "vanilla, threshold or top"},
                     {"threshold", "tables that have to give a unit"},
                     {"shared", "by all examples of a batch"}},
      .dtypes = {DType::i32},
      .infer = infer_active_units,
      .no_gradient = "which units are chosen are integers",
      .vmap_serially = "examples choose by themselves anyway",
      .reference = [](KernelContext& context) { Reference(context).run(); },
      .samples = active_units_samples,
  };
  return def;
}

ActiveUnits active_units(Var codes, const HashTables& tables, const LabelRows& truth, Var step,
                         const ActiveOptions& options) {
  std::vector<Var> inputs = {codes, tables.starts, tables.ids, step};
  if (truth.labels.valid()) {
    inputs.insert(inputs.end(), {truth.labels, truth.row_starts});
  }
  const std::vector<Var> outputs =
      codes.graph()
          .add(
              active_units_def(), inputs,
              {{"units", options.units},
               {"active", options.active},
               {"drawn", options.drawn},
               {"selection", std::string(kSelections[static_cast<std::size_t>(options.selection)])},
               {"threshold", options.threshold},
               {"shared", options.shared}})
          .outputs();
  return {outputs[0], outputs[1], outputs[2], outputs[3], outputs[4], outputs[5]};
}

std::vector<const OpDef*> hashing_family() {
  return {&hash_queries_def(),       &hash_data_def(),    &rehash_rows_def(),    &hash_tables_def(),
          &update_hash_tables_def(), &active_units_def(), &largest_norm_if_def()};
}

}  // namespace antichain
