// Extreme classification: a hidden layer on sparse features and an output layer over very many
// labels (the model of Chen et al., 2020).
#include <algorithm>
#include <filesystem>

#include "antichain/base/byte_size.h"
#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/base/usable_memory.h"
#include "antichain/data/extreme.h"
#include "antichain/data/label_counts.h"
#include "antichain/data/synthetic.h"
#include "antichain/nn/layer.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/shape/creation.h"
#include "recipes/many_labels.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

namespace fs = std::filesystem;

// A table with a row per feature: a point reads, and a step changes, the rows of its features.
// Tables stay in the type of parameters, so that nobody reads all of one.
Var hidden_layer(const ModelContext& context, std::int64_t features) {
  Graph& graph = context.graph;
  const DType wide = nn::wide_type(context.compute_dtype());
  const Csr x{.values = cast(graph.input("x_values", context.dtype, {"x_entries"}), wide),
              .columns = graph.input("x_columns", i32, {"x_entries"}),
              .row_starts = graph.input("x_row_starts", i32, {graph.dim("batch") + 1}),
              .num_columns = features};
  const std::int64_t width = context.settings.integer("hidden");
  const nn::Layer layer("hidden", graph, wide, "hidden");
  const Var table = layer.parameter("weight", {features, width},
                                    nn::normal(0, context.settings.number("deviation")));
  const Var bias = layer.parameter("bias", {width}, nn::constant(0));
  return cast(relu(csr_matmul(x, table) + bias), context.compute_dtype());
}

Objective build_xmc(const ModelContext& context, std::int64_t features, const LabelFacts& labels) {
  const Var hidden = hidden_layer(context, features);
  Graph& graph = context.graph;
  const nn::LabelSets truth{
      .labels = graph.input("y_columns", i32, {"y_entries"}),
      .row_starts = graph.input("y_row_starts", i32, {graph.dim("batch") + 1})};
  return build_output(context, hidden, truth, labels);
}

// Logits of all labels for so many examples are what evaluation holds at once.
std::int64_t examples_at_once(std::int64_t labels) {
  constexpr std::int64_t kLogits = std::int64_t{1} << 24, kFewest = 16, kMost = 256;
  return std::clamp(kLogits / std::max<std::int64_t>(1, labels), kFewest, kMost);
}

void log_what_is_missing(const RecipeContext& context, const char* part,
                         const data::DatasetPtr& points) {
  if (const auto* const rows = dynamic_cast<const data::SparseDataset*>(points.get())) {
    context.logger.log(
        LogLevel::info, "{}: {} points, {} of them without labels, {} without features", part,
        rows->size(), rows->labels().num_empty_rows(), rows->features().num_empty_rows());
  }
}

// Before anything of that size is asked for: the machine would rather end a process than say no.
void require_room(const RecipeContext& context, const data::Splits& data) {
  constexpr double kCopies = 3;  // of every parameter: itself and the two moments of Adam
  constexpr double kFacts = 24;  // bytes of what is known of a label, always on the host
  const auto units = static_cast<double>(data.num_features) + static_cast<double>(data.num_classes);
  const auto width = static_cast<double>(context.settings.integer("hidden"));
  const double bytes =
      units * (kFacts + (context.device == "cpu" ? kCopies * sizeof(float) * width : 0));
  const std::int64_t room = usable_memory();
  require<MachineError>(
      bytes < static_cast<double>(room),
      "a model of {} features and {} labels takes {} with what Adam keeps of it, and this machine "
      "has {}; choose a smaller one by --set hidden",
      data.num_features, data.num_classes, bytes_text(static_cast<std::int64_t>(bytes)),
      bytes_text(room));
}

Task xmc_task(const RecipeContext& context, data::Splits data) {
  log_what_is_missing(context, "training", data.train);
  log_what_is_missing(context, "testing", data.test);
  require<DataError>(data.num_classes > 0 && data.num_features > 0,
                     "there must be at least one feature and one label, the data have {} and {}",
                     data.num_features, data.num_classes);
  require_room(context, data);
  const Settings& settings = context.settings;
  LabelFacts labels{.count = data.num_classes,
                    .frequencies = data::label_counts(*data.train, data.num_classes)};
  labels.inverse_propensities = data::inverse_propensities(
      labels.frequencies, data.train->size(),
      {.a = settings.number("propensity_a"), .b = settings.number("propensity_b")});
  const std::int64_t features = data.num_features, count = data.num_classes;
  return {.data = std::move(data),
          .model = [features, facts = std::make_shared<const LabelFacts>(std::move(labels))](
                       const ModelContext& model) { return build_xmc(model, features, *facts); },
          .evaluation_batch = examples_at_once(count)};
}

data::Splits load_file(const RecipeContext& context) {
  fs::path train = context.data_folder;
  require(!train.empty(),
          "recipe 'xmc' reads a file of training points in the format of extreme classification; "
          "say which by --data FILE");
  if (fs::is_directory(train)) {  // as it is published
    train /= "train.txt";
  }
  const std::string& given = context.settings.text("test");
  return data::extreme_files(
      train, given.empty() ? data::extreme_test_file(train) : train.parent_path() / given);
}

Recipe xmc_recipe_with(const std::string& name, const std::string& summary,
                       std::vector<OptionSpec> own, const TrainingDefaults& defaults,
                       data::Splits (*load)(const RecipeContext&)) {
  own.push_back({"hidden", kInteger, "128", "width of the hidden layer", 1, 65536});
  own.push_back({"deviation", kNumber, "0.01",
                 "standard deviation of the first values of the table of features", 0, 100});
  const std::vector<OptionSpec> of_labels = label_options();
  own.insert(own.end(), of_labels.begin(), of_labels.end());
  return {
      .name = name,
      .summary = summary,
      .options = with_training_options(std::move(own), defaults),
      .prepare = [load](const RecipeContext& context) { return xmc_task(context, load(context)); },
      .settle = [](Settings& settings) { settle_output(settings, "out=hashing"); }};
}

}  // namespace

Recipe xmc_recipe() {
  return xmc_recipe_with(
      "xmc", "labels of points with sparse features, from a file of that format (--data FILE)",
      {{"test", OptionKind::text, "",
        "file of test points, as seen from that of training points; empty: of the same name with "
        "'test' in the place of 'train'"}},
      {.epochs = "5", .lr = "0.001", .lazy_rows = "1"}, load_file);
}

Recipe delicious_recipe() {
  return xmc_recipe_with(
      "delicious", "tags of web pages, any number of 983 for each", {},
      {.epochs = "20", .lr = "0.001", .lazy_rows = "1"},
      [](const RecipeContext& context) { return data::extreme("delicious", context.data_folder); });
}

Recipe xmc_planted_recipe() {
  return xmc_recipe_with(
      "xmc-planted", "a few of very many labels, each with features of its own, drawn",
      {{"features", kInteger, "20000", "of all points together", 1, 1e9},
       {"labels", kInteger, "30000", "which a point can have", 1, 1e9},
       {"train", kInteger, "100000", "points for training", 1, 1e9},
       {"test", kInteger, "10000", "points for testing", 1, 1e9},
       {"skew", kNumber, "0.5", "label k comes in proportion to (k + 1)^-skew; 0: all as often", 0,
        4},
       {"max_labels", kInteger, "3", "of a point, which has at least one", 1, 1000},
       {"draws", kInteger, "60", "features of a point, some of them drawn twice", 1, 100'000},
       {"noise", kNumber, "0.25", "part of the features that say nothing", 0, 1}},
      {.epochs = "5", .lr = "0.003", .lazy_rows = "1"}, [](const RecipeContext& context) {
        const Settings& settings = context.settings;
        return data::planted({.num_features = settings.integer("features"),
                              .num_labels = settings.integer("labels"),
                              .train = settings.integer("train"),
                              .test = settings.integer("test"),
                              .max_labels = settings.integer("max_labels"),
                              .skew = settings.number("skew"),
                              .draws = settings.integer("draws"),
                              .noise = settings.number("noise"),
                              .seed = context.seed});
      });
}

}  // namespace antichain
