// Which units are active: what holds for every example in every step, and what holds on average.
#include "antichain/ops/hashing/active_units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "antichain/ops/hashing/hash_codes.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/session/session.h"

namespace antichain::hashing_tests::active_units_test {

constexpr std::int64_t kUnits = 150, kFeatures = 8, kExamples = 40;
constexpr double kScale = 0.7;  // of rows: large enough that few units have most of a softmax

using Numbers = std::vector<double>;

// Units chosen for queries, in one step after another.
class Chosen {
 public:
  Chosen(ActiveOptions options, unsigned seed) : options_(options) {
    options_.units = kUnits;
    Graph graph = session_.graph();
    const HashSpec spec{.pieces = 3, .tables = 10, .features = kFeatures};
    const Var x = graph.input("x", f64, {kExamples, kFeatures});
    const Var weight = graph.input("weight", f64, {kUnits, kFeatures});
    const Var bias = graph.input("bias", f64, {kUnits});
    const Var key = constant(graph, Tensor::of<std::int64_t>({2}, {1, seed}));
    const HashBy by{spec, draw_hash_functions(graph, spec, key), largest_norm(weight, bias)};
    const HashTables tables =
        hash_tables(hash_data(weight, bias, by), {.num_codes = spec.num_codes(), .bucket = 40});
    const LabelRows truth{graph.input("labels", i64, {"entries"}),
                          graph.input("starts", i64, {kExamples + 1})};
    const ActiveUnits units =
        active_units(hash_queries(x, by), tables, truth, graph.input("step", i64, {}), options_);
    run_ = std::make_unique<Executable>(
        session_.compile({units.ids, units.correction, units.common, units.common_correction,
                          units.slots, units.found}));
    draw(seed);
  }

  void run(std::int64_t step) {
    feeds_["step"] = Tensor::of<std::int64_t>({}, {step});
    const std::vector<Tensor> results = (*run_)(feeds_).tensors();
    const auto own = results[0].to_vector<std::int64_t>(),
               common = results[2].to_vector<std::int64_t>();
    const auto of_own = results[1].to_vector<float>(), of_common = results[3].to_vector<float>();
    ids_.assign(kExamples, {});
    corrections_.assign(kExamples, {});
    for (std::size_t example = 0; example < kExamples; ++example) {
      append_row(ids_[example], own, example, options_.own());
      append_row(ids_[example], common, 0, options_.common());
      append_row(corrections_[example], of_own, example, options_.own());
      append_row(corrections_[example], of_common, options_.shared ? 0 : example,
                 options_.common());
    }
    slots_ = results[4].to_vector<std::int64_t>();
    found_ = results[5].item<std::int64_t>();
  }

  const ActiveOptions& options() const { return options_; }
  const std::vector<std::int64_t>& ids(std::int64_t example) const {
    return ids_[static_cast<std::size_t>(example)];
  }
  const std::vector<float>& corrections(std::int64_t example) const {
    return corrections_[static_cast<std::size_t>(example)];
  }
  std::span<const std::int64_t> labels(std::int64_t example) const {
    return std::span(labels_).subspan(
        static_cast<std::size_t>(starts_[example]),
        static_cast<std::size_t>(starts_[example + 1] - starts_[example]));
  }
  // Where the value of a label stands among the active ones of its example.
  std::int64_t slot(std::int64_t example, std::size_t label) const {
    return slots_[static_cast<std::size_t>(starts_[example]) + label] - example * options_.active;
  }
  std::int64_t found() const { return found_; }
  const Numbers& values(std::int64_t example) const {
    return values_[static_cast<std::size_t>(example)];
  }
  double exact_sum(std::int64_t example) const {
    double sum = 0;
    for (const double value : values(example)) {
      sum += std::exp(value);
    }
    return sum;
  }
  double estimated_sum(std::int64_t example) const {
    double sum = 0;
    for (std::size_t i = 0; i < ids(example).size(); ++i) {
      sum += std::exp(values(example)[static_cast<std::size_t>(ids(example)[i])] +
                      static_cast<double>(corrections(example)[i]));
    }
    return sum;
  }

 private:
  template <class T>
  static void append_row(std::vector<T>& to, const std::vector<T>& rows, std::size_t row,
                         std::int64_t width) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(row) * width;
    to.insert(to.end(), first, first + width);
  }

  void draw(unsigned seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> draw(0, 1);
    const auto numbers = [&](std::int64_t count, double scale) {
      Numbers all(static_cast<std::size_t>(count));
      for (double& number : all) {
        number = scale * draw(generator);
      }
      return all;
    };
    const Numbers x = numbers(kExamples * kFeatures, 1),
                  weight = numbers(kUnits * kFeatures, kScale), bias = numbers(kUnits, kScale);
    for (std::int64_t example = 0; example < kExamples; ++example) {
      Numbers values = bias;
      for (std::size_t unit = 0; unit < values.size(); ++unit) {
        for (std::size_t k = 0; k < kFeatures; ++k) {
          values[unit] +=
              x[static_cast<std::size_t>(example) * kFeatures + k] * weight[unit * kFeatures + k];
        }
      }
      values_.push_back(std::move(values));
    }
    // 0 to 3 labels, some of them twice, out of a few.
    for (std::int64_t example = 0; example < kExamples; ++example) {
      for (std::int64_t k = 0; k < example % 4; ++k) {
        labels_.push_back(k == 2 ? labels_.back() : (example % 5 * 31 + k * 7) % kUnits);
      }
      starts_.push_back(static_cast<std::int64_t>(labels_.size()));
    }
    feeds_["x"] = Tensor::of<double>({kExamples, kFeatures}, x);
    feeds_["weight"] = Tensor::of<double>({kUnits, kFeatures}, weight);
    feeds_["bias"] = Tensor::of<double>({kUnits}, bias);
    feeds_["labels"] =
        Tensor::of<std::int64_t>({static_cast<std::int64_t>(labels_.size())}, labels_);
    feeds_["starts"] = Tensor::of<std::int64_t>({kExamples + 1}, starts_);
  }

  Session session_;
  ActiveOptions options_;
  std::unique_ptr<Executable> run_;
  Feeds feeds_;
  std::vector<Numbers> values_;  // by example and unit
  std::vector<std::int64_t> labels_, starts_ = {0}, slots_;
  std::vector<std::vector<std::int64_t>> ids_;  // by example
  std::vector<std::vector<float>> corrections_;
  std::int64_t found_ = 0;
};

std::vector<ActiveOptions> all_forms() {
  std::vector<ActiveOptions> forms;
  for (const Selection selection : {Selection::vanilla, Selection::threshold, Selection::top}) {
    for (const bool shared : {false, true}) {
      forms.push_back({.active = 40, .drawn = 10, .selection = selection, .shared = shared});
    }
  }
  return forms;
}

template <class Check>
void for_each_form(Check&& check) {
  for (const ActiveOptions& form : all_forms()) {
    SCOPED_TRACE(testing::Message() << "selection " << static_cast<int>(form.selection)
                                    << (form.shared ? ", shared" : ""));
    check(form);
  }
}

TEST(ActiveUnits, DifferentIdsOfUnits) {
  for_each_form([](const ActiveOptions& form) {
    Chosen chosen(form, 1);
    for (const std::int64_t step : {0, 1, 1000}) {
      chosen.run(step);
      for (std::int64_t example = 0; example < kExamples; ++example) {
        const std::vector<std::int64_t>& ids = chosen.ids(example);
        const std::set<std::int64_t> different(ids.begin(), ids.end());
        ASSERT_EQ(different.size(), static_cast<std::size_t>(form.active));
        EXPECT_GE(*different.begin(), 0);
        EXPECT_LT(*different.rbegin(), kUnits);
      }
    }
  });
}

TEST(ActiveUnits, TrueLabelsAlways) {
  for_each_form([](const ActiveOptions& form) {
    Chosen chosen(form, 2);
    for (const std::int64_t step : {0, 7}) {
      chosen.run(step);
      for (std::int64_t example = 0; example < kExamples; ++example) {
        const auto labels = chosen.labels(example);
        for (std::size_t k = 0; k < labels.size(); ++k) {
          const std::int64_t slot = chosen.slot(example, k);
          ASSERT_GE(slot, 0);
          ASSERT_LT(slot, form.active);
          EXPECT_EQ(chosen.ids(example)[static_cast<std::size_t>(slot)], labels[k]);
          EXPECT_EQ(chosen.corrections(example)[static_cast<std::size_t>(slot)], 0);
        }
      }
    }
  });
}

TEST(ActiveUnits, AsManyAreDrawnAsWereAskedFor) {
  for_each_form([](const ActiveOptions& form) {
    Chosen chosen(form, 3);
    chosen.run(4);
    std::int64_t drawn = 0;
    const std::int64_t lists = form.shared ? 1 : kExamples;
    for (std::int64_t example = 0; example < lists; ++example) {
      std::int64_t here = 0;
      for (const float correction : chosen.corrections(example)) {
        EXPECT_GE(correction, 0);
        here += correction > 0 ? 1 : 0;
      }
      EXPECT_GE(here, form.drawn);
      drawn += here;
    }
    EXPECT_GT(chosen.found(), 0);
    EXPECT_LE(chosen.found() + drawn, lists * form.active) << "the rest are labels";
  });
}

// What comes with the found units is a sample of all others: the sum of exp is right on average.
// What is drawn differs by step, what it is drawn from by example and weight.
TEST(ActiveUnits, CorrectionMakesTheSumOfExpUnbiased) {
  constexpr int kSteps = 40;
  constexpr unsigned kWeights = 6;
  constexpr double kStandardErrors = 5;
  for_each_form([](const ActiveOptions& form) {
    Numbers parts;  // of the exact sum, by weight and example
    for (unsigned weight = 0; weight < kWeights; ++weight) {
      Chosen chosen(form, 10 + weight);
      Numbers sums(kExamples);
      for (int step = 0; step < kSteps; ++step) {
        chosen.run(step);
        for (std::int64_t example = 0; example < kExamples; ++example) {
          sums[static_cast<std::size_t>(example)] +=
              chosen.estimated_sum(example) / chosen.exact_sum(example) / kSteps;
        }
      }
      double mean = 0;  // examples share weights, and so their errors
      for (const double part : sums) {
        mean += part / kExamples;
      }
      parts.push_back(mean);
    }
    double mean = 0, variance = 0;
    for (const double part : parts) {
      mean += part / kWeights;
    }
    for (const double part : parts) {
      variance += (part - mean) * (part - mean) / (kWeights - 1);
    }
    EXPECT_NEAR(mean, 1, kStandardErrors * std::sqrt(variance / kWeights));
    EXPECT_LT(std::sqrt(variance / kWeights), 0.02) << "the check must be able to fail";
  });
}

// docs/design/hashing.md: with r and s the exact and the estimated share of the units that were not
// known, the softmax is off by 2 max(r, s) at most.
TEST(ActiveUnits, SoftmaxIsWithinItsBound) {
  for_each_form([](const ActiveOptions& form) {
    Chosen chosen(form, 5);
    for (int step = 0; step < 10; ++step) {
      chosen.run(step);
      for (std::int64_t example = 0; example < kExamples; ++example) {
        const double exact = chosen.exact_sum(example), estimated = chosen.estimated_sum(example);
        Numbers softmax(kUnits), estimate(kUnits);
        std::vector<bool> is_known(kUnits);
        for (std::size_t unit = 0; unit < softmax.size(); ++unit) {
          softmax[unit] = std::exp(chosen.values(example)[unit]) / exact;
        }
        for (std::size_t i = 0; i < chosen.ids(example).size(); ++i) {
          const auto unit = static_cast<std::size_t>(chosen.ids(example)[i]);
          const double correction = chosen.corrections(example)[i];
          estimate[unit] = std::exp(chosen.values(example)[unit] + correction) / estimated;
          is_known[unit] = correction == 0;
        }
        double error = 0, missing = 0, drawn = 0;
        for (std::size_t unit = 0; unit < softmax.size(); ++unit) {
          error += std::abs(softmax[unit] - estimate[unit]);
          missing += is_known[unit] ? 0 : softmax[unit];
          drawn += is_known[unit] ? 0 : estimate[unit];
        }
        EXPECT_LE(error, 2 * std::max(missing, drawn) + 1e-6);
      }
    }
  });
}

// Hashing finds large units: more of the softmax than as many units drawn evenly have.
TEST(ActiveUnits, FoundOnesHaveMoreOfTheSoftmaxThanTheirShare) {
  const auto known_share = [](Selection selection) {
    Chosen chosen({.active = 40, .drawn = 10, .selection = selection}, 6);
    chosen.run(0);
    double share = 0;
    for (std::int64_t example = 0; example < kExamples; ++example) {
      for (std::size_t i = 0; i < chosen.ids(example).size(); ++i) {
        const auto unit = static_cast<std::size_t>(chosen.ids(example)[i]);
        share += chosen.corrections(example)[i] == 0 ? std::exp(chosen.values(example)[unit]) /
                                                           chosen.exact_sum(example) / kExamples
                                                     : 0;
      }
    }
    return share;
  };
  constexpr double kEvenly = 31.5 / kUnits;  // with 1.5 labels on average
  EXPECT_GT(known_share(Selection::vanilla), 1.3 * kEvenly);
  EXPECT_GT(known_share(Selection::top), known_share(Selection::vanilla));
  EXPECT_GT(known_share(Selection::top), 2.5 * kEvenly);
}

}  // namespace antichain::hashing_tests::active_units_test
