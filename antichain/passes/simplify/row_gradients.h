// Gradients of tables that are looked up, as the rows that were looked up.
//
// What `gather` gives back is scatter_add(zeros, ids, rows): as long as the table. Where such a
// value, or sums and casts of such values, is read by an update of rows or by sum_row_squares, the
// same ops are built on rows alone: the ids of all lookups are made unique, each lookup adds its
// rows to their slots, and what follows happens on [min(ids, table), ...]. Every row is added up in
// the order in which it was, so all bits stay the same.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "antichain/passes/graph_copy.h"

namespace antichain {

GraphCopy row_gradients(const GraphCopy& source);

/// Returns whether an op reads a gradient row by row.
bool has_row_readers(Graph& graph);

/// Returns a sentence for each update of lazy rows whose gradient a chain or a loop adds up: the
/// pass cannot look into those, so it stays as long as the table.
std::vector<std::string> row_gradients_of_chains(std::span<const Op> updates);

}  // namespace antichain
