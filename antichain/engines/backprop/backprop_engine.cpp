#include "antichain/engines/backprop/backprop_engine.h"

namespace antichain {

namespace {

class BackpropEngine final : public GradientEngine {
 public:
  std::string_view name() const override { return kBackprop; }
  std::string_view summary() const override {
    return "reverse mode: one sweep back through the ops, each by its own rule";
  }
  Guarantee guarantee() const override { return Guarantee::exact; }

  Support supports(Op region_op, const std::vector<bool>&) const override {
    return region_op.def().vjp ? Support{}
                               : Support::no(region_op.def().name + " has no reverse rule");
  }

  std::vector<Var> differentiate(VjpContext& context) const override {
    return context.op().def().vjp(context);
  }
};

}  // namespace

std::unique_ptr<GradientEngine> make_backprop_engine() {
  return std::make_unique<BackpropEngine>();
}

}  // namespace antichain
