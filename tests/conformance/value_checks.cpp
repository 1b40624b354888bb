#include "tests/conformance/value_checks.h"

#include <gtest/gtest.h>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/clone.h"
#include "antichain/graph/traversal.h"
#include "antichain/passes/graph_copy.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/not_owned.h"
#include "tests/conformance/remote_backend.h"
#include "tests/conformance/sample_case.h"

namespace antichain::conformance {

namespace {

// A sample may round after each of several ops.
constexpr double kRoundings = 16;

std::vector<Tensor> run_with(SampleCase& sample, const KernelTable& kernels) {
  GraphCopy copy = copy_graph(sample.graph(), sample.outputs(), {});
  sample.session().compile(sample.outputs());  // gives states their initial values
  Executable executable(std::move(copy.graph), copy.values, {},
                        not_owned(sample.session().backend()), kernels, sample.session().logger(),
                        not_owned(sample.session().states()));
  executable.set_print_line([](std::string_view) {});
  return executable(sample.feeds()).tensors();
}

void expect_all_close(const std::vector<Tensor>& got, const std::vector<Tensor>& want,
                      double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_close(got[i], want[i], tolerance, what + ", output " + std::to_string(i));
  }
}

std::vector<Tensor> run_on(std::unique_ptr<Backend> backend, SampleCase& sample) {
  Session session(std::move(backend));
  Executable executable = session.compile(sample.outputs(), {.compiler = {.level = 0}});
  executable.set_print_line([](std::string_view) {});
  return executable(sample.feeds()).tensors();
}

Op find_use(SampleCase& sample, const OpDef& def) {
  for (Op op : schedule(sample.graph(), sample.outputs())) {
    if (&op.def() == &def) {
      return op;
    }
  }
  return {};
}

}  // namespace

void check_kernels(const OpDef& def, const Sample& sample, DType dtype, CaseLog& log) {
  SampleCase reference(sample, dtype);
  const std::vector<Tensor> want = run_with(reference, KernelTable());
  for (const Kernel& kernel : reference.session().backend().kernels().candidates(def)) {
    SampleCase tried(sample, dtype);
    const Op use = find_use(tried, def);
    if (!use.valid()) {
      continue;
    }
    if (const Support support = kernel.supports(use); !support.yes) {
      log.refused("kernel " + kernel.name, def.name + ":" + std::string(name(dtype)),
                  support.reason);
      continue;
    }
    KernelTable only;
    only.add(def, kernel);
    expect_all_close(run_with(tried, only), want, kRoundings * epsilon_of(dtype),
                     "kernel " + kernel.name + " of " + def.name);
    log.ran("kernel against reference");
  }
}

void check_remote_memory(const OpDef& def, const Sample& sample, DType dtype, CaseLog& log) {
  SampleCase local(sample, dtype), other(sample, dtype);
  expect_all_close(run_on(make_remote_backend(), other), local.evaluate(local.outputs()),
                   kRoundings * epsilon_of(dtype), def.name + " in remote memory");
  log.ran("memory of another device");
}

void check_backend(const OpDef& def, const Sample& sample, DType dtype,
                   std::unique_ptr<Backend> backend, CaseLog& log) {
  SampleCase reference(sample, dtype), other(sample, dtype);
  const std::string where = "on " + std::string(backend->name());
  if (const Op use = find_use(other, def); use.valid()) {
    const Kernel kernel = backend->kernels().choose(use, Logger());
    if (kernel.name != kReferenceKernel) {
      log.ran("kernel " + where);
    } else if (def.on_any_device) {
      log.ran("no kernel needed " + where);
    } else {
      log.refused("kernel " + where, def.name + ":" + std::string(name(dtype)),
                  "it runs on the host");
    }
  }
  const std::vector<Tensor> want = run_with(reference, KernelTable());
  expect_all_close(run_on(std::move(backend), other), want, kRoundings * epsilon_of(dtype),
                   def.name + " " + where);
  log.ran("values " + where);
}

void check_dtype(const OpDef&, const Sample& sample, DType dtype, CaseLog& log) {
  const DType widest = is_float(dtype) ? f64 : i64;
  if (dtype == widest || dtype == boolean) {  // nothing wider to compare with: it must run
    SampleCase alone(sample, dtype);
    alone.evaluate(alone.outputs());
    log.ran("runs in the widest type");
    return;
  }
  SampleCase narrow(sample, dtype), wide(sample, widest);
  const std::vector<Tensor> got = narrow.evaluate(narrow.outputs());
  const Executable executable = wide.session().compile(wide.outputs());
  Feeds feeds;
  for (std::size_t i = 0; i < wide.inputs().size(); ++i) {
    feeds[wide.inputs()[i].name()] = narrow.values()[i].cast(wide.inputs()[i].dtype());
  }
  const std::vector<Tensor> want = executable(feeds).tensors();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Integers wrap where the narrow type ends, so compare in the narrow type.
    const Tensor expected = is_float(got[i].dtype()) ? want[i] : want[i].cast(got[i].dtype());
    expect_close(got[i], expected, kRoundings * epsilon_of(got[i].dtype()),
                 std::string(name(dtype)));
  }
  log.ran("dtype against the widest");
}

void check_symbolic(const OpDef& def, const Sample& sample, DType dtype, CaseLog& log) {
  SampleCase constant(sample, dtype), symbolic(sample, dtype, Sizes::symbolic);
  expect_all_close(symbolic.evaluate(symbolic.outputs()), constant.evaluate(constant.outputs()), 0,
                   def.name + " with symbolic sizes");
  log.ran("symbolic sizes");
}

void check_decomposition(const OpDef& def, const Sample& sample, DType dtype, CaseLog& log) {
  SampleCase direct(sample, dtype), apart(sample, dtype);
  Cloner cloner(apart.graph(), apart.graph(),
                [&def](Op op) { return &op.def() == &def ? def.decompose(op) : op.outputs(); });
  for (Op op : schedule(apart.graph(), apart.outputs())) {
    cloner.copy(op);
  }
  // Ops in between round relative to what they see, which may be as large as the inputs.
  double scale = 1;
  for (const Tensor& value : direct.values()) {
    for (double element : value.to_vector<double>()) {
      scale = std::max(scale, std::abs(element));
    }
  }
  expect_all_close(apart.evaluate(cloner(apart.outputs())), direct.evaluate(direct.outputs()),
                   scale * kRoundings * epsilon_of(dtype), def.name + " decomposed");
  log.ran("decomposition");
}

void check_rewrite(const OpDef& def, const Rewrite& rewrite, DType dtype, CaseLog& log) {
  SampleCase sample(rewrite.example, dtype);
  const Op use = sample.outputs().at(0).producer();
  ASSERT_EQ(&use.def(), &def) << "the example of '" << rewrite.name << "' does not end in "
                              << def.name;
  const auto replaced = rewrite.apply(use);
  ASSERT_TRUE(replaced.has_value()) << "'" << rewrite.name << "' does not fire on its example";
  const std::vector<Tensor> want = sample.evaluate(sample.outputs(), 0);
  const std::vector<Tensor> got = sample.evaluate(*replaced, 0);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(bit_equal(got[i], want[i])) << rewrite.name;
  }
  log.ran("rewrite");
}

}  // namespace antichain::conformance
