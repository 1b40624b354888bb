// fuse-row-updates: updates of rows take a gradient that is a sparse product as its factors, so
// that what is added up for a row is used at once: no gradient is kept, not even of the rows in
// use.
//
//   adam_rows_update(csr_matmul(S, D, transposed), …, ids)       with S, D instead of the product
//   adam_rows_update(scatter_add(zeros, slots, values), …, ids)  of vectors: D is a one
//   adam_rows_update(one of these + scatter_add(zeros, slots, rows), …, ids)  with rows and slots
//
// The bits are the same. It applies where nobody else reads the gradient (clipping by norm does).
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

GraphCopy fuse_row_updates(const GraphCopy& source);
/// Returns whether there is an update that takes rows by their indices.
bool has_indexed_rows(Graph& graph);

}  // namespace antichain
