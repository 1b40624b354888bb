// Hash tables as two flat values: for every table, the ids of the rows in order of their codes, and
// where the ids of each code start. They follow from the codes alone, whatever order rows were
// hashed in, so they need not be saved, and a run that resumes has the same ones.
#pragma once

#include <string>

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

/// Ranks ids for a reservoir: those of the lowest rank stay in a bucket of this table.
inline std::uint64_t reservoir_rank(std::int64_t table, std::int64_t id) {
  // The finaliser of MurmurHash3 (Appleby), and the id where two are equal.
  std::uint64_t x = static_cast<std::uint64_t>(table) << 32 ^ static_cast<std::uint64_t>(id);
  x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDULL;
  x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53ULL;
  return (x ^ x >> 33) >> 32 << 32 | static_cast<std::uint64_t>(id);
}

const OpDef& hash_tables_def();
const OpDef& update_hash_tables_def();

}  // namespace antichain
