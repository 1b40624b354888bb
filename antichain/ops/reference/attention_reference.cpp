#include "antichain/ops/reference/attention_reference.h"

#include <algorithm>

#include "antichain/ops/products/attention.h"
#include "antichain/ops/reference/compute.h"

namespace antichain {

namespace {

// A value [batch, time, heads, width] by its rows.
struct Rows {
  std::vector<double> values;
  std::int64_t times, heads, width;

  explicit Rows(const Tensor& tensor, bool zeros = false)
      : values(zeros ? std::vector<double>(static_cast<std::size_t>(tensor.numel()))
                     : load<double>(tensor)),
        times(tensor.shape()[1]),
        heads(tensor.shape()[2]),
        width(tensor.shape()[3]) {}
  double* row(std::int64_t batch, std::int64_t time, std::int64_t head) {
    return values.data() + ((batch * times + time) * heads + head) * width;
  }
};

double dot(const double* a, const double* b, std::int64_t count) {
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    total += a[i] * b[i];
  }
  return total;
}

void add_scaled(double* to, double factor, const double* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] += factor * from[i];
  }
}

// The weights of all keys for one query, and which of their scores are products.
struct Weights {
  std::vector<double> weight;
  std::vector<bool> seen;
  double lse = 0;
};

class Scores {
 public:
  Scores(const KernelContext& context, int mask)
      : scale_(context.attr<double>("scale")), causal_(context.attr<bool>("causal")) {
    if (context.num_inputs() > mask) {
      mask_ = load<std::int64_t>(context.in(mask));
    }
  }

  Weights of(Rows& q, Rows& k, std::int64_t batch, std::int64_t query, std::int64_t head) const {
    Weights result;
    double largest = -INFINITY, total = 0;
    for (std::int64_t key = 0; key < k.times; ++key) {
      const bool seen =
          (!causal_ || key <= query) &&
          (mask_.empty() || mask_[static_cast<std::size_t>(batch * k.times + key)] != 0);
      const double score =
          seen ? scale_ * dot(q.row(batch, query, head), k.row(batch, key, head), q.width)
               : kUnseenScore;
      result.weight.push_back(score);
      result.seen.push_back(seen);
      largest = std::max(largest, score);
    }
    for (double& weight : result.weight) {
      weight = std::exp(weight - largest);
      total += weight;
    }
    for (double& weight : result.weight) {
      weight /= total;
    }
    result.lse = k.times == 0 ? kUnseenScore : largest + std::log(total);
    return result;
  }

  double scale() const { return scale_; }

 private:
  double scale_;
  bool causal_;
  std::vector<std::int64_t> mask_;  // empty: none
};

template <class F>
void for_each_query(const Tensor& q, F f) {
  for (std::int64_t batch = 0; batch < q.shape()[0]; ++batch) {
    for (std::int64_t head = 0; head < q.shape()[2]; ++head) {
      for (std::int64_t query = 0; query < q.shape()[1]; ++query) {
        f(batch, query, head);
      }
    }
  }
}

}  // namespace

void attention_reference(KernelContext& context) {
  Rows q(context.in(0)), k(context.in(1)), v(context.in(2)), output(context.out(0), true);
  const Scores scores(context, 3);
  std::vector<double> lse;
  for_each_query(context.in(0), [&](auto batch, auto query, auto head) {
    const Weights weights = scores.of(q, k, batch, query, head);
    for (std::int64_t key = 0; key < k.times; ++key) {
      add_scaled(output.row(batch, query, head), weights.weight[static_cast<std::size_t>(key)],
                 v.row(batch, key, head), v.width);
    }
    lse.push_back(weights.lse);
  });
  store(output.values, context.out(0));
  store(lse, context.out(1));
}

void attention_gradient_reference(KernelContext& context) {
  Rows grad(context.in(0)), q(context.in(1)), k(context.in(2)), v(context.in(3));
  Rows dq(context.out(0), true), dk(context.out(1), true), dv(context.out(2), true);
  const Scores scores(context, 6);
  for_each_query(context.in(1), [&](auto batch, auto query, auto head) {
    const Weights weights = scores.of(q, k, batch, query, head);
    const double* const row_grad = grad.row(batch, query, head);
    std::vector<double> slopes;  // of the weights
    double mean = 0;
    for (std::int64_t key = 0; key < k.times; ++key) {
      slopes.push_back(dot(row_grad, v.row(batch, key, head), v.width));
      mean += slopes.back() * weights.weight[static_cast<std::size_t>(key)];
    }
    for (std::int64_t key = 0; key < k.times; ++key) {
      const auto i = static_cast<std::size_t>(key);
      add_scaled(dv.row(batch, key, head), weights.weight[i], row_grad, v.width);
      if (weights.seen[i]) {
        const double slope = scores.scale() * weights.weight[i] * (slopes[i] - mean);
        add_scaled(dq.row(batch, query, head), slope, k.row(batch, key, head), k.width);
        add_scaled(dk.row(batch, key, head), slope, q.row(batch, query, head), q.width);
      }
    }
  });
  store(dq.values, context.out(0));
  store(dk.values, context.out(1));
  store(dv.values, context.out(2));
}

}  // namespace antichain
