#include "antichain/passes/fusion/recomputed_values.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/fused_product.h"
#include "antichain/passes/fusion/cheapest_reads.h"

namespace antichain {

namespace {

using Groups = ElementwiseGroups;
using Index = ElementwiseGroups::Index;
constexpr int kMostRepeated = 3;  // that are repeated for one value

bool is_cheap(const OpDef& def) {
  return &def == &add_def() || def.name == "subtract" || &def == &multiply_def();
}

class RecomputedValues {
 public:
  RecomputedValues(const ElementwiseGroups& found, std::span<const Op> ops,
                   std::span<const Var> results, bool recompute)
      : found_(found), ops_(ops), recompute_(recompute), repeated_(ops.size(), false) {
    copied_.home.resize(ops.size());
    for (std::size_t g = 0; g < found.groups().size(); ++g) {
      for (const Index n : found.groups()[g]) {
        copied_.home[n] = g;
      }
    }
    for (Var result : results) {
      copied_.read_outside.insert(result.id());
    }
    if (recompute) {
      find_last_readers(results);
      find_cheap();
      find_repeated();
    }
  }

  CopiedGroups copied() {
    copied_.groups.resize(found_.groups().size());
    for (std::size_t g = found_.groups().size(); g-- > 0;) {  // readers first
      copy_group(g);
    }
    return std::move(copied_);
  }

 private:
  struct Cheap {
    int ops = 0;                 // from a value that is kept on; 0: it is not cheap
    Index from = Groups::kNone;  // the op before, if there is one
  };

  // For every value, the last group that reads it.
  void find_last_readers(std::span<const Var> results) {
    for (Index n = 0; n < ops_.size(); ++n) {
      for (Var input : ops_[n].inputs()) {
        std::size_t& last = last_reader_[input.id()];
        last = std::max(last, copied_.home[n]);
        reading_groups_[input.id()].insert(copied_.home[n]);
      }
    }
    for (Var result : results) {
      last_reader_[result.id()] = found_.groups().size();
    }
    for (auto n = static_cast<Index>(ops_.size()); n-- > 0;) {  // who reads a view reads the whole
      if (ops_[n].def().view) {
        std::size_t& last = last_reader_[ops_[n].input(0).id()];
        last = std::max(last, last_reader_[ops_[n].output().id()]);
      }
    }
  }

  // What becomes of a value whether or not a group reads it. Groups behind that one are copied
  // already, so it is known what they read; those before it may still do without.
  ValueLife life_of(Var value, std::size_t group) const {
    const auto last = [this](Var x) {
      const auto found = last_reader_.find(x.id());
      return found == last_reader_.end() ? 0 : found->second;
    };
    bool is_kept = last(value) > group;
    for (Var whole = value; found_.maker(whole) != Groups::kNone && whole.producer().def().view;) {
      whole = whole.producer().input(0);
      is_kept = is_kept || last(whole) > group;
    }
    return {.is_written = is_written(value, group), .is_kept = is_kept};
  }

  bool is_written(Var value, std::size_t group) const {
    const Index n = found_.maker(value);
    if (n == Groups::kNone || copied_.read_outside.contains(value.id())) {
      return true;
    }
    const auto readers = reading_groups_.find(value.id());
    if (readers == reading_groups_.end()) {
      return false;
    }
    if (is_fusible_product(ops_[n].def())) {
      return readers->second.size() > 1;  // it goes straight to the one group that reads it
    }
    const bool is_alone = !found_.is_element(n) && found_.groups()[copied_.home[n]].size() == 1;
    return is_alone || (!repeated_[n] && std::ranges::any_of(readers->second, [&](std::size_t g) {
             return g < group && g != copied_.home[n];
           }));
  }

  // Whether an op reads a value of its shape that is kept for later groups in any case.
  bool follows_kept_value(Index n, Var whole) const {
    return is_float(whole.dtype()) && size_of(whole.dtype()) <= size_of(ops_[n].output().dtype()) &&
           last_reader_.at(whole.id()) > copied_.home[n];
  }

  // Widening conversions, and what is computed from one of them, or from a value that is kept
  // anyway, and smaller values.
  void find_cheap() {
    cheap_.resize(ops_.size());
    for (Index n = 0; n < ops_.size(); ++n) {
      const Op op = ops_[n];
      if (!found_.is_element(n)) {
        continue;
      }
      if (&op.def() == &cast_def()) {
        const DType from = op.input(0).dtype(), to = op.output().dtype();
        if (is_float(from) && is_float(to) && size_of(from) < size_of(to)) {
          cheap_[n] = {1, Groups::kNone};
        }
      } else if (is_cheap(op.def())) {
        const bool first_is_whole = op.input(0).shape() == op.output().shape();
        const bool second_is_whole = op.input(1).shape() == op.output().shape();
        if (first_is_whole == second_is_whole) {
          continue;
        }
        const Var whole = op.input(first_is_whole ? 0 : 1);
        const Index from = found_.maker(whole);
        if (from != Groups::kNone && cheap_[from].ops > 0 && cheap_[from].ops < kMostRepeated) {
          cheap_[n] = {cheap_[from].ops + 1, from};
        } else if (follows_kept_value(n, whole)) {
          cheap_[n] = {1, Groups::kNone};
        }
      }
    }
  }

  void find_repeated() {
    std::vector<bool> refused(ops_.size(), false);
    for (Index n = 0; n < ops_.size(); ++n) {
      for (Var input : ops_[n].inputs()) {
        const Index before = found_.maker(input);
        if (before == Groups::kNone || cheap_[before].ops == 0 ||
            copied_.home[before] == copied_.home[n]) {
          continue;
        }
        // A reduction by itself has a kernel that reads any type, but computes nothing before.
        const bool joins = found_.together(before, n) &&
                           (found_.is_element(n) || found_.groups()[copied_.home[n]].size() > 1);
        repeated_[before] = true;
        refused[before] = refused[before] || !joins;
      }
    }
    for (Index n = 0; n < ops_.size(); ++n) {
      repeated_[n] =
          repeated_[n] && !refused[n] && !copied_.read_outside.contains(ops_[n].output().id());
    }
  }

  // What of a group is needed, and what it has to compute again. What it then reads is outside.
  void copy_group(std::size_t g) {
    const std::vector<Index>& own = found_.groups()[g];
    std::set<Index> all;
    const auto take = [&](Index n) {
      all.insert(n);
      for (Var input : ops_[n].inputs()) {
        read_by_[input.id()] = g;
      }
    };
    for (auto n = own.rbegin(); n != own.rend(); ++n) {
      const std::vector<Var> outputs = ops_[*n].outputs();
      const auto is_read = [&](Var output) {
        return copied_.read_outside.contains(output.id()) || read_by_(output.id()) == g;
      };
      if (!found_.is_element(*n) || std::ranges::any_of(outputs, is_read)) {
        take(*n);
      }
    }
    for (const Index n : own) {
      for (Var input : all.contains(n) ? ops_[n].inputs() : std::vector<Var>()) {
        const Index before = found_.maker(input);
        const bool again =
            before != Groups::kNone && copied_.home[before] != g && repeated_[before];
        for (Index part = again ? before : Groups::kNone; part != Groups::kNone;
             part = cheap_[part].from) {
          take(part);
        }
      }
    }
    if (recompute_ && !all.empty()) {
      const auto life = [&](Var value) { return life_of(value, g); };
      for (const Index n : cheaper_to_compute(found_, ops_, all, life)) {
        all.insert(n);
      }
    }
    for (const Index n : all) {
      for (Var input : ops_[n].inputs()) {
        if (const Index before = found_.maker(input);
            before != Groups::kNone && !all.contains(before)) {
          copied_.read_outside.insert(input.id());
        }
      }
    }
    copied_.groups[g].assign(all.begin(), all.end());
  }

  const ElementwiseGroups& found_;
  std::span<const Op> ops_;
  bool recompute_;
  std::unordered_map<VarId, std::size_t> last_reader_;
  std::unordered_map<VarId, std::set<std::size_t>> reading_groups_;
  std::vector<Cheap> cheap_;    // by op
  std::vector<bool> repeated_;  // by op: whether other groups compute it again
  IdMap<VarId, std::size_t> read_by_{~std::size_t{0}};  // the group that was last found to read it
  CopiedGroups copied_;
};

}  // namespace

CopiedGroups copied_groups(const ElementwiseGroups& found, std::span<const Op> ops,
                           std::span<const Var> results, bool recompute) {
  return RecomputedValues(found, ops, results, recompute).copied();
}

}  // namespace antichain
