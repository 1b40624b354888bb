// Convolutions of the recipes and their gradients, against oneDNN called directly with its own
// threads, copies from and to plain tensors included on both sides.
#include "antichain/antichain.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "benchmarks/against.h"
#include "benchmarks/libraries/library.h"
#include "benchmarks/op_case.h"

namespace antichain::bench {
namespace {

const libraries::Convolution kConvolutions[] = {
    {128, 1, 32, 28, 3},   {128, 32, 64, 14, 3}, {64, 64, 64, 32, 3},
    {64, 128, 128, 16, 3}, {64, 256, 256, 8, 3}, {64, 64, 256, 32, 1},
};

struct PartName {
  libraries::Part part;
  const char* name;
};

void run(benchmark::State& state, const libraries::Convolution& conv, libraries::Part part) {
  const CaseInput x{f32, {conv.batch, conv.in, conv.image, conv.image}};
  const CaseInput weight{f32, {conv.out, conv.in, conv.window, conv.window}};
  const CaseInput output{f32, {conv.batch, conv.out, conv.image, conv.image}};
  const ConvOptions options{.padding = {conv.padding(), conv.padding()}};
  const std::vector<CaseInput> inputs =
      part == libraries::Part::output
          ? std::vector<CaseInput>{x, weight}
          : std::vector<CaseInput>{output, part == libraries::Part::x ? weight : x};
  OpCase ours(inputs, [&](Graph&, const std::vector<Var>& in) {
    switch (part) {
      case libraries::Part::output: return antichain::conv(in[0], in[1], options);
      case libraries::Part::x:
        return conv_input_gradient(in[0], in[1], {conv.image, conv.image}, options);
      case libraries::Part::weight: break;
    }
    return conv_weight_gradient(in[0], in[1], {conv.window, conv.window}, options);
  });
  libraries::set_threads(cpu::num_threads());
  const Tensor xs = numbers(f32, x.shape), weights = numbers(f32, weight.shape),
               outputs = numbers(f32, output.shape);
  const auto theirs = libraries::prepare(conv, part, xs.data<float>(), weights.data<float>(),
                                         outputs.data<float>());
  const BestTimes best = run_in_turns(
      state, [&] { ours.run(); }, theirs);
  report_speeds(state,
                2.0 * static_cast<double>(outputs.numel() * conv.in * conv.window * conv.window),
                best);
}

void register_convolutions() {
  constexpr PartName kParts[] = {{libraries::Part::output, "forward"},
                                 {libraries::Part::x, "input gradient"},
                                 {libraries::Part::weight, "weight gradient"}};
  for (const libraries::Convolution& conv : kConvolutions) {
    for (const PartName& part : kParts) {
      const std::string name =
          fmt::format("conv/f32/N={} {}->{} {}x{} window {}/{}", conv.batch, conv.in, conv.out,
                      conv.image, conv.image, conv.window, part.name);
      benchmark::RegisterBenchmark(
          name.c_str(), [&conv, part](benchmark::State& state) { run(state, conv, part.part); })
          ->UseManualTime()
          ->MinTime(0.3);
    }
  }
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  return antichain::bench::run_registered(argc, argv, antichain::bench::register_convolutions);
}
