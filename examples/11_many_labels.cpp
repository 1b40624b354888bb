// Thousands of labels from sparse features: a table with a row per feature, an output layer that is
// one op in training, and P@1 measured by the Trainer.
#include <antichain/antichain.h>
#include <fmt/core.h>

namespace ac = antichain;

namespace {

constexpr std::int64_t kFeatures = 1000, kHidden = 64, kLabels = 3000;

// What a batch of sparse points is fed as, and the hidden layer on it.
struct Model {
  explicit Model(ac::Graph& graph)
      : truth{.labels = graph.input("y_columns", ac::i32, {"y_entries"}),
              .row_starts = graph.input("y_row_starts", ac::i32, {graph.dim("batch") + 1})} {
    const ac::Csr x{.values = graph.input("x_values", ac::f32, {"x_entries"}),
                    .columns = graph.input("x_columns", ac::i32, {"x_entries"}),
                    .row_starts = graph.input("x_row_starts", ac::i32, {graph.dim("batch") + 1}),
                    .num_columns = kFeatures};
    const ac::Var table =
        ac::parameter("table", ac::nn::normal(0, 0.01)(graph, ac::f32, {kFeatures, kHidden}));
    hidden = ac::relu(ac::csr_matmul(x, table));
  }

  ac::nn::LabelSets truth;
  ac::Var hidden;
};

// The losses of the output layer: with the full softmax, with one of negatives that are drawn, and
// with one of the labels that hash tables find. All have the same parameters, so all are evaluated
// by the same graph.
ac::Var losses_of(const Model& model, const std::string& softmax) {
  ac::Graph& graph = model.hidden.graph();
  if (softmax == "sampled") {
    return ac::nn::sampled_softmax(model.hidden, kLabels, model.truth,
                                   ac::nn::draw_uniformly(graph, kLabels, 500), {.name = "out.0"});
  }
  // Left to itself, the engine computes a layer as small as this one as it is.
  const ac::EngineChoice engine =
      softmax == "hashed" ? "hashing:when=always,share=0.2,rehash=20" : "backprop";
  return ac::nn::wide_losses(model.hidden, {kLabels}, model.truth,
                             {.name = "out", .engine = engine});
}

ac::Score train(const std::string& softmax, const ac::data::Splits& data) {
  ac::Session session({.seed = 1});
  ac::Graph graph = session.graph();
  const Model model(graph);
  const ac::Var losses = losses_of(model, softmax);
  const ac::Var loss = ac::mean(losses);
  // Rows of tables that a step does not look up stay as they are.
  const ac::optim::AdamOptions adam{.lr = 0.01, .step = {.lazy_rows = ac::optim::looked_up()}};
  const ac::Executable step = session.compile({loss}, {.updates = ac::optim::adam(loss, adam)});

  ac::Graph other = session.graph();
  const Model tested(other);
  const ac::Var logits =
      ac::nn::wide_mlp(tested.hidden, {kLabels}, {.name = "out", .training = false});
  const ac::nn::Ranking ranking = ac::nn::rank_labels(logits, tested.truth, 5);
  const ac::Executable evaluation = session.compile(
      {ac::nn::multi_label_softmax(logits, tested.truth), ac::nn::precision_at(ranking, 1),
       ac::nn::precision_at(ranking, 1), ac::nn::precision_at(ranking, 5)});

  ac::data::Batches batches(data.train, {.batch = 128, .seed = 1});
  const ac::TrainResult result =
      ac::Trainer({.step = step,
                   .batches = batches,
                   .states = session.states(),
                   .evaluations = {{.name = "test",
                                    .executable = evaluation,
                                    .set = data.test,
                                    .metrics = {{"precision_at_1"}, {"precision_at_5"}}}}},
                  {.epochs = 3})
          .run();
  for (const auto& [number, precision, time] : result.history.at("test/precision_at_1")) {
    fmt::print("{} softmax, step {:>3}: P@1 {:.1f} %\n", softmax, number, 100 * precision);
  }
  return result.scores.at("test");
}

}  // namespace

int main() {
  const ac::data::Splits data = ac::data::planted(
      {.num_features = kFeatures, .num_labels = kLabels, .train = 20'000, .test = 1000});
  bool have_learned = true;
  for (const char* softmax : {"full", "sampled", "hashed"}) {
    const ac::Score score = train(softmax, data);
    fmt::print("{} softmax: P@5 {:.1f} %\n", softmax, 100 * score.metrics.at("precision_at_5"));
    have_learned &= score.metrics.at("precision_at_1") > 0.4;
  }
  return have_learned ? 0 : 1;
}
