#include "antichain/ops/products/attention.h"

#include <cmath>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/reference/attention_reference.h"
#include "antichain/ops/reference/attention_samples.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/normalization_gradients.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

DType lse_dtype(DType dtype) { return dtype == f64 ? f64 : f32; }

// Checks q, k and v from input `first` on, and the mask if there are so many inputs.
void check_operands(InferContext& context, int first, int mask) {
  const std::string& op = context.op_name();
  require(context.num_inputs() == mask || context.num_inputs() == mask + 1,
          "{}: takes {} inputs or, with a mask, {}, got {}", op, mask, mask + 1,
          context.num_inputs());
  context.require_dtype(first, kFloats);
  for (int i = first; i < first + 3; ++i) {
    require<TypeError>(context.dtype(i) == context.dtype(first),
                       "{}: q, k and v must have one type, there are {} and {}", op,
                       name(context.dtype(first)), name(context.dtype(i)));
    context.require_rank(i, 4);
  }
  const Dims &q = context.shape(first), &k = context.shape(first + 1),
             &v = context.shape(first + 2);
  context.unify(q[0], k[0], "batches of q and k");
  context.unify(q[2], k[2], "heads of q and k");
  context.unify(q[3], k[3], "widths of q and k");
  context.unify(k[0], v[0], "batches of k and v");
  context.unify(k[1], v[1], "keys of k and v");
  context.unify(k[2], v[2], "heads of k and v");
  if (context.num_inputs() > mask) {
    context.require_dtype(mask, {DType::boolean});
    context.unify({k[0], k[1]}, context.shape(mask), "[batch, keys] and the mask");
  }
  require(std::isfinite(context.attrs().get<double>("scale")), "{}: scale must be finite, got {}",
          op, context.attrs().get<double>("scale"));
}

std::vector<VarType> infer_attention(InferContext& context) {
  check_operands(context, 0, 3);
  const Dims &q = context.shape(0), &v = context.shape(2);
  return {{context.dtype(0), {q[0], q[1], q[2], v[3]}},
          {lse_dtype(context.dtype(0)), {q[0], q[2], q[1]}}};
}

std::vector<VarType> infer_attention_gradient(InferContext& context) {
  check_operands(context, 1, 6);
  const DType dtype = context.dtype(1);
  const Dims &q = context.shape(1), &k = context.shape(2), &v = context.shape(3);
  const Dims output = {q[0], q[1], q[2], v[3]};
  require<TypeError>(context.dtype(0) == dtype && context.dtype(4) == dtype,
                     "attention_gradient: grad and output must be {} as q is", name(dtype));
  require<TypeError>(context.dtype(5) == lse_dtype(dtype),
                     "attention_gradient: lse must be {} where q is {}", name(lse_dtype(dtype)),
                     name(dtype));
  context.unify(output, context.shape(0), "the output of q and v, and grad");
  context.unify(output, context.shape(4), "the output of q and v, and output");
  context.unify({q[0], q[2], q[1]}, context.shape(5), "[batch, heads, queries] and lse");
  return {{dtype, q}, {dtype, k}, {dtype, v}};
}

// Attention as products and a softmax, by head: [batch, heads, time, width].
class Parts {
 public:
  Parts(Op op, int first, int mask) : scale_(op.attrs().get<double>("scale")) {
    const auto by_head = [op](int input) { return swap_axes(op.input(input), 1, 2); };
    query_ = by_head(first) * scale_;
    key_ = by_head(first + 1);
    value_ = by_head(first + 2);
    scores_ = matmul(query_, key_, {.transpose_b = true});
    Graph& graph = op.graph();
    if (op.attrs().get<bool>("causal")) {
      const Var query = iota(graph, DType::i64, scores_.dim(2));
      const Var key = iota(graph, DType::i64, scores_.dim(3));
      seen_.push_back(less_equal(key, expand_dims(query, 1)));
    }
    if (op.num_inputs() > mask) {
      const Var keys = op.input(mask);
      seen_.push_back(reshape(keys, {keys.dim(0), 1, 1, keys.dim(1)}));
    }
  }

  // Softmax computes 16-bit scores in f32 and rounds once.
  Var weights() const {
    return softmax(masked(scores_, scores_.dtype() == f16 ? kUnseenOfHalves : kUnseenScore));
  }
  Var output() const { return swap_axes(matmul(weights(), value_), 1, 2); }
  Var lse() const {
    const DType dtype = lse_dtype(scores_.dtype());
    const Var wide = scores_.dtype() == dtype ? scores_ : cast(scores_, dtype);
    return logsumexp(masked(wide, kUnseenScore), {-1});
  }

  Vars gradients(Var grad) const {
    const Var by_head = swap_axes(grad, 1, 2), weight = weights();
    Var slopes = softmax_gradient(matmul(by_head, value_, {.transpose_b = true}), weight);
    for (auto seen = seen_.rbegin(); seen != seen_.rend(); ++seen) {
      slopes = select(*seen, slopes, scalar(slopes.graph(), slopes.dtype(), 0));
    }
    return {swap_axes(matmul(slopes, key_) * scale_, 1, 2),
            swap_axes(matmul(slopes, query_, {.transpose_a = true}), 1, 2),
            swap_axes(matmul(weight, by_head, {.transpose_a = true}), 1, 2)};
  }

 private:
  static constexpr double kUnseenOfHalves = -6e4;  // f16 ends at 65504

  Var masked(Var scores, double unseen) const {
    for (Var seen : seen_) {
      scores = select(seen, scores, unseen);
    }
    return scores;
  }

  double scale_;
  Var query_, key_, value_, scores_;
  Vars seen_;
};

Vars decompose_attention(Op op) {
  const Parts parts(op, 0, 3);
  return {parts.output(), parts.lse()};
}

ScoreOptions options_of(const RuleContext& context, int mask) {
  return {.scale = context.attrs().get<double>("scale"),
          .causal = context.attrs().get<bool>("causal"),
          .mask = context.num_inputs() > mask ? context.input(mask) : Var()};
}

Vars attention_vjp(VjpContext& context) {
  Vars grads;
  if (context.has_grad(1)) {
    const auto here = [&context](Vars values) {
      for (Var& value : values) {
        value = context.graph().capture(value);
      }
      return values;
    };
    const Vars inputs = here({context.input(0), context.input(1), context.input(2)});
    grads = context.walk_back(here(decompose_attention(context.op())), context.grads(), inputs);
  } else {
    const AttentionGradient all =
        attention_gradient(context.grad(), context.input(0), context.input(1), context.input(2),
                           {context.output(0), context.output(1)}, options_of(context, 3));
    grads = {all.q, all.k, all.v};
  }
  grads.resize(static_cast<std::size_t>(context.num_inputs()));  // a mask has none
  return grads;
}

std::vector<AttrSpec> attributes() {
  return {{"scale", "of the products of queries and keys", {1.0}},
          {"causal", "whether query i sees keys 0 to i only", {false}}};
}

Vars add(const OpDef& def, std::vector<Operand> operands, const ScoreOptions& options) {
  if (options.mask.valid()) {
    operands.emplace_back(options.mask, operands[0].location());
  }
  return apply_all(def, operands, {{"scale", options.scale}, {"causal", options.causal}});
}

}  // namespace

const OpDef& attention_def() {
  static const OpDef def{
      .name = "attention",
      .doc =
          "softmax(scale q kᵀ) v per head of values [batch, time, heads, width]; also returns "
          "the log of the sum of exp(scores). An optional mask says which keys are seen.",
      .attributes = attributes(),
      .infer = infer_attention,
      .vjp = attention_vjp,
      .vmap = vmap_by_first_axis,
      .decompose = decompose_attention,
      .reference = attention_reference,
      .samples = attention_samples,
  };
  return def;
}

const OpDef& attention_gradient_def() {
  static const OpDef def{
      .name = "attention_gradient",
      .doc =
          "The gradients of attention's output with respect to q, k and v, given what attention "
          "returned for them.",
      .attributes = attributes(),
      .infer = infer_attention_gradient,
      .vmap = vmap_by_first_axis,
      .decompose = [](Op op) { return Parts(op, 1, 6).gradients(op.input(0)); },
      .reference = attention_gradient_reference,
      .samples = attention_gradient_samples,
  };
  return def;
}

Attended attention(const Operand& q, const Operand& k, const Operand& v,
                   const ScoreOptions& options) {
  const Vars outputs = add(attention_def(), {q, k, v}, options);
  return {outputs[0], outputs[1]};
}

AttentionGradient attention_gradient(const Operand& grad, Var q, Var k, Var v,
                                     const Attended& attended, const ScoreOptions& options) {
  const Vars outputs =
      add(attention_gradient_def(), {grad, q, k, v, attended.output, attended.lse}, options);
  return {outputs[0], outputs[1], outputs[2]};
}

std::vector<const OpDef*> attention_family() {
  return {&attention_def(), &attention_gradient_def()};
}

}  // namespace antichain
