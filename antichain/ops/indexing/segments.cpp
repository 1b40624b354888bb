#include "antichain/ops/indexing/segments.h"

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain {

// An element's row is the number of rows that start at it or before it, less one.
Var row_of_each(Var starts, Dim count) {
  Graph& graph = starts.graph();
  const Var begun = scatter_add(zeros(graph, DType::i64, {count + 1}), starts,
                                ones(graph, DType::i64, starts.shape()));
  return slice(cumsum(begun, 0), {{.axis = 0, .stop = count}}) - 1;
}

}  // namespace antichain
