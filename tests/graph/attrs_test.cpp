#include "antichain/graph/attrs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tensor/expect_error.h"

namespace antichain::attrs_test {

const std::vector<AttrSpec> kSpecs = {{"axis", "which axis"},
                                      {"keep", "whether to keep it", {false}},
                                      {"name", "what to call it", {std::string("none")}}};

TEST(Attrs, CheckedFillsFallbacksInTheOrderOfTheDefinition) {
  const Attrs attrs =
      Attrs{{"name", std::string("a")}, {"axis", std::int64_t{2}}}.checked(kSpecs, "op");
  ASSERT_EQ(attrs.entries().size(), 3U);
  EXPECT_EQ(attrs.entries()[0].first, "axis");
  EXPECT_EQ(attrs.get<std::int64_t>("axis"), 2);
  EXPECT_FALSE(attrs.get<bool>("keep"));
  EXPECT_EQ(attrs.get<std::string>("name"), "a");
}

TEST(Attrs, CheckedSaysWhatIsWrong) {
  const std::int64_t two = 2;
  expect_error<InvalidArgument>("sum: attribute 'axis' is missing",
                                [] { Attrs{}.checked(kSpecs, "sum"); });
  expect_error<InvalidArgument>("sum: there is no attribute 'axes'", [&] {
    Attrs{{"axis", two}, {"axes", two}}.checked(kSpecs, "sum");
  });
  expect_error<InvalidArgument>("sum: attribute 'keep' has the wrong type", [&] {
    Attrs{{"axis", two}, {"keep", two}}.checked(kSpecs, "sum");
  });
}

TEST(Attrs, GetOfWhatIsNotThereIsOurMistake) {
  const Attrs attrs{{"axis", std::int64_t{2}}};
  expect_error<InternalError>("attribute 'axes' is absent or of another type",
                              [&] { attrs.get<std::int64_t>("axes"); });
  expect_error<InternalError>("attribute 'axis' is absent or of another type",
                              [&] { attrs.get<double>("axis"); });
}

TEST(Attrs, SetAddsOrReplaces) {
  Attrs attrs;
  attrs.set("a", true);
  attrs.set("b", 1.5);
  attrs.set("a", false);
  EXPECT_EQ(attrs, (Attrs{{"a", false}, {"b", 1.5}}));
}

TEST(Attrs, CopiesShareUntilOneIsChanged) {
  const Attrs checked = Attrs{{"axis", std::int64_t{2}}}.checked(kSpecs, "op");
  Attrs copy = checked.checked(kSpecs, "op");
  EXPECT_EQ(&copy.entries(), &checked.entries()) << "nothing to fill in: no second list";
  copy.set("keep", true);
  EXPECT_TRUE(copy.get<bool>("keep"));
  EXPECT_FALSE(checked.get<bool>("keep"));
}

TEST(Attrs, EqualityAndHash) {
  DimPool pool;
  const Dim n = pool.symbol("n");
  const Tensor large = Tensor::zeros(DType::f32, {100});
  const std::vector<AttrValue> values = {true,
                                         false,
                                         std::int64_t{1},
                                         std::int64_t{0},
                                         0.0,
                                         -0.0,
                                         std::string("x"),
                                         Ints{1, 2},
                                         Ints{},
                                         Ints{1, 2, 3},
                                         DType::f32,
                                         DType::f64,
                                         n,
                                         n + 1,
                                         Dims{n, 2},
                                         Dims{2, n},
                                         Tensor::scalar(0.0F),
                                         Tensor::scalar(-0.0F),
                                         Tensor::scalar(0.0),
                                         Tensor::of<float>({1}, {0}),
                                         Tensor::of<float>({2}, {1, 2}),
                                         large,
                                         Tensor::zeros(DType::f32, {100})};
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      const Attrs a{{"v", values[i]}}, b{{"v", values[j]}};
      EXPECT_EQ(a == b, i == j) << i << " " << j;
      if (i == j) {
        EXPECT_EQ(a.hash(), b.hash());
      }
    }
  }
  const Attrs small{{"v", Tensor::of<float>({2}, {1, 2})}},
      again{{"v", Tensor::of<float>({2}, {1, 2})}};
  EXPECT_EQ(small, again) << "small constants are compared by value";
  EXPECT_EQ(small.hash(), again.hash());
  EXPECT_FALSE((Attrs{{"a", true}} == Attrs{{"b", true}}));
  EXPECT_FALSE((Attrs{{"a", true}} == Attrs{}));
}

TEST(Attrs, HashTellsSmallConstantsApart) {
  // Graphs are full of scalar constants; if they shared a hash, finding one would be a search.
  std::vector<std::size_t> hashes;
  for (int i = 0; i < 1000; ++i) {
    hashes.push_back(Attrs{{"v", Tensor::scalar(static_cast<float>(i))}}.hash());
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

TEST(Attrs, SubstitutesInDims) {
  DimPool pool;
  const Dim n = pool.symbol("n");
  const Attrs attrs{{"size", n * 2}, {"shape", Dims{n, 3}}, {"axis", std::int64_t{1}}};
  EXPECT_EQ(attrs.substitute({{n.symbol(), Dim(5)}}),
            (Attrs{{"size", Dim(10)}, {"shape", Dims{5, 3}}, {"axis", std::int64_t{1}}}));
}

TEST(Attrs, Prints) {
  DimPool pool;
  EXPECT_EQ(print_attr(true), "true");
  EXPECT_EQ(print_attr(std::int64_t{-3}), "-3");
  EXPECT_EQ(print_attr(0.5), "0.5");
  EXPECT_EQ(print_attr(std::string("relu")), "\"relu\"");
  EXPECT_EQ(print_attr(Ints{1, 2}), "[1, 2]");
  EXPECT_EQ(print_attr(DType::bf16), "bf16");
  EXPECT_EQ(print_attr(pool.symbol("n") * 2), "2*n");
  EXPECT_EQ(print_attr(Dims{pool.symbol("n"), 3}), "[n, 3]");
  EXPECT_EQ(print_attr(Tensor::of<float>({2}, {1, 2})),
            to_string(Tensor::of<float>({2}, {1, 2}), 4));
}

}  // namespace antichain::attrs_test
