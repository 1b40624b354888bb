#include "antichain/ops/hashing/hash_tables.h"

#include <algorithm>
#include <vector>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/reference/checked_indices.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/ops/state/update_ops.h"

namespace antichain {

namespace {

constexpr const char* kFifo = "fifo";
constexpr const char* kReservoir = "reservoir";

Attrs table_attributes(const TableOptions& options, Attrs attrs = {}) {
  attrs.set("num_codes", options.num_codes);
  attrs.set("bucket", options.bucket);
  attrs.set("policy", std::string(options.policy == BucketPolicy::fifo ? kFifo : kReservoir));
  return attrs;
}

std::vector<AttrSpec> table_attribute_specs() {
  return {{"num_codes", "buckets of a table"},
          {"bucket", "ids that a bucket holds"},
          {"policy", "which stay in one that is full: fifo or reservoir"}};
}

std::vector<VarType> infer_tables(InferContext& context) {
  context.require_dtype(0, {DType::i32});
  context.require_rank(0, 2);
  const std::int64_t codes = context.attrs().get<std::int64_t>("num_codes");
  const std::int64_t bucket = context.attrs().get<std::int64_t>("bucket");
  const std::string& policy = context.attrs().get<std::string>("policy");
  require(codes > 0 && bucket > 0, "{}: needs at least one code and room for one id, got {} and {}",
          context.op_name(), codes, bucket);
  require(policy == kFifo || policy == kReservoir, "{}: policy '{}' is neither {} nor {}",
          context.op_name(), policy, kFifo, kReservoir);
  const Dims& shape = context.shape(0);
  return {{DType::i32, {shape[0], codes + 1}}, {DType::i32, shape}};
}

std::vector<VarType> infer_hash_tables(InferContext& context) {
  context.require_inputs(1);
  return infer_tables(context);
}

std::vector<VarType> infer_update_hash_tables(InferContext& context) {
  context.require_inputs(2);
  context.require_dtype(1, {DType::boolean});
  context.require_rank(1, 0);
  const std::vector<VarType> types = infer_tables(context);
  const std::vector<std::string> names = updated_states(context.attrs())[0];
  for (std::size_t i = 0; i < types.size(); ++i) {
    const StateInfo* state = context.graph().find_state(names[i]);
    require(state != nullptr, "{}: there is no state called '{}'", context.op_name(), names[i]);
    context.unify(state->type.shape, types[i].shape, "shapes of the state and of the tables");
  }
  return {types[0]};
}

// Sorts one table.
void sort_table(const KernelContext& context, std::int64_t table,
                std::span<const std::int64_t> codes, std::int32_t* starts, std::int32_t* ids) {
  const std::int64_t num_codes = context.attr<std::int64_t>("num_codes");
  const auto room = static_cast<std::size_t>(context.attr<std::int64_t>("bucket"));
  std::vector<std::vector<std::int64_t>> buckets(static_cast<std::size_t>(num_codes));
  for (std::size_t id = 0; id < codes.size(); ++id) {
    buckets[static_cast<std::size_t>(codes[id])].push_back(static_cast<std::int64_t>(id));
  }
  std::int32_t next = 0;
  for (std::int64_t code = 0; code < num_codes; ++code) {
    std::vector<std::int64_t>& bucket = buckets[static_cast<std::size_t>(code)];
    if (bucket.size() > room) {
      if (context.attr<std::string>("policy") == kReservoir) {
        std::ranges::sort(bucket, {},
                          [table](std::int64_t id) { return reservoir_rank(table, id); });
        bucket.resize(room);
        std::ranges::sort(bucket);
      } else {
        bucket.erase(bucket.begin(), bucket.end() - static_cast<std::ptrdiff_t>(room));
      }
    }
    starts[code] = next;
    for (const std::int64_t id : bucket) {
      ids[next++] = static_cast<std::int32_t>(id);
    }
  }
  starts[num_codes] = next;
  std::fill(ids + next, ids + codes.size(), -1);
}

void sort_tables(const KernelContext& context, const Tensor& starts, const Tensor& ids) {
  const std::int64_t num_codes = context.attr<std::int64_t>("num_codes");
  const std::vector<std::int64_t> codes = checked_indices(context, 0, num_codes);
  const std::int64_t rows = context.in(0).shape()[1];
  for (std::int64_t table = 0; table < context.in(0).shape()[0]; ++table) {
    sort_table(context, table,
               std::span(codes).subspan(static_cast<std::size_t>(table * rows),
                                        static_cast<std::size_t>(rows)),
               starts.data<std::int32_t>() + table * (num_codes + 1),
               ids.data<std::int32_t>() + table * rows);
  }
}

void hash_tables_reference(KernelContext& context) {
  sort_tables(context, context.out(0), context.out(1));
}

void update_hash_tables_reference(KernelContext& context) {
  const std::vector<std::string> names = updated_states(*context.attrs)[0];
  if (context.in(1).item<bool>()) {
    sort_tables(context, context.states->modify(names[0]), context.states->modify(names[1]));
  }
  context.out() = context.states->get(names[0], host_memory());
}

// Codes with an empty bucket and, where few ids fit, buckets that are too full.
const std::vector<std::int64_t> kSampleCodes = {3, 0, 3, 5, 3, 3, 0, 0, 5, 5, 5, 2,
                                                1, 1, 1, 1, 1, 1, 0, 3, 4, 4, 4, 4};

template <class Build>
std::vector<Sample> table_samples(Build build) {
  std::vector<Sample> samples;
  for (const auto& [label, bucket, policy] : {std::tuple{"all fit", 12, BucketPolicy::fifo},
                                              {"fifo", 2, BucketPolicy::fifo},
                                              {"reservoir", 2, BucketPolicy::reservoir}}) {
    const TableOptions options{.num_codes = 7, .bucket = bucket, .policy = policy};
    SampleInput codes = indices_of({2, 12}, kSampleCodes, DType::i32);
    codes.fixed_size = true;
    samples.push_back({label, {codes}, [options, build](Graph& graph, Inputs in) {
                         return build(graph, in[0], options);
                       }});
  }
  return samples;
}

std::vector<Sample> hash_tables_samples() {
  return table_samples([](Graph&, Var codes, const TableOptions& options) {
    const HashTables tables = hash_tables(codes, options);
    return std::vector<Var>{tables.starts, tables.ids};
  });
}

std::vector<Sample> update_hash_tables_samples() {
  return table_samples([](Graph& graph, Var codes, const TableOptions& options) {
    const Var starts = full(graph, i32, {2, options.num_codes + 1}, 0);
    const Var ids = full(graph, i32, codes.shape(), 1);
    graph.add_state({"starts", {i32, starts.shape()}, starts});
    graph.add_state({"ids", {i32, ids.shape()}, ids});
    assign(graph, "starts", starts);
    assign(graph, "ids", ids);
    const Var when = scalar(graph, boolean, options.policy == BucketPolicy::fifo);
    const Var updated = update_hash_tables("starts", "ids", codes, when, options);
    return std::vector<Var>{updated, read_state(graph, "ids")};
  });
}

}  // namespace

const OpDef& hash_tables_def() {
  static const OpDef def{
      .name = "hash_tables",
      .doc = "Sorts ids by their codes, table by table: the ids, and where those of a code start.",
      .attributes = table_attribute_specs(),
      .dtypes = {DType::i32},
      .infer = infer_hash_tables,
      .no_gradient = "tables are integers",
      .vmap_serially = "each copy has tables of its own",
      .reference = hash_tables_reference,
      .samples = hash_tables_samples,
  };
  return def;
}

const OpDef& update_hash_tables_def() {
  static const OpDef def = [] {
    OpDef op{
        .name = "update_hash_tables",
        .doc = "Sorts ids by their codes into tables that are states, where `when` says so.",
        .attributes = table_attribute_specs(),
        .dtypes = {DType::i32},
        .effect = Effect::writes_state,
        .forwards = true,
        .infer = infer_update_hash_tables,
        .no_gradient = "it changes states, through which no gradient flows",
        .no_vmap = "it changes states, which all copies share",
        .reference = update_hash_tables_reference,
        .samples = update_hash_tables_samples,
    };
    op.attributes.insert(op.attributes.begin(),
                         {{"state", "where the ids of a code start"}, {"state_1", "the ids"}});
    return op;
  }();
  return def;
}

HashTables hash_tables(Var codes, const TableOptions& options) {
  const std::vector<Var> outputs =
      codes.graph().add(hash_tables_def(), {codes}, table_attributes(options)).outputs();
  return {outputs[0], outputs[1]};
}

Var update_hash_tables(const std::string& starts, const std::string& ids, Var codes, Var when,
                       const TableOptions& options) {
  return codes.graph()
      .add(update_hash_tables_def(), {codes, when},
           table_attributes(options, update_attributes({{starts, ids}})))
      .output();
}

}  // namespace antichain
