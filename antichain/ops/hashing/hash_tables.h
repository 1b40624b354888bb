// Hash tables as two flat values: for every table, the ids of the rows in order of their codes, and
// where the ids of each code start. They follow from the codes alone, whatever order rows were
// hashed in, so they need not be saved, and a run that resumes has the same ones.
#pragma once

#include <string>

#include "antichain/ops/hashing/code_pieces.h"
#include "antichain/ops/operand.h"

namespace antichain {

/// Which ids stay in a bucket that has more than it may hold.
enum class BucketPolicy {
  fifo,      // those that come last, as if they pushed the others out
  reservoir  // a random sample (Vitter, 1985), the same one for the same ids
};

struct TableOptions {
  std::int64_t num_codes = 0;  // buckets of a table
  std::int64_t bucket = 128;   // ids that a bucket holds
  BucketPolicy policy = BucketPolicy::reservoir;
};

struct HashTables {
  Var starts;  // i32[tables, num_codes + 1]
  Var ids;     // i32[tables, rows]: within a bucket in rising order; -1 behind the last one
};

/// Sorts the rows of codes[tables, rows] into tables.
HashTables hash_tables(Var codes, const TableOptions& options);
/// Does so with states, when `when` (bool) says so. Returns the new value of `starts`.
Var update_hash_tables(const std::string& starts, const std::string& ids, Var codes, Var when,
                       const TableOptions& options);

const OpDef& hash_tables_def();
const OpDef& update_hash_tables_def();

}  // namespace antichain
