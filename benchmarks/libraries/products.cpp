// Measures the matrix products of one library.
#include "measure.h"

using namespace libraries;

int main(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  constexpr Product kProducts[] = {
      {128, 512, 784},
      {128, 512, 512, false, true},
      {784, 512, 128, true, false},
      {128, 10, 512},
      {64, 1536, 512},
      {1024, 1024, 1024},
      {8192, 768, 768},
      {2708, 16, 1433},
      {1433, 16, 2708, true, false},
  };
  for (const Product& product : kProducts) {
    const auto a = numbers(product.rows * product.inner);
    const auto b = numbers(product.inner * product.columns);
    std::vector<float> out(static_cast<std::size_t>(product.rows * product.columns));
    const std::string name = std::to_string(product.rows) + "x" + std::to_string(product.columns) +
                             "x" + std::to_string(product.inner) +
                             (product.transpose_a ? ", a transposed" : "") +
                             (product.transpose_b ? ", b transposed" : "");
    measure(
        name, 2.0 * static_cast<double>(product.rows * product.columns * product.inner), threads,
        [&] { return prepare(product, a.data(), b.data(), out.data()); }, out);
  }
}
