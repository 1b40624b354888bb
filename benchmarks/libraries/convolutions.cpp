// Measures the convolutions of one library, forward and both gradients.
#include "measure.h"

using namespace libraries;

int main(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  constexpr Convolution kConvolutions[] = {{128, 1, 32, 28, 3},  {128, 32, 64, 14, 3},
                                           {64, 64, 64, 32, 3},  {64, 128, 128, 16, 3},
                                           {64, 256, 256, 8, 3}, {64, 64, 256, 32, 1}};
  for (const Convolution& conv : kConvolutions) {
    const std::int64_t pixels = conv.batch * conv.image * conv.image;
    const std::int64_t weights = conv.out * conv.in * conv.window * conv.window;
    std::vector<float> x = numbers(pixels * conv.in), weight = numbers(weights);
    std::vector<float> output = numbers(pixels * conv.out);
    const std::string window = std::to_string(conv.window), image = std::to_string(conv.image);
    const std::string name = window + "x" + window + ", N=" + std::to_string(conv.batch) + ", " +
                             std::to_string(conv.in) + "->" + std::to_string(conv.out) + ", " +
                             image + "x" + image;
    const double flops = 2.0 * static_cast<double>(pixels * weights);
    const auto part = [&](const char* what, Part which, const std::vector<float>& result) {
      measure(
          name + ", " + what, flops, threads,
          [&] { return prepare(conv, which, x.data(), weight.data(), output.data()); }, result);
    };
    part("output", Part::output, output);
    part("gradient of x", Part::x, x);
    part("gradient of weight", Part::weight, weight);
  }
}
