// hash_codes and rehash_rows: the codes by which vectors are found in hash tables.
#pragma once

#include <string>

#include "antichain/ops/hashing/hash_functions.h"
#include "antichain/ops/hashing/largest_norm.h"

namespace antichain {

/// What the codes of vectors are computed with.
struct HashBy {
  HashSpec spec;
  Var functions;  // draw_hash_functions()
  Var largest;    // f32: the largest norm of the data, bias included
};

/// Returns the codes of queries x[n, features]: i32[n, tables, probes]. Those behind the first
/// differ from it by what is most likely to be different in a vector nearby.
Var hash_queries(Var x, const HashBy& by, std::int64_t probes = 1);
/// Returns the codes of data, rows of weight[n, features] with bias[n]: i32[tables, n].
Var hash_data(Var weight, Var bias, const HashBy& by);

/// Says which rows are hashed again.
struct RehashRows {
  Var used;  // i64[any]: rows that this step has used; they are remembered
  Var due;   // bool: whether rows are hashed in this step
  Var all;   // bool: if so, all of them and not only those used since they were hashed last
};
/// Brings the state `codes` (i32[tables, n]) to what hash_data gives for some rows; `marks`
/// (bool[n]) is the state that remembers used rows. Returns the codes.
Var rehash_rows(const std::string& codes, const std::string& marks, Var weight, Var bias,
                const HashBy& by, const RehashRows& rows);

const OpDef& hash_queries_def();
const OpDef& hash_data_def();
const OpDef& rehash_rows_def();

}  // namespace antichain
