// What is said to the graph compiler.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace antichain {

class Op;  // antichain/graph/var.h

/// Says what it saves that an op computes with channels last, as a part of copying all values that
/// have channels once: 1 where those would be copied otherwise, 0 where it is all the same, below 0
/// where it is slower.
using LayoutGain = std::function<double(Op op)>;

struct CompilerOptions {
  // 0: as it was built, 1: simpler, 2: fused, too, 3: in other layouts, which may round otherwise
  int level = 2;
  std::vector<std::string> disabled = {};  // names of passes that are left out
  bool fast_math = false;                  // floats may be added and multiplied in another order
  // Where every pass leaves its graph and its time (antichain/passes/pass_log.h), each compilation
  // in a folder of its own: DIR/1, DIR/2, ...; empty: nowhere.
  std::filesystem::path dump_folder = {};
  LayoutGain layout_gain = nullptr;              // of choose-layouts; unset: what the backend says
  std::function<bool(Op)> is_missing = nullptr;  // of decompose; unset: what the backend says
  // Of split-chains, recall-steps, scan-factors, sum-by-parts and join-sums; also where the
  // backend wants few kernels.
  bool split_chains = false;
  bool batch_updates = false;     // of batch-updates and batch-casts; the same
  bool fuse_row_updates = false;  // of fuse-row-updates; also where the backend does not
  bool recompute = false;  // of fuse-elementwise: wide values, by each that reads them; the same
};

}  // namespace antichain
