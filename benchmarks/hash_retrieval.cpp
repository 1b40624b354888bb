// How often hash tables give what they are asked for: pairs of vectors at a known angle against
// 1 - (1 - p^K)^L, and the rows with the largest inner products against how many rows are looked at.
// Prints one JSON object, which benchmarks/run_hash_retrieval makes pictures of.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "antichain/antichain.h"
#include "antichain/ops/hashing/hash_codes.h"
#include "antichain/ops/hashing/hash_tables.h"

namespace antichain::bench {
namespace {

constexpr std::int64_t kPairs = 4000, kFeatures = 128;
constexpr std::int64_t kRows = 20'000, kQueries = 256, kBest = 10, kBucket = 128;
const std::vector<std::int64_t> kTables = {2, 5, 10, 20, 50, 100};

// Rows of numbers, with the coordinate of the bias as the last one.
struct Vectors {
  std::int64_t count;
  std::vector<float> features, bias;
};

Vectors normal_vectors(std::mt19937_64& generator, std::int64_t count) {
  std::normal_distribution<float> draw(0, 1);
  Vectors vectors{.count = count, .features = {}, .bias = {}};
  vectors.features.resize(static_cast<std::size_t>(count * kFeatures));
  vectors.bias.resize(static_cast<std::size_t>(count));
  std::ranges::generate(vectors.features, [&] { return draw(generator); });
  std::ranges::generate(vectors.bias, [&] { return draw(generator); });
  return vectors;
}

float* row(Vectors& vectors, std::int64_t i) { return vectors.features.data() + i * kFeatures; }
const float* row(const Vectors& vectors, std::int64_t i) {
  return vectors.features.data() + i * kFeatures;
}

double inner(const Vectors& a, std::int64_t i, const Vectors& b, std::int64_t j) {
  const auto at = [](std::int64_t k) { return static_cast<std::size_t>(k); };
  return std::inner_product(row(a, i), row(a, i) + kFeatures, row(b, j),
                            static_cast<double>(a.bias[at(i)]) * b.bias[at(j)]);
}

// a[i] := x a[i] + y b[i], for the vector of that number.
void combine(Vectors& a, std::int64_t i, double x, double y, const Vectors& b) {
  const auto mix = [x, y](float& to, float from) { to = static_cast<float>(x * to + y * from); };
  for (std::int64_t k = 0; k < kFeatures; ++k) {
    mix(row(a, i)[k], row(b, i)[k]);
  }
  mix(a.bias[static_cast<std::size_t>(i)], b.bias[static_cast<std::size_t>(i)]);
}

// Gives the rows of `data` this cosine to the queries of the same numbers, and length 1.
void turn_to(Vectors& data, const Vectors& queries, double cosine) {
  for (std::int64_t i = 0; i < data.count; ++i) {
    const double length = std::sqrt(inner(queries, i, queries, i));
    combine(data, i, 1, -inner(data, i, queries, i) / (length * length), queries);
    const double across = std::sqrt(inner(data, i, data, i));
    combine(data, i, std::sqrt(1 - cosine * cosine) / across, cosine / length, queries);
  }
}

struct Codes {
  std::vector<std::int32_t> queries;      // [queries, tables]
  std::vector<std::int32_t> data;         // [tables, rows]
  std::vector<std::int32_t> starts, ids;  // tables
};

Codes codes_of(const Vectors& queries, const Vectors& data, const HashSpec& spec) {
  Session session({.seed = 7});
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {queries.count, kFeatures}),
            weight = graph.input("weight", f32, {data.count, kFeatures}),
            bias = graph.input("bias", f32, {data.count});
  const HashBy by{spec, draw_hash_functions(graph, spec), largest_norm(weight, bias)};
  const Var codes = hash_data(weight, bias, by);
  const HashTables tables = hash_tables(codes, {.num_codes = spec.num_codes(), .bucket = kBucket});
  const std::vector<Tensor> results =
      session
          .compile({hash_queries(x, by), codes, tables.starts, tables.ids})(
              {{"x", Tensor::of<float>({queries.count, kFeatures}, queries.features)},
               {"weight", Tensor::of<float>({data.count, kFeatures}, data.features)},
               {"bias", Tensor::of<float>({data.count}, data.bias)}})
          .tensors();
  return {results[0].to_vector<std::int32_t>(), results[1].to_vector<std::int32_t>(),
          results[2].to_vector<std::int32_t>(), results[3].to_vector<std::int32_t>()};
}

// The share of pairs that meet in one of the tables.
double retrieved(const Vectors& queries, const Vectors& data, const HashSpec& spec) {
  const Codes codes = codes_of(queries, data, spec);
  const auto tables = static_cast<std::size_t>(spec.tables),
             count = static_cast<std::size_t>(data.count);
  double met = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bool meets = false;
    for (std::size_t table = 0; table < tables; ++table) {
      meets |= codes.queries[i * tables + table] == codes.data[table * count + i];
    }
    met += meets ? 1 : 0;
  }
  return met / static_cast<double>(count);
}

HashSpec spec_of(HashFamily family, std::int64_t pieces, std::int64_t tables,
                 HashTransform transform = HashTransform::none) {
  return {.family = family,
          .transform = transform,
          .pieces = pieces,
          .tables = tables,
          .features = kFeatures};
}

const std::string& family_name(HashFamily family) {
  return HashSpec::family_names()[static_cast<std::size_t>(family)];
}

// [cosine, share that was found, share by theory] for one way to hash.
std::string pairs_json(HashFamily family, std::int64_t pieces, std::int64_t tables) {
  std::vector<std::string> points;
  for (int step = -4; step <= 19; ++step) {
    const double cosine = 0.05 * step;
    std::mt19937_64 generator(11);
    Vectors queries = normal_vectors(generator, kPairs), data = normal_vectors(generator, kPairs);
    std::ranges::fill(queries.bias, 1.0F);
    turn_to(data, queries, cosine);
    // A piece agrees with a probability that is known for simhash and measured for the others.
    const double piece =
        family == HashFamily::simhash ? 1 - std::acos(cosine) / std::numbers::pi : [&] {
          const Codes codes = codes_of(queries, data, spec_of(family, 1, 50));
          double same = 0;
          for (std::size_t i = 0; i < codes.queries.size(); ++i) {
            same += codes.queries[i] == codes.data[i % 50 * kPairs + i / 50] ? 1 : 0;
          }
          return same / static_cast<double>(codes.queries.size());
        }();
    const double theory = 1 - std::pow(1 - std::pow(piece, pieces), static_cast<double>(tables));
    points.push_back(fmt::format("[{:.2f}, {:.4f}, {:.4f}]", cosine,
                                 retrieved(queries, data, spec_of(family, pieces, tables)),
                                 theory));
  }
  return fmt::format(R"({{"family": "{}", "K": {}, "L": {}, "points": [{}]}})", family_name(family),
                     pieces, tables, fmt::join(points, ", "));
}

// Rows of all lengths, and queries that are near a few of them, as those of a trained layer are.
struct Layer {
  Vectors rows, queries;
  std::vector<std::vector<std::int64_t>> best;  // by query: rows with the largest inner products
};

Layer draw_layer() {
  std::mt19937_64 generator(13);
  Layer layer{normal_vectors(generator, kRows), normal_vectors(generator, kQueries), {}};
  std::lognormal_distribution<double> length(0, 0.4);
  std::uniform_int_distribution<std::int64_t> any(0, kRows - 1);
  for (std::int64_t i = 0; i < kRows; ++i) {
    combine(layer.rows, i, length(generator), 0, layer.rows);
  }
  for (std::int64_t i = 0; i < kQueries; ++i) {
    for (int near = 0; near < kBest; ++near) {
      const float* const from = row(layer.rows, any(generator));
      for (std::int64_t k = 0; k < kFeatures; ++k) {
        row(layer.queries, i)[k] += 0.5F * from[k];
      }
    }
    layer.queries.bias[static_cast<std::size_t>(i)] = 1;
    std::vector<double> products(kRows);
    std::vector<std::int64_t> order(kRows);
    for (std::int64_t j = 0; j < kRows; ++j) {
      products[static_cast<std::size_t>(j)] = inner(layer.queries, i, layer.rows, j);
    }
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(
        order.begin(), order.begin() + kBest, order.end(), [&](std::int64_t a, std::int64_t b) {
          return products[static_cast<std::size_t>(a)] > products[static_cast<std::size_t>(b)];
        });
    layer.best.emplace_back(order.begin(), order.begin() + kBest);
  }
  return layer;
}

// [tables, share of the rows that these give, share of the best rows that are among them].
std::string recall_json(const Layer& layer, const HashSpec& spec) {
  const Codes codes = codes_of(layer.queries, layer.rows, spec);
  std::vector<std::string> points;
  for (const std::int64_t tables : kTables) {
    double given = 0, found = 0;
    for (std::int64_t query = 0; query < kQueries; ++query) {
      std::vector<bool> is_given(kRows);
      for (std::int64_t table = 0; table < tables; ++table) {
        const std::int32_t code =
            codes.queries[static_cast<std::size_t>(query * spec.tables + table)];
        const auto at = static_cast<std::size_t>(table * (spec.num_codes() + 1) + code);
        for (std::int32_t i = codes.starts[at]; i < codes.starts[at + 1]; ++i) {
          is_given[static_cast<std::size_t>(
              codes.ids[static_cast<std::size_t>(table * kRows + i)])] = true;
        }
      }
      given += static_cast<double>(std::ranges::count(is_given, true)) / (kRows * kQueries);
      for (const std::int64_t id : layer.best[static_cast<std::size_t>(query)]) {
        found += is_given[static_cast<std::size_t>(id)] ? 1.0 / (kBest * kQueries) : 0;
      }
    }
    points.push_back(fmt::format("[{}, {:.5f}, {:.5f}]", tables, given, found));
  }
  return fmt::format(R"({{"family": "{}", "transform": "{}", "K": {}, "points": [{}]}})",
                     family_name(spec.family),
                     HashSpec::transform_names()[static_cast<std::size_t>(spec.transform)],
                     spec.pieces, fmt::join(points, ", "));
}

void print_all() {
  std::vector<std::string> pairs, recalls;
  for (const auto& [pieces, tables] : {std::pair{4, 10}, {6, 30}, {9, 50}, {14, 50}}) {
    pairs.push_back(pairs_json(HashFamily::simhash, pieces, tables));
  }
  for (const HashFamily family : {HashFamily::wta, HashFamily::dwta, HashFamily::minhash}) {
    pairs.push_back(pairs_json(family, 3, 50));
  }
  const Layer layer = draw_layer();
  const std::int64_t most = kTables.back();
  for (const HashTransform transform :
       {HashTransform::none, HashTransform::norms, HashTransform::powers}) {
    recalls.push_back(recall_json(layer, spec_of(HashFamily::simhash, 8, most, transform)));
  }
  for (const HashFamily family : {HashFamily::wta, HashFamily::dwta, HashFamily::minhash}) {
    recalls.push_back(recall_json(layer, spec_of(family, 3, most)));
  }
  fmt::print(
      R"({{"pairs": {}, "features": {}, "rows": {}, "queries": {}, "best": {}, "bucket": {},)"
      "\n"
      R"("retrieval": [{}],)"
      "\n"
      R"("recall": [{}]}})"
      "\n",
      kPairs, kFeatures, kRows, kQueries, kBest, kBucket, fmt::join(pairs, ",\n"),
      fmt::join(recalls, ",\n"));
}

}  // namespace
}  // namespace antichain::bench

int main() { antichain::bench::print_all(); }
