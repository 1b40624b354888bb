#include "antichain/ops/state/noise_site.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/graph/vmap_context.h"

namespace antichain {

namespace {

std::vector<VarType> infer_noise_site(InferContext& context) {
  const bool has_sigma = context.num_inputs() == 2;
  context.require_inputs(has_sigma ? 2 : 1);
  context.require_dtype(0, kFloats);
  if (has_sigma && context.attrs().get<bool>("has_factor")) {
    context.require_same_dtype();
    context.require_min_rank(0, 2);
    const Dim width = context.shape(0).back();
    context.unify(context.shape(1), {width, width}, "shapes of the factor and of [d, d]");
  } else if (has_sigma) {
    context.require_same_dtype();
    context.unify(context.broadcast(context.shape(0), context.shape(1)), context.shape(0),
                  "shapes of the site and of what log_sigma is repeated to");
  }
  return {context.type(0)};
}

std::vector<Var> noise_site_vjp(VjpContext& context) {
  std::vector<Var> grads = {context.grad()};
  if (context.num_inputs() == 2) {
    grads.push_back(context.needs(1) ? context.zeros_like(context.input(1)) : Var());
  }
  return grads;
}

std::optional<std::vector<Var>> vmap_noise_site(VmapContext& context) {
  return std::vector<Var>{context.repeated(0)};
}

Rewrite site_to_value() {
  return {"noise_site(x, ...) -> x",
          [](Op op) { return std::optional(std::vector<Var>{op.input(0)}); },
          {"vector", {{{3}}, {{3}}}, [](Graph&, std::span<const Var> in) {
             return std::vector<Var>{noise_site(in[0], in[1])};
           }}};
}

std::vector<Sample> noise_site_samples() {
  const auto plain = [](Graph&, std::span<const Var> in) {
    return std::vector<Var>{noise_site(in[0])};
  };
  const auto with_sigma = [](Graph&, std::span<const Var> in) {
    return std::vector<Var>{noise_site(in[0], in[1])};
  };
  return {{"plain", {{{2, 3}}}, plain},
          {"a deviation for all", {{{2, 3}}, {{}}}, with_sigma},
          {"a deviation per unit", {{{2, 3}}, {{3}}}, with_sigma},
          {"a factor", {{{2, 3}}, {{3, 3}}}, [](Graph&, std::span<const Var> in) {
             return std::vector<Var>{noise_site_with_factor(in[0], in[1])};
           }}};
}

}  // namespace

const OpDef& noise_site_def() {
  static const OpDef def{
      .name = "noise_site",
      .doc = "Returns x; a place for noise of the engine `likelihood`.",
      .attributes = {{"label", "its name, for messages and options", {std::string()}},
                     {"has_factor",
                      "whether the second input is a factor of the covariance",
                      {false}}},
      .on_any_device = true,
      .infer = infer_noise_site,
      .vjp = noise_site_vjp,
      .vmap = vmap_noise_site,
      .rewrites = {site_to_value()},
      .reference =
          [](KernelContext& context) { context.device->copy(context.out(), context.in(0)); },
      .view = [](const KernelContext& context) { return context.in(0); },
      .samples = noise_site_samples,
  };
  return def;
}

Var noise_site(const Operand& x) {
  return apply(noise_site_def(), {x}, {{"label", x.var().graph().qualify("noise_site")}});
}

Var noise_site(const Operand& x, const Operand& log_sigma) {
  return apply(noise_site_def(), {x, log_sigma},
               {{"label", x.var().graph().qualify("noise_site")}});
}

Var noise_site_with_factor(const Operand& x, const Operand& factor) {
  return apply(noise_site_def(), {x, factor},
               {{"label", x.var().graph().qualify("noise_site")}, {"has_factor", true}});
}

std::vector<const OpDef*> noise_family() { return {&noise_site_def()}; }

}  // namespace antichain
