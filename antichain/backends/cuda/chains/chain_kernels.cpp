#include "antichain/backends/cuda/chains/chain_kernels.h"

#include <map>
#include <memory>

#include "antichain/backends/cuda/chains/chain_tuning.h"
#include "antichain/backends/cuda/core/packed_input.h"

namespace antichain::cuda {

namespace {

class ChainPlan {
 public:
  ChainPlan(const KernelContext& context, const Context& device)
      : arguments_(context.inputs.size(), context.outputs.size()),
        launch_(make_launch(context, device)) {
    const ChainLayout layout(context.op);
    for (const auto& [input, is_grouped] : inputs_read(context.op)) {
      const auto i = static_cast<std::size_t>(input);
      const Tensor& seen = *context.inputs[i];
      const bool walks = input >= layout.first_x() && input < layout.first_captured();
      const std::size_t steps = walks ? 1 : 0;
      const PackedInput read = is_grouped ? PackedInput::with_packed_parts(device, seen, steps + 1)
                                          : PackedInput::whole_aligned(device, seen);
      launch_.set(arguments_.step(i), walks ? read.strides()[0] : 0);
      launch_.set(arguments_.group(i), is_grouped ? read.strides()[steps] : 0);
      inputs_.emplace_back(i, read);
    }
  }

  void run(const KernelContext& context) {
    for (auto& [i, read] : inputs_) {
      launch_.set(arguments_.input(i), read.address(*context.inputs[i]));
    }
    for (std::size_t i = 0; i < context.outputs.size(); ++i) {
      const bool is_wanted = context.wanted[i] != 0 && context.outputs[i]->defined();
      launch_.set(arguments_.output(i), is_wanted ? context.outputs[i]->raw() : nullptr);
    }
    launch_.run();
  }

 private:
  // The inputs that the body reads, and whether every group has its own there.
  static std::map<int, bool> inputs_read(Op op) {
    std::map<int, bool> read;
    for (const ChainValue& value : ChainBody(op).values) {
      if (value.input >= 0) {
        read[value.input] |= value.grouped;
      }
    }
    return read;
  }

  Launch make_launch(const KernelContext& context, const Context& device) const {
    const Shape& state = context.in(0).shape();
    const ChainRows rows{state.end()[-2], state.size() == 3 ? state[0] : 1};
    return arguments_.launch(device, tuned_choice(context, rows, device), rows,
                             context.size("length"));
  }

  ChainArguments arguments_;
  Launch launch_;
  // By number, those that are read; sequences 16 bytes at once.
  std::vector<std::pair<std::size_t, PackedInput>> inputs_;
};

KernelFunction plan_chain(const KernelContext& context, const Context& device) {
  const auto planned = std::make_shared<ChainPlan>(context, device);
  return [planned](KernelContext& run) { planned->run(run); };
}

}  // namespace

void register_chains(KernelTable& kernels, const Context& context, bool tf32) {
  kernels.add(chain_def(),
              {.name = "generated chain",
               .supports = [most = context->most_shared_bytes(),
                            tf32](Op op) { return chain_support(op, most, tf32); },
               .plan = [context](const KernelContext& seen) { return plan_chain(seen, context); },
               .strided_inputs = true,
               .skips_unwanted = true});
}

}  // namespace antichain::cuda
