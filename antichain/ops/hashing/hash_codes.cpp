#include "antichain/ops/hashing/hash_codes.h"

#include <utility>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/hashing/hash_vector.h"
#include "antichain/ops/reference/checked_indices.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/ops/state/update_ops.h"

namespace antichain {

namespace {

constexpr const char* kNoCodeGradient = "codes are integers";

std::vector<AttrSpec> with_hash_attributes(std::vector<AttrSpec> more) {
  std::vector<AttrSpec> all = HashSpec::attribute_specs();
  all.insert(all.begin(), more.begin(), more.end());
  return all;
}

Attrs hash_attributes(const HashSpec& spec, Attrs attrs = {}) {
  spec.add_to(attrs);
  return attrs;
}

// Checks functions and norm at inputs `first` and the next; returns what they are for.
HashSpec require_hash(InferContext& context, int first) {
  const HashSpec spec = HashSpec::of(context.attrs());
  require(spec.pieces > 0 && spec.tables > 0, "{}: needs at least one table and one piece",
          context.op_name());
  require(spec.range >= 0, "{}: range {} is below 0", context.op_name(), spec.range);
  require(spec.bits() <= HashSpec::kMostBits,
          "{}: a code of {} pieces has {} bits, at most {} can be", context.op_name(), spec.pieces,
          spec.bits(), HashSpec::kMostBits);
  context.require_dtype(first, {spec.functions_dtype()});
  context.unify(context.shape(first), to_dims(spec.functions_shape()),
                "shapes of the functions and of those that the attributes say");
  context.require_dtype(first + 1, {DType::f32});
  context.require_rank(first + 1, 0);
  return spec;
}

void require_data(InferContext& context, const HashSpec& spec) {
  context.require_dtype(0, kFloats);
  context.require_dtype(1, {context.dtype(0)});
  context.require_rank(0, 2);
  context.require_rank(1, 1);
  context.unify(context.shape(0)[1], spec.features, "columns of the weight and features");
  context.unify(context.shape(0)[0], context.shape(1)[0], "numbers of rows and of biases");
}

std::vector<VarType> infer_hash_queries(InferContext& context) {
  context.require_inputs(3);
  context.require_dtype(0, kFloats);
  context.require_rank(0, 2);
  const HashSpec spec = require_hash(context, 1);
  context.unify(context.shape(0)[1], spec.features, "columns of the queries and features");
  const std::int64_t probes = context.attrs().get<std::int64_t>("probes");
  require(probes >= 1 && probes <= spec.pieces + 1,
          "{}: {} probes of a table with codes of {} pieces", context.op_name(), probes,
          spec.pieces);
  return {{DType::i32, {context.shape(0)[0], spec.tables, probes}}};
}

std::vector<VarType> infer_hash_data(InferContext& context) {
  context.require_inputs(4);
  const HashSpec spec = require_hash(context, 2);
  require_data(context, spec);
  return {{DType::i32, {spec.tables, context.shape(0)[0]}}};
}

std::vector<VarType> infer_rehash_rows(InferContext& context) {
  context.require_inputs(7);
  const HashSpec spec = require_hash(context, 2);
  require_data(context, spec);
  context.require_dtype(4, {DType::i64});
  context.require_rank(4, 1);
  for (const int flag : {5, 6}) {
    context.require_dtype(flag, {DType::boolean});
    context.require_rank(flag, 0);
  }
  const VarType type{DType::i32, {spec.tables, context.shape(0)[0]}};
  const std::vector<std::string> names = updated_states(context.attrs())[0];
  const StateInfo* codes = context.graph().find_state(names[0]);
  const StateInfo* marks = context.graph().find_state(names[1]);
  require(codes != nullptr && marks != nullptr, "{}: there is no state called '{}'",
          context.op_name(), names[codes == nullptr ? 0 : 1]);
  context.unify(codes->type.shape, type.shape, "shapes of the state and of the codes");
  context.unify(marks->type.shape, {type.shape[1]}, "the numbers of marks and of rows");
  return {type};
}

// Codes of one vector after another, as references compute them.
class ReferenceHash {
 public:
  ReferenceHash(const KernelContext& context, HashRole role, int functions)
      : spec_(HashSpec::of(*context.attrs)),
        role_(role),
        functions_(context.in(functions)),
        largest_(context.in(functions + 1).item<float>()),
        transformed_(static_cast<std::size_t>(spec_.coordinates())),
        projections_(static_cast<std::size_t>(spec_.num_functions())),
        order_(transformed_.size()) {}

  const HashSpec& spec() const { return spec_; }
  void codes(const double* vector, double extra, std::int64_t probes, std::int32_t* out) {
    transform_vector<double>(spec_, role_, vector, extra, largest_, transformed_.data());
    if (spec_.family == HashFamily::simhash) {
      project_vector(spec_, transformed_.data(), functions_.data<float>(), projections_.data());
    }
    hash_vector<double>(spec_, transformed_.data(), functions_.raw(), projections_.data(), probes,
                        out, order_);
    for (std::int64_t i = 0; i < spec_.tables * probes; ++i) {
      out[i] = spec_.folded(out[i]);
    }
  }

 private:
  HashSpec spec_;
  HashRole role_;
  const Tensor& functions_;
  double largest_;
  std::vector<double> transformed_, projections_;
  std::vector<std::int64_t> order_;
};

void hash_queries_reference(KernelContext& context) {
  ReferenceHash hash(context, HashRole::query, 1);
  const std::vector<double> x = load<double>(context.in(0));
  const std::int64_t probes = context.attr<std::int64_t>("probes");
  std::int32_t* const out = context.out().data<std::int32_t>();
  for (std::int64_t row = 0; row < context.in(0).shape()[0]; ++row) {
    hash.codes(x.data() + row * hash.spec().features, 1, probes,
               out + row * hash.spec().tables * probes);
  }
}

// Writes the codes of row `row` of the data at inputs 0 and 1 into a column of [tables, rows].
class ReferenceRows {
 public:
  explicit ReferenceRows(const KernelContext& context)
      : hash_(context, HashRole::data, 2),
        weight_(load<double>(context.in(0))),
        bias_(load<double>(context.in(1))),
        codes_(static_cast<std::size_t>(hash_.spec().tables)) {}

  void write(std::size_t row, std::int32_t* out) {
    hash_.codes(weight_.data() + row * static_cast<std::size_t>(hash_.spec().features), bias_[row],
                1, codes_.data());
    for (std::size_t table = 0; table < codes_.size(); ++table) {
      out[table * bias_.size() + row] = codes_[table];
    }
  }
  std::size_t rows() const { return bias_.size(); }

 private:
  ReferenceHash hash_;
  std::vector<double> weight_, bias_;
  std::vector<std::int32_t> codes_;
};

void hash_data_reference(KernelContext& context) {
  ReferenceRows rows(context);
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    rows.write(row, context.out().data<std::int32_t>());
  }
}

void rehash_rows_reference(KernelContext& context) {
  const std::vector<std::string> names = updated_states(*context.attrs)[0];
  ReferenceRows rows(context);
  bool* const marks = context.states->modify(names[1]).data<bool>();
  for (const std::int64_t row :
       checked_indices(context, 4, static_cast<std::int64_t>(rows.rows()))) {
    marks[row] = true;
  }
  if (context.in(5).item<bool>()) {
    std::int32_t* const codes = context.states->modify(names[0]).data<std::int32_t>();
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      if (context.in(6).item<bool>() || marks[row]) {
        rows.write(row, codes);
      }
      marks[row] = false;
    }
  }
  context.out() = context.states->get(names[0], host_memory());
}

// The uses that samples show: every family, with every transform once.
std::vector<std::pair<std::string, HashSpec>> sample_specs() {
  const auto spec = [](HashFamily family, HashTransform transform) {
    return HashSpec{
        .family = family, .transform = transform, .pieces = 3, .tables = 4, .features = 9};
  };
  const auto with_range = [&](HashFamily family, std::int64_t range) {
    HashSpec folded = spec(family, HashTransform::none);
    folded.range = range;
    return folded;
  };
  return {{"simhash", spec(HashFamily::simhash, HashTransform::norms)},
          {"simhash of powers", spec(HashFamily::simhash, HashTransform::powers)},
          {"wta", spec(HashFamily::wta, HashTransform::none)},
          {"dwta", spec(HashFamily::dwta, HashTransform::norms)},
          {"minhash", spec(HashFamily::minhash, HashTransform::none)},
          {"folded simhash", with_range(HashFamily::simhash, 5)},
          {"folded wta", with_range(HashFamily::wta, 37)}};
}

// Numbers for functions that no two of a bin or a column share by accident.
SampleInput sample_functions(const HashSpec& spec) {
  SampleInput input{.shape = spec.functions_shape(), .dtype = spec.functions_dtype()};
  const std::int64_t end = spec.family == HashFamily::simhash   ? 3
                           : spec.family == HashFamily::minhash ? 9973
                                                                : spec.coordinates();
  for (std::int64_t i = 0; i < numel(input.shape); ++i) {
    const std::int64_t number = i * i * 31 % 9973 % end;
    input.values.push_back(spec.family == HashFamily::simhash ? number - 1 : number);
  }
  return input;
}

template <class Build>
std::vector<Sample> hash_samples(const std::vector<SampleInput>& data, Build build) {
  std::vector<Sample> samples;
  for (const auto& [label, spec] : sample_specs()) {
    std::vector<SampleInput> inputs = data;
    inputs.push_back(sample_functions(spec));
    samples.push_back({label, inputs, [spec = spec, build](Graph& graph, Inputs in) {
                         return build(graph, in, HashBy{spec, in.back(), scalar(graph, f32, 8)});
                       }});
  }
  return samples;
}

std::vector<Sample> hash_queries_samples() {
  return hash_samples({{{6, 9}}}, [](Graph&, Inputs in, const HashBy& by) {
    return one(hash_queries(in[0], by, 3));
  });
}

std::vector<Sample> hash_data_samples() {
  return hash_samples({{{7, 9}}, {{7}}}, [](Graph&, Inputs in, const HashBy& by) {
    return one(hash_data(in[0], in[1], by));
  });
}

std::vector<Sample> rehash_rows_samples() {
  const auto with = [](bool due, bool all) {
    return [=](Graph& graph, Inputs in, const HashBy& by) {
      const Dims rows = {in[0].dim(0)};
      graph.add_state({"codes",
                       {i32, {by.spec.tables, rows[0]}},
                       full(graph, i32, {by.spec.tables, rows[0]}, 1)});
      graph.add_state({"marks", {boolean, rows}, full(graph, boolean, rows, 0)});
      assign(graph, "codes", full(graph, i32, {by.spec.tables, rows[0]}, 1));
      assign(graph, "marks", full(graph, boolean, rows, 0));
      const Var codes =
          rehash_rows("codes", "marks", in[0], in[1], by,
                      {in[2], scalar(graph, boolean, due), scalar(graph, boolean, all)});
      return std::vector<Var>{codes, read_state(graph, "marks")};
    };
  };
  const SampleInput weight{.shape = {7, 9}, .fixed_size = true},
      bias{.shape = {7}, .fixed_size = true};
  const std::vector<SampleInput> data = {weight, bias, indices_of({3}, {5, 0, 5})};
  std::vector<Sample> samples = hash_samples(data, with(true, false));
  for (Sample& sample : hash_samples(data, with(true, true))) {
    sample.label += ", all rows";
    samples.push_back(std::move(sample));
  }
  Sample not_now = hash_samples(data, with(false, false)).front();
  not_now.label = "not now";
  samples.push_back(std::move(not_now));
  return samples;
}

}  // namespace

const OpDef& hash_queries_def() {
  static const OpDef def{
      .name = "hash_queries",
      .doc = "The codes of vectors in each hash table, and of vectors nearby.",
      .attributes = with_hash_attributes({{"probes", "codes of a vector per table"}}),
      .infer = infer_hash_queries,
      .no_gradient = kNoCodeGradient,
      .vmap_serially = "queries of a batch are hashed together anyway",
      .reference = hash_queries_reference,
      .samples = hash_queries_samples,
  };
  return def;
}

const OpDef& hash_data_def() {
  static const OpDef def{
      .name = "hash_data",
      .doc = "The codes of the rows of a weight, with their biases, in each hash table.",
      .attributes = HashSpec::attribute_specs(),
      .infer = infer_hash_data,
      .no_gradient = kNoCodeGradient,
      .vmap_serially = "rows of a weight are hashed together anyway",
      .reference = hash_data_reference,
      .samples = hash_data_samples,
  };
  return def;
}

const OpDef& rehash_rows_def() {
  static const OpDef def{
      .name = "rehash_rows",
      .doc =
          "Hashes rows again that were used, in steps in which it is time to; the others keep "
          "their codes.",
      .attributes = with_hash_attributes(
          {{"state", "the codes"}, {"state_1", "marks of the rows used since"}}),
      .effect = Effect::writes_state,
      .forwards = true,
      .infer = infer_rehash_rows,
      .no_gradient = "it changes states, through which no gradient flows",
      .no_vmap = "it changes states, which all copies share",
      .reference = rehash_rows_reference,
      .samples = rehash_rows_samples,
  };
  return def;
}

Var hash_queries(Var x, const HashBy& by, std::int64_t probes) {
  return x.graph()
      .add(hash_queries_def(), {x, by.functions, by.largest},
           hash_attributes(by.spec, {{"probes", probes}}))
      .output();
}

Var hash_data(Var weight, Var bias, const HashBy& by) {
  return weight.graph()
      .add(hash_data_def(), {weight, bias, by.functions, by.largest}, hash_attributes(by.spec))
      .output();
}

Var rehash_rows(const std::string& codes, const std::string& marks, Var weight, Var bias,
                const HashBy& by, const RehashRows& rows) {
  return weight.graph()
      .add(rehash_rows_def(),
           {weight, bias, by.functions, by.largest, rows.used, rows.due, rows.all},
           hash_attributes(by.spec, update_attributes({{codes, marks}})))
      .output();
}

}  // namespace antichain
