// row_products: several sums over the rows of several matrices, in one walk over them. The
// gradients of a layer's weights and biases are such sums; the pass join-sums puts them together
// (passes/sums/join_sums.h).
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Returns lefts^T rights of matrices [rows, columns], each side joined along its columns, with a
/// column of ones behind the rights if `ones` says so: sums of the rows of all lefts.
Var row_products(const std::vector<Var>& lefts, const std::vector<Var>& rights, bool ones,
                 Place place = Place::current());

/// How many columns the matrices of a row_products have.
struct RowProductWidths {
  std::vector<std::int64_t> lefts, rights;
  bool ones = false;
};

/// Whether there may be kernels: sums must fit into the registers of a block of threads.
bool fits_row_products(const RowProductWidths& widths);

const OpDef& row_products_def();

}  // namespace antichain
