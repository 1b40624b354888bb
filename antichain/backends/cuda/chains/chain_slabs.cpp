#include "antichain/backends/cuda/chains/chain_slabs.h"

#include <fmt/format.h>

#include <algorithm>

namespace antichain::cuda {

namespace {

constexpr int kSlabFloats = 4096;  // 16 KiB: of a matrix of 64 x 64 all
constexpr int kFewestThreads = 128;
constexpr std::int64_t kMostSlabColumns = 512;

const ChainValue& value_of(const ChainBody& body, int index) {
  return body.values[static_cast<std::size_t>(index)];
}

device::ProductForm form_of(const ChainBody& body, const ChainProduct& product, int rows,
                            int threads) {
  return {.rows = rows,
          .inner = static_cast<int>(product.left.columns),
          .columns = static_cast<int>(value_of(body, product.out).columns),
          .threads = threads,
          .transposed = product.transposed,
          .slab_floats = kSlabFloats};
}

}  // namespace

std::string why_not_by_slabs(const ChainBody& body) {
  bool has_products = false;
  for (const ChainStage& stage : body.stages) {
    if (const auto* product = std::get_if<ChainProduct>(&stage)) {
      has_products = true;
      if (value_of(body, product->out).dtype != DType::f32) {
        return "products are not of f32";
      }
      if (value_of(body, product->out).columns > kMostSlabColumns) {
        return "products have too many columns";
      }
    }
  }
  return has_products ? "" : "there is no product";
}

int slab_threads(const ChainBody& body, int rows) {
  int threads = kFewestThreads;
  for (const ChainStage& stage : body.stages) {
    if (const auto* product = std::get_if<ChainProduct>(&stage)) {
      const int tiles = form_of(body, *product, rows, 1).tiles();
      threads = std::max(threads, (tiles + 31) / 32 * 32);
    }
  }
  return threads;
}

ChainSlabs::ChainSlabs(Op chain, const ChainBody& body, ChainShape shape)
    : chain_(chain), body_(body), shape_(shape) {
  for (std::size_t i = 0; i < body.stages.size(); ++i) {
    if (const auto* product = std::get_if<ChainProduct>(&body.stages[i])) {
      products_.push_back(
          {i, product->matrix, form_of(body, *product, shape.rows_per_block, shape.threads)});
    }
  }
}

int ChainSlabs::place_floats() const {
  int floats = 0;
  for (const Product& product : products_) {
    floats = std::max(floats, product.form.floats());
  }
  return (floats + 3) / 4 * 4;
}

std::size_t ChainSlabs::floats() const {
  return static_cast<std::size_t>(place_floats()) * static_cast<std::size_t>(shape_.slabs);
}

std::size_t ChainSlabs::sum_floats() const {
  int floats = 0;
  for (const Product& product : products_) {
    if (product.form.splits() > 1) {
      floats = std::max(floats, product.form.splits() * product.form.columns *
                                    device::row_pitch(product.form.rows, sizeof(float)));
    }
  }
  return static_cast<std::size_t>(floats);
}

std::string ChainSlabs::forms() const {
  std::string text = "#include \"antichain/backends/cuda/device/chain_slabs.cuh\"\n";
  for (const Product& product : products_) {
    const device::ProductForm& form = product.form;
    text += fmt::format(
        "struct Form{} {{\n  static constexpr antichain::device::ProductForm kForm = "
        "{{{}, {}, {}, {}, {}, {}}};\n}};\n",
        product.stage, form.rows, form.inner, form.columns, form.threads, form.transposed,
        form.slab_floats);
  }
  return text;
}

std::string ChainSlabs::fetches(std::string_view memory, std::string_view place_of_step) const {
  std::string copies;
  int slabs = 0;
  for (const Product& product : products_) {
    const ChainValue& matrix = value_of(body_, product.matrix);
    const int first = slabs;
    slabs += product.form.slabs();
    copies += fmt::format(
        "{}if (fetched < {}) {{\n        copy_slab<Form{}>(to, (const float*)a.in[{}]{}{}, fetched "
        "- {});\n      }}",
        first == 0 ? "      " : " else ", slabs, product.stage, matrix.input,
        matrix.source == ChainValue::Source::sequence
            ? fmt::format(" + at * a.step[{}]", matrix.input)
            : "",
        matrix.grouped ? fmt::format(" + group * a.group[{}]", matrix.input) : "", first);
  }
  return fmt::format(
      "  float* const slabs = (float*)({0});\n"
      "  long long fetched_step = 0;\n  int fetched = 0, fetched_place = 0, place = 0;\n"
      "  const auto fetch = [&] {{\n"
      "    if (fetched_step < a.length) {{\n"
      "      const long long at = {1};\n"
      "      float* const to = slabs + fetched_place * {2};\n{3}\n    }}\n"
      "    end_copies();\n"
      "    fetched_place = fetched_place + 1 == {4} ? 0 : fetched_place + 1;\n"
      "    if (++fetched == {5}) {{\n      fetched = 0;\n      ++fetched_step;\n    }}\n  }};\n"
      "#pragma unroll 1\n  for (int i = 0; i < {4} - 1; ++i) fetch();\n",
      memory, place_of_step, place_floats(), copies, shape_.slabs, slabs);
}

std::string ChainSlabs::multiply(std::size_t stage, std::string_view out,
                                 std::string_view left) const {
  return fmt::format(
      "    multiply_by_slabs<Form{}, {}, {}>({}, (float*)sums, {}, slabs, place, fetch);\n", stage,
      shape_.slabs, place_floats(), out, left);
}

}  // namespace antichain::cuda
