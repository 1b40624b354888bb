#include "antichain/passes/memory/stages.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"

namespace antichain {

namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// One piece of memory: a value with all views of it.
struct Piece {
  std::size_t bytes = 0;
  std::size_t made = 0;          // position of the op that computes it
  std::size_t last_forward = 0;  // of the last op before the loss that reads it, or `made`
  bool taken_back = false;       // somebody behind the loss reads it
};

class Splitter {
 public:
  Splitter(const GraphCopy& program, const DimEnv& sizes)
      : sizes_(sizes), ops_(schedule(*program.graph, program.values, program.ops)) {
    end_ = program.values.empty() ? 0 : end_of_loss(program);
    find_pieces();
  }

  StagedProgram split(const std::function<double(Op)>& seconds, std::size_t max_stages) {
    StagedProgram result;
    const std::vector<std::size_t> ends = choose_ends(max_stages);
    if (ends.empty()) {
      return result;
    }
    stage_of_.resize(end_);
    for (std::size_t i = 0, stage = 0; i < end_; ++i) {
      stage += i >= ends[stage] ? 1 : 0;
      stage_of_[i] = stage;
    }
    result.forward.resize(ends.size());
    result.backward.resize(ends.size());
    result.costs.resize(ends.size());
    for (std::size_t i = 0; i < end_; ++i) {
      result.forward[stage_of_[i]].push_back(ops_[i]);
      result.costs[stage_of_[i]].forward += seconds(ops_[i]);
    }
    std::size_t stage = ends.size() - 1;
    for (std::size_t i = end_; i < ops_.size(); ++i) {
      stage = std::min(stage, stage_needed_by(ops_[i]));
      result.backward[stage].push_back(ops_[i]);
      result.costs[stage].backward += seconds(ops_[i]);
    }
    for (const Piece& piece : pieces_) {
      const std::size_t from = stage_of_[piece.made], to = stage_of_[piece.last_forward];
      for (std::size_t crossed = from; crossed < to; ++crossed) {
        result.costs[crossed].output += piece.bytes;
      }
      if (piece.taken_back || to > from) {
        result.costs[from].kept += piece.bytes;
      }
    }
    return result;
  }

 private:
  // Behind the last op that the loss needs.
  std::size_t end_of_loss(const GraphCopy& program) const {
    std::unordered_set<OpId> needed;
    for (Op op : schedule(*program.graph, {&program.values[0], 1})) {
      needed.insert(op.id());
    }
    std::size_t end = 0;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      end = needed.contains(ops_[i].id()) ? i + 1 : end;
    }
    return end;
  }

  // The pieces that ops before the loss compute; what is fed or kept from run to run is none.
  void find_pieces() {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const Op op = ops_[i];
      for (Var input : op.inputs()) {
        if (const std::size_t at = piece_of(input); at != kNowhere) {
          Piece& piece = pieces_[at];
          piece.taken_back = piece.taken_back || i >= end_;
          piece.last_forward = i < end_ ? i : piece.last_forward;
        }
      }
      if (i >= end_ || op.def().forwards || &op.def() == &input_def()) {
        continue;
      }
      for (Var output : op.outputs()) {
        if (op.def().view) {
          at_[output.id()] = piece_of(op.input(0));
        } else if (is_bound(output.shape(), sizes_)) {
          at_[output.id()] = pieces_.size();
          const std::size_t bytes =
              packed_bytes(evaluate(output.shape(), sizes_), size_of(output.dtype()));
          pieces_.push_back({bytes, i, i});
        }
      }
    }
  }

  std::size_t piece_of(Var value) const {
    const auto found = at_.find(value.id());
    return found == at_.end() ? kNowhere : found->second;
  }

  // The last stage that has all values this op takes: those that its output is computed from, too.
  std::size_t stage_needed_by(Op op) const {
    std::size_t stage = stage_of_.back();
    for (Var input : op.inputs()) {
      if (const std::size_t at = piece_of(input); at != kNowhere) {
        stage = std::min(stage, stage_of_[pieces_[at].last_forward]);
      }
    }
    return stage;
  }

  // Cuts the bytes that are taken back into equal parts, and each cut moves to the narrowest place
  // within half a part.
  std::vector<std::size_t> choose_ends(std::size_t max_stages) const {
    std::vector<double> taken(end_ + 1), width(end_ + 1);
    for (const Piece& piece : pieces_) {
      taken[piece.made + 1] += piece.taken_back ? static_cast<double>(piece.bytes) : 0;
      width[piece.made + 1] += static_cast<double>(piece.bytes);
      width[piece.last_forward + 1] -= static_cast<double>(piece.bytes);
    }
    for (std::size_t i = 0; i < end_; ++i) {
      taken[i + 1] += taken[i];
      width[i + 1] += width[i];
    }
    std::vector<std::size_t> ends;
    const double part = taken[end_] / static_cast<double>(max_stages);
    if (part == 0) {
      return ends;
    }
    std::size_t i = 1;
    for (std::size_t cut = 1; cut < max_stages; ++cut) {
      std::size_t best = kNowhere;
      const double until = (static_cast<double>(cut) + 0.5) * part;
      for (; i < end_ && taken[i] < until; ++i) {
        const bool far_enough = taken[i] >= until - part;
        if (far_enough && (best == kNowhere || width[i] < width[best])) {
          best = i;
        }
      }
      if (best != kNowhere) {
        ends.push_back(best);
      }
    }
    ends.push_back(end_);
    return ends;
  }

  const DimEnv& sizes_;
  std::vector<Op> ops_;
  std::size_t end_ = 0;  // of the ops before the loss
  std::vector<Piece> pieces_;
  std::unordered_map<VarId, std::size_t> at_;  // piece by value
  std::vector<std::size_t> stage_of_;          // by position
};

}  // namespace

StagedProgram split_into_stages(const GraphCopy& program, const DimEnv& sizes,
                                const std::function<double(Op)>& seconds, std::size_t max_stages) {
  return Splitter(program, sizes).split(seconds, max_stages);
}

}  // namespace antichain
