// Ops that draw; the bits come from random_functions.h.
#include "antichain/ops/state/random.h"

#include <algorithm>
#include <utility>

#include "antichain/base/random_functions.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/graph/vmap_context.h"
#include "antichain/ops/shape/require_size.h"
#include "antichain/ops/state/random_key.h"

namespace antichain {

namespace {

constexpr const char* kNoGradient = "a draw does not depend on its key differentiably";
constexpr const char* kKeyOfEachCopy =
    "a permutation is drawn by one key, and lists of keys are not nested: copies whose keys differ "
    "draw one after the other then";

void require_stream(InferContext& context, const Dims& shape) {
  context.require_inputs(1);
  const std::int64_t stream = context.attrs().get<std::int64_t>("stream");
  require(stream >= 0 && stream < kNumStreams, "{}: stream {} is outside [0, {})",
          context.op_name(), stream, kNumStreams);
  for (Dim size : shape) {
    require_size(context, size, "a size");
  }
}

// What a draw by one key, or by each of a list of keys, has as its shape.
Dims drawn_shape(InferContext& context, const Dims& shape) {
  require_random_keys(context);
  require_stream(context, shape);
  Dims all = shape;
  if (context.shape(0).size() == 2) {
    all.insert(all.begin(), context.shape(0)[0]);
  }
  return all;
}

std::vector<VarType> infer_float_draw(InferContext& context) {
  const Dims& shape = context.attrs().get<Dims>("shape");
  const DType dtype = context.attrs().get<DType>("dtype");
  require<TypeError>(is_float(dtype), "{}: draws floats, not {}", context.op_name(), name(dtype));
  return {{dtype, drawn_shape(context, shape)}};
}

std::vector<VarType> infer_bernoulli(InferContext& context) {
  const Dims& shape = context.attrs().get<Dims>("shape");
  const double probability = context.attrs().get<double>("probability");
  require(probability >= 0 && probability <= 1, "{}: the probability must be within [0, 1], got {}",
          context.op_name(), probability);
  return {{DType::boolean, drawn_shape(context, shape)}};
}

std::vector<VarType> infer_permutation(InferContext& context) {
  const Dim size = context.attrs().get<Dim>("size");
  require_random_key(context);
  require_stream(context, {size});
  return {{DType::i64, {size}}};
}

RandomStream stream_of(const KernelContext& context, std::int64_t which = 0) {
  const std::int64_t* key = context.in(0).data<std::int64_t>() + 2 * which;
  return {key[0], key[1], context.attr<std::int64_t>("stream")};
}

// Calls f(stream, first, count) for the draw of each key: where it begins, and its elements.
template <class F>
void for_each_draw(const KernelContext& context, F f) {
  const std::int64_t keys = context.in(0).numel() / 2;
  const std::int64_t count = keys == 0 ? 0 : context.out().numel() / keys;
  for (std::int64_t which = 0; which < keys; ++which) {
    f(stream_of(context, which), which * count, count);
  }
}

// Fills the output: f64 elements by `wide`, others by `narrow`, rounded.
template <class Narrow, class Wide>
void draw_floats(KernelContext& context, Narrow narrow, Wide wide) {
  visit_dtype(context.out().dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_draw(context, [&](RandomStream stream, std::int64_t first, std::int64_t count) {
      T* out = context.out().data<T>() + first;
      for (std::int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<T, double>) {
          out[i] = wide(stream, i);
        } else {
          out[i] = convert<T>(narrow(stream, i));
        }
      }
    });
  });
}

void uniform_reference(KernelContext& context) { draw_floats(context, uniform_f32, uniform_f64); }
void normal_reference(KernelContext& context) { draw_floats(context, normal_f32, normal_f64); }

void bernoulli_reference(KernelContext& context) {
  const std::uint64_t threshold = bernoulli_threshold(context.attr<double>("probability"));
  for_each_draw(context, [&](RandomStream stream, std::int64_t first, std::int64_t count) {
    bool* out = context.out().data<bool>() + first;
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = bernoulli(stream, i, threshold);
    }
  });
}

void permutation_reference(KernelContext& context) {
  const RandomStream stream = stream_of(context);
  std::vector<std::pair<std::uint64_t, std::int64_t>> order;
  for (std::int64_t i = 0; i < context.out().numel(); ++i) {
    order.emplace_back(random_bits(stream, i), i);
  }
  std::sort(order.begin(), order.end());
  std::int64_t* out = context.out().data<std::int64_t>();
  for (const auto& entry : order) {
    *out++ = entry.second;
  }
}

// A draw by each key of a list takes one more axis of keys, but a list of lists does not.
std::optional<std::vector<Var>> vmap_draw(VmapContext& context) {
  if (context.op().input(0).rank() != 1) {
    return std::nullopt;
  }
  return context.same_op({context.value(0)}, context.attrs());
}

SampleInput three_keys() {
  return {.shape = {3, 2}, .dtype = DType::i64, .values = {7, 1, 7, 2, -3, 1}};
}

SampleInput key_sample(std::int64_t seed, std::int64_t run) {
  return {.shape = {2}, .dtype = DType::i64, .values = {seed, run}};
}

template <class Draw>
std::vector<Sample> float_samples(Draw draw) {
  const auto with = [draw](DType dtype, Dims shape) {
    return [=](Graph& graph, std::span<const Var> in) {
      return std::vector<Var>{draw(graph, dtype, shape, RandomOptions{in[0]}, Place::current())};
    };
  };
  return {
      {"f32", {key_sample(7, 1)}, with(DType::f32, {7, 3})},
      {"f64", {key_sample(7, 1)}, with(DType::f64, {5})},
      {"bf16", {key_sample(-7, 2)}, with(DType::bf16, {2, 3})},
      {"f16", {key_sample(std::int64_t{1} << 40, 2)}, with(DType::f16, {3})},
      {"one element", {key_sample(0, 0)}, with(DType::f32, {})},
      {"empty", {key_sample(0, 0)}, with(DType::f32, {0, 3})},
      {"a key for each row", {three_keys()}, with(DType::f32, {2, 3})},
      {"a key for each row, f64", {three_keys()}, with(DType::f64, {3})},
  };
}

std::vector<Sample> bernoulli_samples() {
  const auto with = [](double probability, const Dims& shape) {
    return [=](Graph& graph, std::span<const Var> in) {
      return std::vector<Var>{random_bernoulli(graph, probability, shape, {in[0]})};
    };
  };
  return {
      {"some", {key_sample(7, 1)}, with(0.3, {7, 5})},
      {"never", {key_sample(7, 1)}, with(0, {5})},
      {"always", {key_sample(7, 1)}, with(1, {5})},
      {"empty", {key_sample(7, 1)}, with(0.5, {0})},
      {"a key for each row", {three_keys()}, with(0.5, {5})},
  };
}

std::vector<Sample> permutation_samples() {
  const auto with = [](Dim size) {
    return [=](Graph& graph, std::span<const Var> in) {
      return std::vector<Var>{random_permutation(graph, size, {in[0]})};
    };
  };
  return {
      {"prime", {key_sample(7, 1)}, with(13)},
      {"one element", {key_sample(7, 1)}, with(1)},
      {"empty", {key_sample(7, 1)}, with(0)},
  };
}

std::vector<AttrSpec> draw_attributes(std::vector<AttrSpec> own) {
  own.push_back({"stream", "tells apart the ops that draw with one key", {std::int64_t{0}}});
  return own;
}

// Applies a random op; stream 0 is for keys that the user gives.
Var draw(Graph& graph, const OpDef& def, const RandomOptions& options, Attrs attrs, Place place) {
  const LocationGuard location(graph, place);
  const Var key = options.key.valid() ? options.key : random_key(graph);
  attrs.set("stream", options.key.valid() ? 0 : graph.next_random_stream());
  return graph.add(def, {key}, std::move(attrs)).output();
}

}  // namespace

const OpDef& random_uniform_def() {
  static const OpDef def{
      .name = "random_uniform",
      .doc = "Draws from [0, 1), by one key or by each of a list of keys.",
      .attributes = draw_attributes({{"shape", "shape of the result"}, {"dtype", "its type"}}),
      .dtypes = {DType::i64},
      .infer = infer_float_draw,
      .no_gradient = kNoGradient,
      .vmap = vmap_draw,
      .vmap_serially = kKeyOfEachCopy,
      .reference = uniform_reference,
      .samples = [] { return float_samples(random_uniform); },
  };
  return def;
}

const OpDef& random_normal_def() {
  static const OpDef def{
      .name = "random_normal",
      .doc =
          "Draws from the standard normal distribution, by one key or by each of a list of keys.",
      .attributes = draw_attributes({{"shape", "shape of the result"}, {"dtype", "its type"}}),
      .dtypes = {DType::i64},
      .infer = infer_float_draw,
      .no_gradient = kNoGradient,
      .vmap = vmap_draw,
      .vmap_serially = kKeyOfEachCopy,
      .reference = normal_reference,
      .samples = [] { return float_samples(random_normal); },
  };
  return def;
}

const OpDef& random_bernoulli_def() {
  static const OpDef def{
      .name = "random_bernoulli",
      .doc = "Draws true with a probability, by one key or by each of a list of keys.",
      .attributes = draw_attributes(
          {{"shape", "shape of the result"}, {"probability", "of true, within [0, 1]"}}),
      .dtypes = {DType::i64},
      .infer = infer_bernoulli,
      .no_gradient = kNoGradient,
      .vmap = vmap_draw,
      .vmap_serially = kKeyOfEachCopy,
      .reference = bernoulli_reference,
      .samples = bernoulli_samples,
  };
  return def;
}

const OpDef& random_permutation_def() {
  static const OpDef def{
      .name = "random_permutation",
      .doc = "Draws an order of the integers below a size.",
      .attributes = draw_attributes({{"size", "how many integers"}}),
      .dtypes = {DType::i64},
      .infer = infer_permutation,
      .no_gradient = kNoGradient,
      .vmap_serially = kKeyOfEachCopy,
      .reference = permutation_reference,
      .samples = permutation_samples,
  };
  return def;
}

Var random_uniform(Graph& graph, DType dtype, const Dims& shape, const RandomOptions& options,
                   Place place) {
  return draw(graph, random_uniform_def(), options, {{"shape", shape}, {"dtype", dtype}}, place);
}

Var random_normal(Graph& graph, DType dtype, const Dims& shape, const RandomOptions& options,
                  Place place) {
  return draw(graph, random_normal_def(), options, {{"shape", shape}, {"dtype", dtype}}, place);
}

Var random_bernoulli(Graph& graph, double probability, const Dims& shape,
                     const RandomOptions& options, Place place) {
  return draw(graph, random_bernoulli_def(), options,
              {{"shape", shape}, {"probability", probability}}, place);
}

Var random_permutation(Graph& graph, Dim size, const RandomOptions& options, Place place) {
  return draw(graph, random_permutation_def(), options, {{"size", size}}, place);
}

std::vector<const OpDef*> random_family() {
  return {&fold_in_def(), &random_uniform_def(), &random_normal_def(), &random_bernoulli_def(),
          &random_permutation_def()};
}

}  // namespace antichain
