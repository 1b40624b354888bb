#include "tests/conformance/vmap_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/vmap/vmap.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/derivative_checks.h"
#include "tests/conformance/sample_case.h"

namespace antichain::conformance {

namespace {

constexpr std::int64_t kCopies = 3;
constexpr double kSumTolerance = 1e-11;  // relative to the largest element; sums go in other orders

using Vars = std::vector<Var>;
using Copies = std::vector<Tensor>;  // of one value

// An input's values: floats changed a little, which keeps them in their domain; integers in another
// order, unless they are in ascending order, which may have a meaning; a lone choice the other way.
Copies copies_of(const Tensor& value) {
  Copies copies;
  for (std::int64_t copy = 0; copy < kCopies; ++copy) {
    std::vector<double> numbers = value.to_vector<double>();
    if (is_float(value.dtype())) {
      for (double& number : numbers) {
        number *= 1 - 0.01 * static_cast<double>(copy);
      }
    } else if (value.dtype() == boolean && numbers.size() == 1) {
      numbers[0] = copy % 2 == 0 ? numbers[0] : 1 - numbers[0];
    } else if (!std::ranges::is_sorted(numbers)) {
      std::ranges::rotate(numbers, numbers.begin() + copy % std::ssize(numbers));
    }
    copies.push_back(Tensor::of<double>(value.shape(), numbers).cast(value.dtype()));
  }
  return copies;
}

Tensor stacked(const Copies& copies) {
  Shape shape = copies[0].shape();
  shape.insert(shape.begin(), kCopies);
  const Tensor all = Tensor::empty(copies[0].dtype(), shape);
  for (std::int64_t copy = 0; copy < kCopies; ++copy) {
    all.select(0, copy).copy_from(copies[static_cast<std::size_t>(copy)]);
  }
  return all;
}

Tensor some_numbers(const Shape& shape, std::size_t seed) {
  std::vector<double> numbers(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 1.1 + std::sin(1.7 * static_cast<double>(i) + static_cast<double>(seed));
  }
  return Tensor::of<double>(shape, numbers);
}

Shape known(const Dims& dims) {
  Shape shape;
  for (Dim dim : dims) {
    shape.push_back(dim.constant());
  }
  return shape;
}

Vars floats_of(const Vars& values) {
  Vars floats;
  for (Var value : values) {
    if (value.dtype() == f64) {
      floats.push_back(value);
    }
  }
  return floats;
}

// A sample and its derivatives: what it is given and what comes out, for one copy or for all.
struct Derived {
  std::size_t inputs = 0, floats = 0;  // then one direction per float input, then weights
  bool is_differentiated = false;
  std::function<Vars(Graph&, std::span<const Var>)> build;

  Vars gradients(const Vars& ys, const Vars& in) const {
    const Vars weights(in.begin() + static_cast<std::ptrdiff_t>(inputs + floats), in.end());
    return vjp(ys, weights, floats_of(Vars(in.begin(), first_direction(in))),
               {.zero_if_unused = true});
  }
  Vars movements(const Vars& ys, const Vars& in) const {
    const Vars directions(first_direction(in),
                          first_direction(in) + static_cast<std::ptrdiff_t>(floats));
    return jvp(ys, floats_of(Vars(in.begin(), first_direction(in))), directions);
  }
  // The values, their gradients and their movements.
  Vars all(const Vars& in) const {
    Vars results = build(in[0].graph(), {in.begin(), first_direction(in)});
    const Vars ys = floats_of(results);
    if (is_differentiated) {
      for (const Vars& more : {gradients(ys, in), movements(ys, in)}) {
        results.insert(results.end(), more.begin(), more.end());
      }
    }
    return results;
  }
  Vars::const_iterator first_direction(const Vars& in) const {
    return in.begin() + static_cast<std::ptrdiff_t>(inputs);
  }
};

class VmapCase {
 public:
  VmapCase(const OpDef& def, const Sample& sample, DType dtype) : alone_(sample, dtype) {
    const Vars ys = floats_of(alone_.outputs());
    derived_.inputs = alone_.inputs().size();
    derived_.build = sample.build;
    derived_.floats = floats_of(alone_.inputs()).size();
    derived_.is_differentiated = has_derivative(def) && !ys.empty() && derived_.floats > 0;
    for (const Tensor& value : alone_.values()) {
      given_.push_back(copies_of(value));
    }
    for (const SampleInput& input : sample.inputs) {
      fixed_size_.push_back(input.fixed_size);
    }
    if (derived_.is_differentiated) {
      for (Var x : floats_of(alone_.inputs())) {
        add("direction", known(x.shape()));
      }
      for (Var y : ys) {
        add("weight", known(y.shape()));
      }
    } else {
      derived_.floats = 0;
    }
    const Vars results = derived_.all(alone_.inputs());
    gradients_ = derived_.is_differentiated ? floats_of(alone_inputs()).size() : 0;
    values_ = alone_.outputs().size();
    step_.emplace(alone_.session().compile(results));
  }

  // `maps` says which inputs differ between copies.
  void check(const std::function<bool(std::size_t)>& maps, const std::string& what, CaseLog& log) {
    Session session;
    Graph graph = session.graph();
    Vars in;
    Feeds feeds;
    MappedAxes axes;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const bool is_mapped = is_mapped_with(maps, i);
      const Tensor value = is_mapped ? stacked(given_[i]) : given_[i][0];
      const std::string name = "in" + std::to_string(i);
      in.push_back(graph.input(name, value.dtype(), {value.shape().begin(), value.shape().end()}));
      feeds[name] = value;
      axes.push_back(is_mapped ? std::optional<std::int64_t>(0) : std::nullopt);
    }
    Vars results = vmap([this](const Vars& x) { return derived_.all(x); }, axes)(in);
    if (derived_.is_differentiated) {
      const MappedAxes own(axes.begin(),
                           axes.begin() + static_cast<std::ptrdiff_t>(derived_.inputs));
      const auto f = [this](const Vars& x) { return derived_.build(x[0].graph(), x); };
      const Vars ys = floats_of(vmap(f, own)(Vars(in.cbegin(), derived_.first_direction(in))));
      for (const Vars& more : {derived_.gradients(ys, in), derived_.movements(ys, in)}) {
        results.insert(results.end(), more.begin(), more.end());
      }
    }
    const std::vector<Tensor> got = session.compile(results)(feeds).tensors();
    compare(got, maps, what);
    log.ran("vmap against a loop over slices");
    check_symbolic(maps, got, what);
    log.ran("vmap with symbolic sizes and copies");
    if (derived_.is_differentiated) {
      log.ran("vmap of vjp, vjp of vmap");
      log.ran("vmap of jvp, jvp of vmap");
    }
  }

  std::size_t inputs() const { return derived_.inputs; }

 private:
  Vars alone_inputs() const {
    return {alone_.inputs().begin(),
            alone_.inputs().begin() + static_cast<std::ptrdiff_t>(derived_.inputs)};
  }

  void add(const std::string& name, const Shape& shape) {
    const std::size_t number = given_.size();
    Copies copies;
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      copies.push_back(some_numbers(shape, 5 * number + copy));
    }
    alone_.add_input(name + std::to_string(number), copies[0]);
    given_.push_back(copies);
  }

  // The values with sizes that only a run knows, that of the mapped axis among them.
  void check_symbolic(const std::function<bool(std::size_t)>& maps, const std::vector<Tensor>& want,
                      const std::string& what) const {
    Session session;
    Graph graph = session.graph();
    Vars in;
    Feeds feeds;
    MappedAxes axes;
    for (std::size_t i = 0; i < derived_.inputs; ++i) {
      const std::string name = "in" + std::to_string(i);
      std::vector<DimSpec> shape;
      if (maps(i)) {
        shape.emplace_back("copies");
      }
      for (const std::int64_t size : given_[i][0].shape()) {
        const bool is_constant = size == 1 || fixed_size_[i];
        shape.push_back(is_constant ? DimSpec(size)
                                    : DimSpec(name + "_" + std::to_string(shape.size())));
      }
      in.push_back(graph.input(name, given_[i][0].dtype(), shape));
      feeds[name] = maps(i) ? stacked(given_[i]) : given_[i][0];
      axes.push_back(maps(i) ? std::optional<std::int64_t>(0) : std::nullopt);
    }
    const auto f = [this](const Vars& x) { return derived_.build(x[0].graph(), x); };
    const std::vector<Tensor> got = session.compile(vmap(f, axes)(in))(feeds).tensors();
    for (std::size_t i = 0; i < got.size(); ++i) {
      expect_close(got[i], want[i], kSumTolerance, what + ", symbolic, value " + std::to_string(i));
    }
  }

  // A direction differs between copies if its input does, a weight in any case.
  bool is_mapped_with(const std::function<bool(std::size_t)>& maps, std::size_t i) const {
    if (i < derived_.inputs) {
      return maps(i);
    }
    if (i >= derived_.inputs + derived_.floats) {
      return true;
    }
    return maps(float_input(i - derived_.inputs));
  }
  std::size_t float_input(std::size_t number) const {
    std::size_t input = 0;
    for (std::size_t left = number + 1; left > 0; ++input) {
      left -= alone_.inputs()[input].dtype() == f64 ? 1 : 0;
    }
    return input - 1;
  }

  // The results of one copy with these inputs.
  std::vector<Tensor> results_of(std::size_t copy,
                                 const std::function<bool(std::size_t)>& maps) const {
    Feeds feeds;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      feeds[alone_.inputs()[i].name()] = given_[i][is_mapped_with(maps, i) ? copy : 0];
    }
    return (*step_)(feeds).tensors();
  }

  void compare(const std::vector<Tensor>& got, const std::function<bool(std::size_t)>& maps,
               const std::string& what) const {
    std::vector<std::vector<Tensor>> want;
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      want.push_back(results_of(copy, maps));
    }
    const std::size_t of_vmap = want[0].size();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool derivative_of_vmap = i >= of_vmap;
      const std::size_t n = derivative_of_vmap ? values_ + i - of_vmap : i;
      const bool is_gradient = n >= values_ && n < values_ + gradients_;
      const std::string name =
          what +
          (n < values_ ? ", value "
           : derivative_of_vmap
               ? (is_gradient ? ", vjp of vmap, result " : ", jvp of vmap, result ")
               : (is_gradient ? ", vmap of vjp, result " : ", vmap of jvp, result ")) +
          std::to_string(n);
      if (derivative_of_vmap && is_gradient && !maps(float_input(n - values_))) {
        expect_close(got[i], sum_of(want, n), kSumTolerance, name + ", summed");
        continue;
      }
      for (std::size_t copy = 0; copy < kCopies; ++copy) {
        expect_close(got[i].select(0, static_cast<std::int64_t>(copy)), want[copy][n],
                     kSumTolerance, name + ", copy " + std::to_string(copy));
      }
    }
  }

  static Tensor sum_of(const std::vector<std::vector<Tensor>>& results, std::size_t n) {
    std::vector<double> total(static_cast<std::size_t>(results[0][n].numel()));
    for (const std::vector<Tensor>& own : results) {
      const std::vector<double> numbers = own[n].to_vector<double>();
      for (std::size_t i = 0; i < total.size(); ++i) {
        total[i] += numbers[i];
      }
    }
    return Tensor::of<double>(results[0][n].shape(), total);
  }

  SampleCase alone_;
  Derived derived_;
  std::vector<bool> fixed_size_;
  std::vector<Copies> given_;  // inputs, directions, weights
  std::size_t values_ = 0, gradients_ = 0;
  std::optional<Executable> step_;
};

}  // namespace

VmapWay vmap_way(const OpDef& def) {
  if (def.vmap) {
    return VmapWay::rule;
  }
  if (def.decompose) {
    return VmapWay::decomposition;
  }
  return def.vmap_serially.empty() ? VmapWay::none : VmapWay::copy_by_copy;
}

void check_vmap(const OpDef& def, const Sample& sample, CaseLog& log) {
  if (!def.vmap_serially.empty()) {
    log.refused("vmap at once, for some uses", def.name, def.vmap_serially);
  }
  if (vmap_way(def) == VmapWay::none) {
    ASSERT_FALSE(def.no_vmap.empty()) << def.name << " has neither a rule for vmap nor a reason";
    log.refused("vmap", def.name, def.no_vmap);
  }
  const std::vector<DType> dtypes = dtypes_of(def, sample);
  if (sample.inputs.empty() || dtypes.empty()) {
    return;
  }
  const DType dtype = std::ranges::count(dtypes, f64) > 0 ? f64 : dtypes[0];
  if (vmap_way(def) == VmapWay::none && def.name != "dim_value") {
    Session session;
    Graph graph = session.graph();
    Vars in;
    for (const Tensor& value : make_inputs(sample, dtype)) {
      const Shape shape = stacked(copies_of(value)).shape();
      in.push_back(graph.input("in" + std::to_string(in.size()), value.dtype(),
                               {shape.begin(), shape.end()}));
    }
    const auto f = [&](const Vars& x) { return sample.build(graph, x); };
    EXPECT_THROW(vmap(f)(in), Error) << def.name;  // writes to states are refused in any body
    log.ran("refusal of vmap");
    return;
  }
  VmapCase test(def, sample, dtype);
  test.check([](std::size_t) { return true; }, "all inputs mapped", log);
  for (std::size_t i = 0; test.inputs() > 1 && i < test.inputs(); ++i) {
    test.check([i](std::size_t input) { return input == i; },
               "input " + std::to_string(i) + " mapped", log);
  }
}

}  // namespace antichain::conformance
