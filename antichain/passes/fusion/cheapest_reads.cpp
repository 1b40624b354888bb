#include "antichain/passes/fusion/cheapest_reads.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/ops/definition_parts.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/passes/fusion/min_cut.h"

namespace antichain {

namespace {

using Groups = ElementwiseGroups;
using Index = ElementwiseGroups::Index;

// Costs are in sixteenths of a byte per element of the group's shape. A GPU computes some tens of
// operations in the time of a number from memory, and `exp` and its like take several.
constexpr std::int64_t kByteCost = 16, kOpCost = 3;
constexpr std::size_t kLargestGroup = 48;    // ops
constexpr std::size_t kMostCandidates = 32;  // that are looked at for one group

class CheapestReads {
 public:
  CheapestReads(const ElementwiseGroups& found, std::span<const Op> ops,
                const std::set<Index>& group, const std::function<ValueLife(Var)>& life_of)
      : found_(found), ops_(ops), group_(group), life_of_(life_of) {
    find_needed();
    look_back();
  }

  std::vector<Index> computed() {
    if (candidates_.empty()) {
      return {};
    }
    first_ = cut_.add_node();
    second_ = cut_.add_node();
    for (const Index n : candidates_) {  // what they read comes first
      const ReadNodes nodes = nodes_of(ops_[n].output(), true);
      cut_.add_cost(first_, nodes.in, kOpCost);
      for (Var input : ops_[n].inputs()) {
        const Index before = found_.maker(input);
        const bool again = before != Groups::kNone && candidates_.contains(before);
        cut_.add_cost(nodes_of(input, again).out, nodes.in, MinCut::kNever);
      }
    }
    for (Var value : needed_) {
      cut_.add_cost(nodes_.at(value.id()).out, second_, MinCut::kNever);
    }
    const std::vector<bool> is_first = cut_.first_side(first_, second_);
    std::vector<Index> result;
    for (const Index n : candidates_) {
      if (!is_first[nodes_.at(ops_[n].output().id()).in]) {
        result.push_back(n);
      }
    }
    return takes_more_memory(result) || group_.size() + result.size() > kLargestGroup
               ? std::vector<Index>()
               : result;
  }

 private:
  struct ReadNodes {
    std::size_t in, out;  // between them is what reading costs
  };

  // What the group reads of others, if it could be made in the group.
  void find_needed() {
    for (const Index n : group_) {
      // A reduction by itself has a kernel that computes nothing before.
      const bool may_compute = found_.is_element(n) || group_.size() > 1;
      for (Var input : ops_[n].inputs()) {
        if (!may_compute || !could_join(input, n)) {
          there_.insert(input.id());
        } else if (std::ranges::count(needed_, input) == 0) {
          needed_.push_back(input);
        }
      }
    }
    std::erase_if(needed_, [this](Var value) { return there_.contains(value.id()); });
  }

  // Whether the op that makes a value for another one is of another group, and could be in this.
  bool could_join(Var value, Index reader) const {
    const Index before = found_.maker(value);
    return before != Groups::kNone && found_.is_element(before) &&
           found_.together(before, reader) && !group_.contains(before);
  }

  // The last ops before the group that could be in it.
  void look_back() {
    std::set<Index> open;
    for (Var value : needed_) {
      open.insert(found_.maker(value));
    }
    while (!open.empty() && candidates_.size() < kMostCandidates) {
      const Index n = *open.rbegin();
      open.erase(n);
      candidates_.insert(n);
      for (Var input : ops_[n].inputs()) {
        if (could_join(input, n)) {
          open.insert(found_.maker(input));
        }
      }
    }
    for (Var value : needed_) {
      if (!candidates_.contains(found_.maker(value))) {
        there_.insert(value.id());
      }
    }
    std::erase_if(needed_, [this](Var value) { return there_.contains(value.id()); });
  }

  ReadNodes nodes_of(Var value, bool is_computed) {
    const auto known = nodes_.find(value.id());
    if (known != nodes_.end()) {
      return known->second;
    }
    const ReadNodes nodes{is_computed ? cut_.add_node() : first_, cut_.add_node()};
    cut_.add_cost(nodes.in, nodes.out, read_cost(value, is_computed));
    nodes_.emplace(value.id(), nodes);
    return nodes;
  }

  // Whether the group has a value in any case.
  bool is_there(Var value) const {
    const Index n = found_.maker(value);
    return there_.contains(value.id()) || (n != Groups::kNone && group_.contains(n));
  }

  bool is_whole(Var value) const {
    return value.shape() == needed_[0].shape() && !made_by(value, broadcast_to_def());
  }

  // Values that are smaller than the group's shape cost next to nothing.
  std::int64_t bytes(Var value) const {
    return static_cast<std::int64_t>(size_of(value.dtype())) * (is_whole(value) ? kByteCost : 1);
  }

  std::int64_t read_cost(Var value, bool is_computed) const {
    if (!is_computed && is_there(value)) {
      return 0;
    }
    const ValueLife life = life_of_(value);
    const Index n = found_.maker(value);
    if (n != Groups::kNone && ops_[n].def().effect != Effect::none && !life.is_kept) {
      return MinCut::kNever;  // a state whose memory the next write may take
    }
    return bytes(value) * (life.is_written ? 1 : 2);
  }

  // Whether more has to be kept until the group runs than without computing anything again.
  bool takes_more_memory(const std::vector<Index>& computed) const {
    const auto is_computed = [&](Var value) {
      const Index n = found_.maker(value);
      return n != Groups::kNone && std::ranges::binary_search(computed, n);
    };
    std::int64_t more = 0;
    std::set<std::uint32_t> counted;
    for (const Index n : computed) {
      for (Var input : ops_[n].inputs()) {
        const bool is_new = is_whole(input) && !is_computed(input) &&
                            std::ranges::count(needed_, input) == 0 && !is_there(input) &&
                            !life_of_(input).is_kept;
        more += is_new && counted.insert(input.id().value).second ? bytes(input) : 0;
      }
    }
    for (Var value : needed_) {
      more -= is_computed(value) && !life_of_(value).is_kept ? bytes(value) : 0;
    }
    return more > 0;
  }

  const ElementwiseGroups& found_;
  std::span<const Op> ops_;
  const std::set<Index>& group_;
  const std::function<ValueLife(Var)>& life_of_;
  std::vector<Var> needed_;
  std::unordered_set<VarId> there_;  // what the group reads in any case
  std::set<Index> candidates_;
  MinCut cut_;
  std::size_t first_ = 0, second_ = 0;
  std::unordered_map<VarId, ReadNodes> nodes_;
};

}  // namespace

std::vector<Index> cheaper_to_compute(const ElementwiseGroups& found, std::span<const Op> ops,
                                      const std::set<Index>& group,
                                      const std::function<ValueLife(Var)>& life_of) {
  return CheapestReads(found, ops, group, life_of).computed();
}

}  // namespace antichain
