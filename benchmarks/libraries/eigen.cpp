#include <Eigen/Core>

#include "library.h"

namespace libraries {

std::string title() {
  return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
         std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
}

void set_threads(int threads) { Eigen::setNbThreads(threads); }

std::function<void()> prepare(const Product& product, const float* a, const float* b, float* out) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using View = Eigen::Map<const Matrix>;
  const std::int64_t rows = product.rows, columns = product.columns, inner = product.inner;
  const bool ta = product.transpose_a, tb = product.transpose_b;
  const View left(a, ta ? inner : rows, ta ? rows : inner);
  const View right(b, tb ? columns : inner, tb ? inner : columns);
  const auto store = [=](const auto& result) {
    Eigen::Map<Matrix>(out, rows, columns).noalias() = result;
  };
  if (ta) {
    return [=] { store(left.transpose() * right); };
  }
  if (tb) {
    return [=] { store(left * right.transpose()); };
  }
  return [=] { store(left * right); };
}

}  // namespace libraries
