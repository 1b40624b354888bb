// The one list of rules by which optimisers change states. Reference and SIMD kernels instantiate
// these functors, as they do with elementwise_functors.h.
//
// A rule changes one element of each of its states, given the element of the gradient and numbers
// that hold for all elements. Its first state decides the element type; the others are wider where
// that one has 16 bits.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "antichain/base/host_device.h"
#include "antichain/ops/elementwise/elementwise_functors.h"

namespace antichain::rules {

/// Adds up gradients; `keep` is 0 where a new sum begins.
struct Accumulate {
  static constexpr int kStates = 1;
  template <class T>
  struct Numbers {
    T keep;
  };
  template <class T>
  ANTICHAIN_HOST_DEVICE static void apply(T& total, T gradient, const Numbers<T>& numbers) {
    using functors::choose;
    total = choose(numbers.keep == T(0), gradient, total + gradient);
  }
};

struct Descent {
  static constexpr int kStates = 1;
  template <class T>
  struct Numbers {
    T lr, weight_decay;
  };
  template <class T>
  ANTICHAIN_HOST_DEVICE static void apply(T& w, T gradient, const Numbers<T>& n) {
    w = w - n.lr * (gradient + n.weight_decay * w);
  }
};

/// Momentum; the learning rate stands outside of the velocity (`lr`) or inside (`gain`). The
/// parameter follows `along` times the velocity and `ahead` times the gradient: 1 and 0 for the
/// heavy ball, the momentum and 1 for Nesterov's.
struct Momentum {
  static constexpr int kStates = 2;
  template <class T>
  struct Numbers {
    T lr, gain, momentum, weight_decay, along, ahead;
  };
  template <class T>
  ANTICHAIN_HOST_DEVICE static void apply(T& w, T& velocity, T gradient, const Numbers<T>& n) {
    const T force = n.gain * (gradient + n.weight_decay * w);
    velocity = n.momentum * velocity + force;
    w = w - n.lr * (n.along * velocity + n.ahead * force);
  }
};

/// Moves a running mean towards a value. `rate` is 1 - beta, which single precision would lose
/// digits of if it were computed here.
template <class T>
ANTICHAIN_HOST_DEVICE T moved(T mean, T rate, T value) {
  return mean + rate * (value - mean);
}

/// The first two moments of the gradient (Kingma and Ba, 2015, algorithm 1).
struct Moments {
  static constexpr int kStates = 2;
  template <class T>
  struct Numbers {
    T rate1, rate2;
  };
  template <class T>
  ANTICHAIN_HOST_DEVICE static void apply(T& mean, T& square, T gradient, const Numbers<T>& n) {
    mean = moved(mean, n.rate1, gradient);
    square = moved(square, n.rate2, gradient * gradient);
  }
};

/// Divides by the root of a square, kept away from 0.
template <class T>
ANTICHAIN_HOST_DEVICE T normalised(T value, T square, T epsilon) {
  using std::sqrt;
  return value / (sqrt(square) + epsilon);
}

/// Where Adam goes. The corrections are 1 / (1 - beta^t).
template <class T>
ANTICHAIN_HOST_DEVICE T adam_direction(T mean, T square, T correction1, T correction2, T epsilon) {
  return normalised(mean * correction1, square * correction2, epsilon);
}

/// Weight decay is coupled (added to the gradient) or decoupled (`keep` times the parameter).
struct Adam {
  static constexpr int kStates = 3;
  template <class T>
  struct Numbers {
    T lr, rate1, rate2, epsilon, correction1, correction2, weight_decay, keep;
  };
  template <class T>
  ANTICHAIN_HOST_DEVICE static void apply(T& w, T& mean, T& square, T gradient,
                                          const Numbers<T>& n) {
    Moments::apply(mean, square, gradient + n.weight_decay * w, {n.rate1, n.rate2});
    w = n.keep * w - n.lr * adam_direction(mean, square, n.correction1, n.correction2, n.epsilon);
  }
};

struct Rmsprop {
  static constexpr int kStates = 2;
  template <class T>
  struct Numbers {
    T lr, rate, epsilon, weight_decay;
  };
  template <class T>
  ANTICHAIN_HOST_DEVICE static void apply(T& w, T& square, T gradient, const Numbers<T>& n) {
    const T g = gradient + n.weight_decay * w;
    square = moved(square, n.rate, g * g);
    w = w - n.lr * normalised(g, square, n.epsilon);
  }
};

struct RmspropMomentum {
  static constexpr int kStates = 3;
  template <class T>
  struct Numbers {
    T lr, rate, epsilon, weight_decay, momentum;
  };
  template <class T>
  ANTICHAIN_HOST_DEVICE static void apply(T& w, T& square, T& velocity, T gradient,
                                          const Numbers<T>& n) {
    const T g = gradient + n.weight_decay * w;
    square = moved(square, n.rate, g * g);
    velocity = n.momentum * velocity + normalised(g, square, n.epsilon);
    w = w - n.lr * velocity;
  }
};

struct Adagrad {
  static constexpr int kStates = 2;
  template <class T>
  struct Numbers {
    T lr, epsilon, weight_decay;
  };
  template <class T>
  ANTICHAIN_HOST_DEVICE static void apply(T& w, T& total, T gradient, const Numbers<T>& n) {
    const T g = gradient + n.weight_decay * w;
    total = total + g * g;
    w = w - n.lr * normalised(g, total, n.epsilon);
  }
};

template <class Rule>
inline constexpr std::size_t kRuleNumbers = sizeof(typename Rule::template Numbers<double>) /
                                            sizeof(double);

// What comes before the rule's own numbers: the gradient's factor and its largest absolute value.
inline constexpr std::size_t kGradientNumbers = 2;

/// A rule with its numbers, ready to be applied to elements computed in T.
template <class Rule, class T>
class Applied {
 public:
  ANTICHAIN_HOST_DEVICE explicit Applied(const double* numbers)
      : Applied(numbers, std::make_index_sequence<kRuleNumbers<Rule>>()) {}

  template <class... States>
  ANTICHAIN_HOST_DEVICE void operator()(T gradient, States&... states) const {
    using functors::choose;
    T g = gradient * scale_;
    g = choose(g > limit_, limit_, g);
    g = choose(g < -limit_, -limit_, g);
    Rule::apply(states..., g, numbers_);
  }

 private:
  template <std::size_t... kNumber>
  ANTICHAIN_HOST_DEVICE Applied(const double* numbers, std::index_sequence<kNumber...>)
      : scale_(T(numbers[0])),
        limit_(T(numbers[1])),
        numbers_{T(numbers[kGradientNumbers + kNumber])...} {}

  T scale_, limit_;
  typename Rule::template Numbers<T> numbers_;
};

}  // namespace antichain::rules
