// What users are told.
#include <gtest/gtest.h>

#include "antichain/autodiff/grad.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/noise_site.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/engines/likelihood/perceptron.h"

namespace antichain::likelihood_tests {

std::string message_of(const std::function<void()>& build) {
  try {
    build();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string message_for(const std::string& options) {
  return message_of([&] { gradients(Perceptron{}, "likelihood:" + options); });
}

void expect_says(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(LikelihoodMessages, Options) {
  expect_says(message_for("copies=0"), "option 'copies' must be within [1, 65536], got 0");
  expect_says(message_for("copies=5,antithetic=yes"),
              "copies=5 cannot be paired; take an even number or antithetic=no");
  expect_says(message_for("sigma=0"), "option 'sigma' must be within [1e-09, 1000], got 0");
  expect_says(message_for("sigma=-1"), "option 'sigma' must be within");
  expect_says(message_for("baseline=leave-one-out"), "take baseline=clean or another noise");
  expect_says(message_for("baseline=leave-one-out,noise=gaussian,copies=1"), "take 2 or more");
  expect_says(message_for("copies=8,at_once=3"), "copies=8 is no multiple of at_once=3");
  expect_says(message_for("mode=layer,last=estimated,feedback=yes"),
              "take it with mode=mixed, layer or full, and last=exact");
  expect_says(message_for("cut=layer_1,feedback=yes"), "and there is none; leave it out");
  expect_says(message_for("mode=layer,cut=layer_0"),
              "cut=layer_0 does nothing outside of mode=mixed; leave it out");
  expect_says(message_for("mode=full,cuts=2"), "cuts=2 does nothing outside of mode=mixed");
  expect_says(message_for("cut=layer_0,cuts=2"), "cuts=2 does nothing where cut names the sites");
  expect_says(message_for("baseline=none,antithetic=yes"), "baseline=none does nothing where");
  expect_says(message_for("mode=forward,baseline=none"), "baseline=none does nothing where");
  expect_says(message_for("mode=full,allocation=cost"), "allocation=cost does nothing where");
  expect_says(message_for("keep=yes"), "keep=yes does nothing outside of modes layer and full");
  expect_says(message_for("last=estimated"), "last=estimated does nothing outside of modes");
  expect_says(message_for("mode=weights,inactive=noisy"), "inactive=noisy does nothing where");
  expect_says(message_for("cut=layer_7"),
              "there is no noise site in 'layer_7' to cut at; there are: layer_0, layer_1");
}

TEST(LikelihoodMessages, RegionsWithoutLossesOfExamples) {
  expect_says(message_of([] {
                Session session;
                Graph graph = session.graph();
                graph.choose_engines(EnginePlan::parse("likelihood"));
                const Var loss = mean(Perceptron{}.build(graph));
                grad(loss, parameters(graph));
              }),
              "it must end in the losses of examples, one number each, and ends in []; name the "
              "engine for the whole model, and the losses in GradOptions::at");
}

TEST(LikelihoodMessages, NoPlaceForNoise) {
  expect_says(message_of([] {
                Session session;
                Graph graph = session.graph();
                const Var x = graph.input("x", f64, {4, 3});
                const Var w = parameter("w", ones(graph, f64, {3}));
                const Var losses = sum(x * w, {1});
                grad(mean(losses), {w}, {.engine = "likelihood", .at = {losses}});
              }),
              "there is no place for noise; name one by noise_site(x)");
}

TEST(LikelihoodMessages, DeviationsThatSignsDoNotTell) {
  expect_says(message_of([] {
                Session session;
                Graph graph = session.graph();
                const Var w = parameter("w", ones(graph, f64, {3})), s = parameter("s", w * 0.1);
                const Var losses = square(noise_site(w, s));
                grad(mean(losses), {w, s}, {.engine = "likelihood", .at = {losses}});
              }),
              "take noise=gaussian or noise=laplace");
}

TEST(LikelihoodMessages, NoWayPastAThreshold) {
  expect_says(message_of([] {
                Perceptron model;
                model.activation = [](Var x) { return cast(greater(x, 0), x.dtype()); };
                gradients(model, "likelihood:cut=layer_1");
              }),
              "take mode=layer, or cut in front of that op");
}

}  // namespace antichain::likelihood_tests
