// Matrix products of the recipes, against oneDNN called directly with its own threads.
#include "antichain/antichain.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "benchmarks/against.h"
#include "benchmarks/libraries/library.h"
#include "benchmarks/op_case.h"

namespace antichain::bench {
namespace {

const libraries::Product kProducts[] = {
    {128, 512, 784},               // the MLP's layers, forward
    {128, 512, 512, false, true},  // ... gradient of the input
    {784, 512, 128, true},         // ... gradient of the weight
    {128, 10, 512},
    {64, 1536, 512},  // a GRU step
    {1024, 1024, 1024},
    {8192, 768, 768},  // a transformer
    {2708, 16, 1433},  // Cora
};

Shape stored(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Shape{columns, rows} : Shape{rows, columns};
}

void run(benchmark::State& state, const libraries::Product& product) {
  OpCase ours({{f32, stored(product.rows, product.inner, product.transpose_a)},
               {f32, stored(product.inner, product.columns, product.transpose_b)}},
              [&product](Graph&, const std::vector<Var>& x) {
                return matmul(x[0], x[1], {product.transpose_a, product.transpose_b});
              });
  libraries::set_threads(cpu::num_threads());
  const Tensor out = Tensor::zeros(f32, {product.rows, product.columns});
  const auto theirs = libraries::prepare(product, ours.input(0).data<float>(),
                                         ours.input(1).data<float>(), out.data<float>());
  const BestTimes best = run_in_turns(
      state, [&] { ours.run(); }, theirs);
  const double flops = 2.0 * static_cast<double>(product.rows * product.columns * product.inner);
  report_speeds(state, flops, best);
}

void register_products() {
  for (const libraries::Product& product : kProducts) {
    const std::string name = fmt::format("matmul/f32/{}x{}x{}{}{}", product.rows, product.columns,
                                         product.inner, product.transpose_a ? "/a transposed" : "",
                                         product.transpose_b ? "/b transposed" : "");
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&product](benchmark::State& state) { run(state, product); })
        ->UseManualTime()
        ->MinTime(0.3);
  }
}

}  // namespace
}  // namespace antichain::bench

int main(int argc, char** argv) {
  return antichain::bench::run_registered(argc, argv, antichain::bench::register_products);
}
