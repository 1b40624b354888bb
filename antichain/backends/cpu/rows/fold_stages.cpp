#include "antichain/backends/cpu/rows/fold_stages.h"

#include "antichain/base/error.h"
#include "antichain/ops/rows/reduce.h"

namespace antichain::cpu {

namespace {

// Calls f with a zero of the type of the totals.
template <class F>
void visit_totals(DType dtype, F f) {
  is_float(dtype) ? f(double{}) : f(std::int64_t{});
}

}  // namespace

void FoldOp::require_elements(const Reduction& reduction, std::string_view where) const {
  const bool chooses = fold == Fold::smallest || fold == Fold::largest;
  require<ShapeError>(!chooses || reduction.outputs() == 0 || reduction.count() > 0,
                      "{}: there is no element to choose from", where);
}

std::optional<FoldOp> fold_op(const OpDef& def) {
  const std::pair<const OpDef*, FoldOp> all[] = {{&sum_def(), {Fold::sum}},
                                                 {&prod_def(), {Fold::product}},
                                                 {&mean_def(), {Fold::sum, true}},
                                                 {&reduce_min_def(), {Fold::smallest}},
                                                 {&reduce_max_def(), {Fold::largest}}};
  for (const auto& [known, op] : all) {
    if (known == &def) {
      return op;
    }
  }
  return {};
}

void RowFold::fold(const Reduction& reduction, const void* x, std::int64_t rows, std::int64_t first,
                   std::int64_t last, void* totals) const {
  visit_totals(dtype, [&]<class Total>(Total) {
    reduction.fold_rows(x, rows, first, last, stage, static_cast<Total*>(totals));
  });
}

void RowFold::join(void* totals, const void* others, std::int64_t rows) const {
  visit_totals(dtype, [&]<class Total>(Total) {
    join_totals(stage.fold, static_cast<Total*>(totals), static_cast<const Total*>(others), rows);
  });
}

void RowFold::write(const void* totals, std::int64_t rows, std::int64_t count, void* to) const {
  visit_dtype(dtype, [&]<class T>(T) {
    T* const target = static_cast<T*>(to);
    for (std::int64_t row = 0; row < rows; ++row) {
      if constexpr (std::is_integral_v<T>) {
        target[row] = convert<T>(static_cast<const std::int64_t*>(totals)[row]);
      } else {
        target[row] = convert<T>(
            op.finish(static_cast<const double*>(totals)[row], static_cast<double>(count)));
      }
    }
  });
}

}  // namespace antichain::cpu
