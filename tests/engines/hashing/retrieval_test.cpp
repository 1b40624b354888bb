// How often a query finds a row in one of L tables, against theory.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include "antichain/ops/hashing/hash_codes.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/session/session.h"

namespace antichain::hashing_tests::retrieval_test {

using Vectors = std::vector<std::vector<double>>;

constexpr std::int64_t kPairs = 1500;

// Query i and row i of the data, in coordinates with that of the bias, which is the last.
struct Pairs {
  Vectors queries, data;
};

struct Codes {
  std::vector<std::int32_t> queries;  // [pairs, tables]
  std::vector<std::int32_t> data;     // [tables, pairs]
};

// Without its last coordinate, which is that of the bias.
std::vector<double> features_of(const Vectors& vectors) {
  std::vector<double> all;
  for (const std::vector<double>& vector : vectors) {
    all.insert(all.end(), vector.begin(), vector.end() - 1);
  }
  return all;
}

Codes codes_of(const Pairs& pairs, HashSpec spec) {
  const auto count = static_cast<std::int64_t>(pairs.queries.size());
  spec.features = static_cast<std::int64_t>(pairs.queries[0].size()) - 1;
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {count, spec.features}),
            weight = graph.input("weight", f64, {count, spec.features}),
            bias = graph.input("bias", f64, {count});
  const Var key = constant(graph, Tensor::of<std::int64_t>({2}, {4, 2}));
  const HashBy by{spec, draw_hash_functions(graph, spec, key), largest_norm(weight, bias)};
  std::vector<double> biases;
  for (const std::vector<double>& row : pairs.data) {
    biases.push_back(row.back());
  }
  const Results results = session.compile({hash_queries(x, by), hash_data(weight, bias, by)})(
      {{"x", Tensor::of<double>({count, spec.features}, features_of(pairs.queries))},
       {"weight", Tensor::of<double>({count, spec.features}, features_of(pairs.data))},
       {"bias", Tensor::of<double>({count}, biases)}});
  return {results[0].to_vector<std::int32_t>(), results[1].to_vector<std::int32_t>()};
}

// The share of pairs that meet in one of the tables, and the share of tables in which they do.
struct Met {
  double in_any = 0, in_each = 0;
};
Met met(const Pairs& pairs, const HashSpec& spec) {
  const Codes codes = codes_of(pairs, spec);
  const auto count = pairs.queries.size(), tables = static_cast<std::size_t>(spec.tables);
  Met result;
  for (std::size_t pair = 0; pair < count; ++pair) {
    std::size_t times = 0;
    for (std::size_t table = 0; table < tables; ++table) {
      times += codes.queries[pair * tables + table] == codes.data[table * count + pair] ? 1U : 0U;
    }
    result.in_any += times > 0 ? 1.0 / static_cast<double>(count) : 0;
    result.in_each += static_cast<double>(times) / static_cast<double>(tables * count);
  }
  return result;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

std::vector<double> normal_vector(std::mt19937_64& generator, std::size_t size) {
  std::normal_distribution<double> draw(0, 1);
  std::vector<double> vector(size);
  for (double& x : vector) {
    x = draw(generator);
  }
  return vector;
}

// Pairs with this cosine between them and rows of length 1; the bias of a query is 1, as always.
Pairs pairs_at(double cosine, std::size_t coordinates) {
  std::mt19937_64 generator(8);
  Pairs pairs;
  for (std::int64_t i = 0; i < kPairs; ++i) {
    std::vector<double> query = normal_vector(generator, coordinates);
    query.back() = 1;
    std::vector<double> other = normal_vector(generator, coordinates), row(coordinates);
    const double length = std::sqrt(dot(query, query));
    const double along = dot(query, other) / (length * length);
    for (std::size_t k = 0; k < coordinates; ++k) {
      other[k] -= along * query[k];
    }
    const double across = std::sqrt(dot(other, other));
    for (std::size_t k = 0; k < coordinates; ++k) {
      row[k] = cosine * query[k] / length + std::sqrt(1 - cosine * cosine) * other[k] / across;
    }
    pairs.queries.push_back(std::move(query));
    pairs.data.push_back(std::move(row));
  }
  return pairs;
}

double retrieval(double piece, const HashSpec& spec) {
  return 1 - std::pow(1 - std::pow(piece, spec.pieces), spec.tables);
}

// A standard error of a share of pairs, and what functions of three values are off by.
constexpr double kTolerance = 4 * 0.5 / 38.7 + 0.01;

TEST(Retrieval, SimhashIsAsTheorySays) {
  for (const auto& [pieces, tables] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {4, 10}, {6, 30}, {9, 50}}) {
    for (const double cosine : {-0.5, 0.0, 0.3, 0.6, 0.8, 0.95}) {
      SCOPED_TRACE(testing::Message() << "K=" << pieces << " L=" << tables << " cosine " << cosine);
      const HashSpec spec{
          .transform = HashTransform::none, .pieces = pieces, .tables = tables, .features = 0};
      const double piece = 1 - std::acos(cosine) / std::numbers::pi;
      EXPECT_NEAR(met(pairs_at(cosine, 64), spec).in_any, retrieval(piece, spec), kTolerance);
    }
  }
}

// Of rows in one direction angles are the same; only with a coordinate that makes norms equal is
// the longer one, whose inner product is larger, found more often.
TEST(Retrieval, NormsMakeInnerProductsAngles) {
  const auto share = [](HashTransform transform, double length) {
    Pairs pairs = pairs_at(0.9, 64);
    for (std::size_t row = 1; row < pairs.data.size(); ++row) {  // the first one is the longest
      for (double& x : pairs.data[row]) {
        x *= length;
      }
    }
    const HashSpec spec{.transform = transform, .pieces = 4, .tables = 10, .features = 0};
    return met(pairs, spec).in_each;
  };
  EXPECT_NEAR(share(HashTransform::none, 0.3), share(HashTransform::none, 1), 1e-3);
  for (const HashTransform transform : {HashTransform::norms, HashTransform::powers}) {
    const double longest = share(transform, 1);
    EXPECT_LT(share(transform, 0.3), 0.8 * longest);
    EXPECT_LT(share(transform, 0.7), 0.9 * longest);
  }
}

TEST(Retrieval, LargerInnerProductsAreFoundMoreOften) {
  for (const HashFamily family :
       {HashFamily::simhash, HashFamily::wta, HashFamily::dwta, HashFamily::minhash}) {
    for (const HashTransform transform :
         {HashTransform::none, HashTransform::norms, HashTransform::powers}) {
      SCOPED_TRACE(testing::Message() << "family " << static_cast<int>(family) << " transform "
                                      << static_cast<int>(transform));
      const HashSpec spec{
          .family = family, .transform = transform, .pieces = 2, .tables = 20, .features = 0};
      double last = 0;
      for (const double cosine : {0.0, 0.5, 0.8, 0.95}) {
        const double share = met(pairs_at(cosine, 64), spec).in_each;
        EXPECT_GT(share, last) << cosine;
        last = share;
      }
    }
  }
}

TEST(Retrieval, EqualVectorsAlwaysMeet) {
  Pairs pairs = pairs_at(0.5, 40);
  pairs.data = pairs.queries;
  for (const HashFamily family :
       {HashFamily::simhash, HashFamily::wta, HashFamily::dwta, HashFamily::minhash}) {
    const HashSpec spec{.family = family,
                        .transform = HashTransform::none,
                        .pieces = 3,
                        .tables = 5,
                        .features = 0};
    EXPECT_NEAR(met(pairs, spec).in_each, 1, 1e-9) << static_cast<int>(family);
  }
}

// A piece of wta is the place of the largest coordinate, and so nothing but their order counts; of
// dwta likewise where no coordinate is 0.
TEST(Retrieval, WtaLooksAtTheOrderAlone) {
  Pairs pairs = pairs_at(0.3, 40);
  Pairs cubed = pairs;
  for (Vectors* const vectors : {&cubed.queries, &cubed.data}) {
    for (std::vector<double>& vector : *vectors) {
      for (double& x : vector) {
        x = x * x * x;
      }
    }
  }
  const HashSpec wta{.family = HashFamily::wta,
                     .transform = HashTransform::none,
                     .pieces = 3,
                     .tables = 5,
                     .features = 0};
  HashSpec dwta = wta;
  dwta.family = HashFamily::dwta;
  const Codes usual = codes_of(pairs, wta), other = codes_of(cubed, wta);
  EXPECT_EQ(usual.queries, other.queries);
  EXPECT_EQ(usual.data, other.data);
  EXPECT_EQ(codes_of(pairs, dwta).data, usual.data);
}

// Where most coordinates are 0, wta mostly sees bins of zeros, which are all alike; dwta looks into
// another bin then.
TEST(Retrieval, DwtaTellsSparseVectorsApart) {
  std::mt19937_64 generator(3);
  std::uniform_int_distribution<std::size_t> place(0, 126);
  Pairs pairs;
  for (std::int64_t i = 0; i < kPairs; ++i) {
    std::vector<double> query(128), row(128);
    query.back() = 1;
    for (int k = 0; k < 5; ++k) {
      query[place(generator)] = 2;
      row[place(generator)] = 2;
    }
    pairs.queries.push_back(std::move(query));
    pairs.data.push_back(std::move(row));
  }
  HashSpec spec{.family = HashFamily::wta,
                .transform = HashTransform::none,
                .pieces = 3,
                .tables = 10,
                .features = 0};
  const double by_wta = met(pairs, spec).in_each;
  spec.family = HashFamily::dwta;
  const double by_dwta = met(pairs, spec).in_each;
  EXPECT_LT(by_dwta, 0.5 * by_wta);
  pairs.data = pairs.queries;
  EXPECT_NEAR(met(pairs, spec).in_each, 1, 1e-9);
}

// Two sets agree in the smallest number with their Jaccard similarity J, and in its three lowest
// bits by chance otherwise.
TEST(Retrieval, MinhashMeasuresSharedCoordinates) {
  constexpr std::size_t kCoordinates = 128, kSet = kCoordinates / 8;
  for (const std::size_t common : {0U, 4U, 8U, 12U, 16U}) {
    Pairs pairs;
    std::mt19937_64 generator(5);
    for (std::int64_t i = 0; i < kPairs; ++i) {
      std::vector<std::size_t> order(kCoordinates - 1);
      for (std::size_t k = 0; k < order.size(); ++k) {
        order[k] = k;
      }
      std::ranges::shuffle(order, generator);
      std::vector<double> query(kCoordinates), row(kCoordinates);
      query.back() = 1;
      for (std::size_t k = 0; k < kSet; ++k) {
        query[order[k]] = 2;
        row[order[k + kSet - common]] = 2;
      }
      pairs.queries.push_back(std::move(query));
      pairs.data.push_back(std::move(row));
    }
    const double jaccard = static_cast<double>(common) / static_cast<double>(2 * kSet - common);
    const HashSpec spec{.family = HashFamily::minhash,
                        .transform = HashTransform::none,
                        .pieces = 1,
                        .tables = 40,
                        .features = 0};
    EXPECT_NEAR(met(pairs, spec).in_each, jaccard + (1 - jaccard) / 8, 0.02) << common;
  }
}

// Codes beside the first differ from it in one piece each, and find more.
TEST(Retrieval, ProbesFindMore) {
  const Pairs pairs = pairs_at(0.8, 64);
  Session session;
  Graph graph = session.graph();
  const HashSpec spec{.transform = HashTransform::none, .pieces = 6, .tables = 4, .features = 63};
  const Var x = graph.input("x", f64, {kPairs, 63});
  const Var key = constant(graph, Tensor::of<std::int64_t>({2}, {4, 2}));
  const HashBy by{spec, draw_hash_functions(graph, spec, key), scalar(graph, f32, 1)};
  const std::vector<std::int32_t> codes =
      session
          .compile({hash_queries(x, by, 4)})(
              {{"x", Tensor::of<double>({kPairs, 63}, features_of(pairs.queries))}})[0]
          .to_vector<std::int32_t>();
  for (std::size_t first = 0; first < codes.size(); first += 4) {
    for (std::size_t probe = 1; probe < 4; ++probe) {
      const auto changed = static_cast<unsigned>(codes[first] ^ codes[first + probe]);
      ASSERT_EQ(std::popcount(changed), 1);
      for (std::size_t before = 1; before < probe; ++before) {
        ASSERT_NE(codes[first + before], codes[first + probe]);
      }
    }
  }
  const Codes of_data = codes_of(pairs, spec);
  double one = 0, four = 0;
  const auto count = static_cast<std::size_t>(kPairs);
  for (std::size_t pair = 0; pair < count; ++pair) {
    for (std::size_t table = 0; table < 4; ++table) {
      for (std::size_t probe = 0; probe < 4; ++probe) {
        const bool meets =
            codes[(pair * 4 + table) * 4 + probe] == of_data.data[table * count + pair];
        four += meets ? 1 : 0;
        one += meets && probe == 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(four, 1.8 * one);
}

// Folding joins buckets: who met before meets still, others meet as often as the range says, and
// buckets are about as full as each other.
TEST(Retrieval, CodesAreFoldedIntoARange) {
  constexpr std::int64_t kRange = 100;
  std::mt19937_64 generator(6);
  Pairs pairs;
  for (std::int64_t i = 0; i < kPairs; ++i) {
    pairs.queries.push_back(normal_vector(generator, 9));
    pairs.data.push_back(normal_vector(generator, 9));
  }
  HashSpec spec{.transform = HashTransform::none, .pieces = 12, .tables = 6};
  const Codes whole = codes_of(pairs, spec);
  spec.range = kRange;
  const Codes folded = codes_of(pairs, spec);
  std::vector<std::int64_t> counts(kRange);
  std::map<std::int32_t, std::int32_t> bucket_of;
  for (std::size_t i = 0; i < whole.data.size(); ++i) {
    const std::int32_t bucket = folded.data[i];
    ASSERT_TRUE(bucket >= 0 && bucket < kRange);
    EXPECT_EQ(bucket_of.try_emplace(whole.data[i], bucket).first->second, bucket);
  }
  for (std::size_t i = 0; i < whole.queries.size(); ++i) {
    if (const auto known = bucket_of.find(whole.queries[i]); known != bucket_of.end()) {
      EXPECT_EQ(folded.queries[i], known->second) << "queries and rows are folded alike";
    }
  }
  for (const auto& [code, bucket] : bucket_of) {
    ++counts[static_cast<std::size_t>(bucket)];
  }
  const double mean = static_cast<double>(bucket_of.size()) / kRange;
  ASSERT_GT(mean, 20);
  for (const std::int64_t count : counts) {
    EXPECT_NEAR(static_cast<double>(count), mean, 6 * std::sqrt(mean));
  }
}

}  // namespace antichain::hashing_tests::retrieval_test
