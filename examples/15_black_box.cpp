// A part of a model that is a function somewhere else: a simulator, a device, old code. Here it is
// C++ that answers in whole steps. It has no derivative, and the engine `likelihood` asks for none:
// the layers in front of it learn from what comes out with noise put in.
#include <antichain/antichain.h>
#include <fmt/core.h>

#include <cmath>

namespace ac = antichain;

namespace {

constexpr std::int64_t kChannels = 4;

// The device: per channel, a response that is rounded to tenths.
void respond(ac::KernelContext& context) {
  const std::vector<float> volts = context.in(0).to_vector<float>();
  std::vector<float> response;
  for (const float volt : volts) {
    response.push_back(std::round(10 * std::sin(volt)) / 10);
  }
  context.out().copy_from(ac::Tensor::of<float>(context.out().shape(), response));
}

const ac::OpDef& device_def() {
  static const ac::OpDef def{.name = "device",
                             .doc = "The response of a device.",
                             .dtypes = {ac::f32},
                             .infer =
                                 [](ac::InferContext& context) {
                                   context.require_inputs(1);
                                   return std::vector<ac::VarType>{context.type(0)};
                                 },
                             .no_gradient = "nobody knows what is inside",
                             .vmap_serially = "the device answers one question at a time",
                             .reference = respond};
  return def;
}

ac::Var device(ac::Var volts) { return ac::apply(device_def(), {volts}); }

}  // namespace

int main() {
  ac::Session session({.seed = 1});
  ac::Graph graph = session.graph();
  graph.choose_engines(ac::EnginePlan::parse("likelihood:copies=16,sigma=0.2"));
  const ac::Var x = graph.input("x", ac::f32, {"batch", 1});
  const ac::Var wanted = graph.input("wanted", ac::f32, {"batch", 1});
  const ac::Var hidden = ac::tanh(ac::nn::linear(x, 16, {.name = "hidden"}));
  const ac::Var volts = ac::nn::linear(hidden, kChannels, {.name = "volts"});
  const ac::Var responses = ac::vmap(device)(volts);  // example by example
  const ac::Var losses = ac::nn::mse(ac::nn::linear(responses, 1, {.name = "out"}), wanted);
  const ac::Var loss = ac::mean(losses);
  const ac::Executable train = session.compile(
      {loss}, {.updates = ac::optim::adam(loss, {.lr = 0.02, .step = {.gradient_at = {losses}}})});

  std::vector<float> inputs, targets;
  for (int i = 0; i < 32; ++i) {
    inputs.push_back(static_cast<float>(i) / 8 - 2);
    targets.push_back(inputs.back() * inputs.back() - 1);
  }
  const ac::Feeds feeds = {{"x", ac::Tensor::of<float>({32, 1}, inputs)},
                           {"wanted", ac::Tensor::of<float>({32, 1}, targets)}};
  double last = 0, first = 0;
  for (int step = 0; step <= 400; ++step) {
    last = train(feeds).item<double>();
    first = step == 0 ? last : first;
    if (step % 100 == 0) {
      fmt::print("step {:>3}  loss {:.4f}\n", step, last);
    }
  }
  return last < 0.05 * first ? 0 : 1;
}
