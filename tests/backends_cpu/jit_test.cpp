// Compiled code for fused ops: the bits of the loops that it replaces, and a cache that survives
// everything.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "antichain/backends/cpu/elementwise/elementwise.h"
#include "antichain/backends/cpu/elementwise/fused_steps.h"
#include "antichain/backends/cpu/jit/jit_compiler.h"
#include "antichain/base/code_cache.h"
#include "antichain/ops/catalogue.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/shape/creation.h"
#include "tests/backends_cpu/draw.h"

namespace antichain::cpu {
namespace {

namespace fs = std::filesystem;

class Jit : public testing::Test {
 protected:
  void SetUp() override {
    if (!make_jit_compiler()) {
      GTEST_SKIP() << "built without LLVM";
    }
    folder_ =
        fs::temp_directory_path() / ("antichain-jit-" + std::to_string(getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    jit_ = std::make_shared<JitCompiler>(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::shared_ptr<JitCompiler> jit_;
};

// Values that are special somewhere: zeros of both signs, NaN, infinities, the largest and
// smallest.
Tensor special_values(Draw& draw, DType dtype, const Shape& shape) {
  Tensor values = draw.values(dtype, shape);
  const double all[] = {0.0,   -0.0,  NAN, INFINITY,      -INFINITY, 3e38,
                        -3e38, 1e-40, 2.5, -2147483648.0, 4.6e18,    1.0};
  for (std::int64_t i = 0; i < values.numel(); i += 3) {
    const double value = all[static_cast<std::size_t>(i / 3) % std::size(all)];
    if (is_float(dtype)) {
      values.slice(0, i, 1).copy_from(Tensor::full(f64, {1}, value).cast(dtype));
    } else if (dtype == i32 || dtype == i64) {
      values.slice(0, i, 1).copy_from(Tensor::full(f64, {1}, value).cast(dtype));
    }
  }
  return values;
}

std::vector<Tensor> run_kernel(const Kernel& kernel, Op op, const std::vector<Tensor>& inputs,
                               bool in_place) {
  std::vector<Tensor> own, outputs;
  for (const Tensor& input : inputs) {
    own.push_back(input.clone());
  }
  const DimEnv env;
  for (int i = 0; i < op.num_outputs(); ++i) {
    const Var output = op.output(i);
    outputs.push_back(Tensor::empty(output.dtype(), evaluate(output.shape(), env)));
    for (int n = 0; in_place && n < op.num_inputs(); ++n) {
      if (own[static_cast<std::size_t>(n)].dtype() == output.dtype() &&
          own[static_cast<std::size_t>(n)].shape() == outputs.back().shape() &&
          (!kernel.may_overwrite || kernel.may_overwrite(op, i, n))) {
        outputs.back() = own[static_cast<std::size_t>(n)];
        in_place = false;  // one is enough
      }
    }
  }
  std::vector<const Tensor*> in;
  std::vector<Tensor*> out;
  for (const Tensor& tensor : own) {
    in.push_back(&tensor);
  }
  for (Tensor& tensor : outputs) {
    out.push_back(&tensor);
  }
  const std::vector<std::uint8_t> wanted(outputs.size(), 1);
  KernelContext context;
  context.op = op;
  context.inputs = in;
  context.outputs = out;
  context.attrs = &op.attrs();
  context.env = &env;
  context.wanted = wanted;
  kernel.plan(context)(context);
  return outputs;
}

// Compares the fused op with compiled runs and with loops alone.
void expect_same_bits(const std::shared_ptr<JitCompiler>& jit, Op op,
                      const std::vector<Tensor>& inputs) {
  KernelTable loops, compiled;
  register_elementwise(loops);
  register_elementwise(compiled, jit);
  const Logger silent;
  const Kernel plain = loops.choose(op, silent), fast = compiled.choose(op, silent);
  ASSERT_NE(plain.name, kReferenceKernel) << op.describe();
  const std::vector<Tensor> want = run_kernel(plain, op, inputs, false);
  for (const bool in_place : {false, true}) {
    const std::vector<Tensor> got = run_kernel(fast, op, inputs, in_place);
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(bit_equal(got[i], want[i])) << op.describe() << ", result " << i;
    }
  }
}

TEST_F(Jit, EveryOpOnEveryType) {
  Draw draw(61);
  int checked = 0;
  for (const OpDef* def : op_catalogue()) {
    if (!is_elementwise(*def)) {
      continue;
    }
    for (const DType dtype : {f32, f64, bf16, i32, i64, boolean}) {
      for (const DType to : {f32, f64, bf16, i32, i64, boolean}) {
        const bool is_cast = def == &cast_def();
        if (!def->dtypes.contains(dtype) || (!is_cast && to != f32)) {
          continue;
        }
        for (const std::int64_t size : {1, 37, 2500}) {
          Graph graph;
          std::vector<Tensor> values = {special_values(draw, dtype, {size}),
                                        special_values(draw, dtype, {size})};
          std::vector<Var> x = {graph.input("a", dtype, {size}), graph.input("b", dtype, {size})};
          const Vars results = fused(graph, [&] {
            Var y;
            if (is_cast) {
              y = cast(x[0], to);
            } else if (def == &select_def()) {
              y = select(equal(x[0], x[1]), x[0], x[1]);
            } else if (def == &clip_def()) {
              y = clip(x[0], -0.7, 1.3);
            } else {
              const auto unary = elementwise_unary_family();
              const bool one = std::ranges::find(unary, def) != unary.end();
              y = graph.add(*def, one ? Vars{x[0]} : x).output();
            }
            // A second op makes a run; it reads the first one's result.
            return Vars{y, equal(y, y)};
          });
          const Op op = results[0].producer();
          if (compiled_runs(fused_steps(SimdLevel::baseline, op)).empty()) {
            continue;
          }
          values.resize(static_cast<std::size_t>(op.num_inputs()));
          expect_same_bits(jit_, op, values);
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 300);
}

TEST_F(Jit, BodiesOfManyOpsWithNumbersAndBroadcasts) {
  Draw draw(62);
  for (const std::int64_t rows : {1, 5, 33}) {
    for (const std::int64_t columns : {1, 16, 67, 1500}) {
      Graph graph;
      const Var a = graph.input("a", f32, {rows, columns}), b = graph.input("b", f32, {columns});
      const Var c = graph.input("c", f32, {rows, 1});
      const Vars results = fused(graph, [&] {
        const Var sum = (a * 3 + b) * 0.5 - c;
        const Var gate = sigmoid(sum);  // a loop between two runs
        const Var mixed = gate * a + (1 - gate) * sum;
        return Vars{sum, select(greater(mixed, b), mixed, -mixed), cast(mixed * 10, i32) + 1};
      });
      expect_same_bits(jit_, results[0].producer(),
                       {draw.values(f32, {rows, columns}), draw.values(f32, {columns}),
                        draw.values(f32, {rows, 1})});
    }
  }
}

// The code of scale * x + shift, and the numbers that it is given.
std::pair<std::string, std::vector<double>> code_of_line(DType dtype, double scale, double shift) {
  Graph graph;
  const Var x = graph.input("x", dtype, {4});
  const Vars y = fused(graph, [&] { return Vars{x * scale + shift}; });
  const Cluster cluster = cluster_of(fused_steps(SimdLevel::baseline, y[0].producer()), 0, 2, 1);
  return {cluster_code(cluster), given_numbers(cluster)};
}

TEST_F(Jit, OpsThatDifferInNumbersHaveTheSameCode) {
  for (const DType dtype : {f32, f64, bf16}) {
    const auto [code, given] = code_of_line(dtype, 1.5, 0.75);
    EXPECT_EQ(given, (std::vector<double>{1.5, 0.75}));
    EXPECT_EQ(code_of_line(dtype, -2.5, 5).first, code);
    EXPECT_NE(code_of_line(dtype, 1, 0.75).first, code) << "1 is part of the code";
    EXPECT_EQ(code_of_line(dtype, 1, 0.75).second, (std::vector<double>{0.75}));
    EXPECT_NE(code_of_line(dtype, 2, 0.75).first, code_of_line(dtype, 1, 0.75).first);
  }
}

TEST_F(Jit, NumbersOfEveryKindGiveTheBitsOfTheLoops) {
  Draw draw(63);
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {f32, f64, bf16}) {
    for (const double number : {-0.0, -0.25, 0.1, 1e-42, inf, std::nan("")}) {
      Graph graph;
      const Var x = graph.input("x", dtype, {67});
      const Tensor values = special_values(draw, dtype, {67});
      const Vars given = fused(graph, [&] { return Vars{x * number - 0.3, number / x}; });
      expect_same_bits(jit_, given[0].producer(), {values});
      const Vars part_of_the_code = fused(graph, [&] {
        return Vars{maximum(x * number, 0.3), less(x + 0.7, number)};
      });
      expect_same_bits(jit_, part_of_the_code[0].producer(), {values});
    }
  }
}

std::string some_code() {
  Graph graph;
  const Var x = graph.input("x", f32, {4});
  const Vars y = fused(graph, [&] { return Vars{x * 2 + 1}; });
  return cluster_code(cluster_of(fused_steps(SimdLevel::baseline, y[0].producer()), 0, 2, 1));
}

float call(ClusterLoop loop, float x) {
  float y = 0;
  const void* const in[] = {&x};
  void* const out[] = {&y};
  loop(in, out, 1);
  return y;
}

TEST_F(Jit, RemembersInTheProcessAndOnDisk) {
  EXPECT_EQ(call(jit_->compile(some_code()).get(), 3), 7);
  EXPECT_EQ(call(jit_->compile(some_code()).get(), 4), 9);
  EXPECT_EQ(jit_->statistics().compiled, 1);
  JitCompiler next(folder_);
  EXPECT_EQ(call(next.compile(some_code()).get(), 5), 11);
  EXPECT_EQ(next.statistics().compiled, 0);
  EXPECT_EQ(next.statistics().loaded, 1);
}

TEST_F(Jit, FilesThatAreNotWhatTheyWereAreMadeAnew) {
  jit_->compile(some_code()).get();
  const fs::path file = fs::directory_iterator(folder_)->path();
  const auto whole = fs::file_size(file);
  for (const std::uintmax_t size : {std::uintmax_t{0}, std::uintmax_t{10}, whole / 2, whole - 1}) {
    fs::resize_file(file, size);
    JitCompiler next(folder_);
    EXPECT_EQ(call(next.compile(some_code()).get(), 5), 11);
    EXPECT_EQ(next.statistics().compiled, 1) << size;
    EXPECT_EQ(fs::file_size(file), whole);
  }
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(whole / 2));
    bytes.put('\x5a');
    bytes.put('\xa5');
  }
  JitCompiler next(folder_);
  EXPECT_EQ(call(next.compile(some_code()).get(), 5), 11);
  EXPECT_EQ(next.statistics().compiled, 1);
}

// What a cache gives back need not be code that this LLVM can load.
TEST_F(Jit, WhatCannotBeLoadedIsCompiledAnew) {
  jit_->compile(some_code()).get();
  const fs::path file = fs::directory_iterator(folder_)->path();
  const CodeCache cache(folder_);
  const std::string key = file.stem().string();
  const auto whole = cache.load(key);
  ASSERT_TRUE(whole);
  for (const std::string& other :
       {std::string("no object file"), std::string(), whole->substr(0, 64)}) {
    cache.store(key, other);
    JitCompiler next(folder_);
    EXPECT_EQ(call(next.compile(some_code()).get(), 5), 11);
    EXPECT_EQ(next.statistics().compiled, 1);
    EXPECT_EQ(next.statistics().loaded, 0);
    EXPECT_EQ(cache.load(key), whole);
  }
}

TEST_F(Jit, WorksWithoutAFolderOrInOneThatCannotBeWritten) {
  for (const char* folder : {"", "/proc/nothing/here"}) {
    JitCompiler compiler{fs::path(folder)};
    EXPECT_EQ(call(compiler.compile(some_code()).get(), 5), 11);
  }
}

}  // namespace
}  // namespace antichain::cpu
