// FrameBinder: fills a Frame, in the order of the functions below.
#pragma once

#include <unordered_map>

#include "antichain/runtime/frame.h"

namespace antichain {

class FrameBinder {
 public:
  explicit FrameBinder(Frame& frame);
  void bind();

 private:
  using Slot = Program::Slot;
  using Home = Frame::Home;
  using BoundStep = Frame::BoundStep;

  // 1. Layouts: what each value looks like and in which other value it lies.
  void lay_out_params();
  void lay_out_step(const Program::Step& step);
  bool is_late(const Program::Step& step) const;
  bool is_fixed(const Program::Step& step) const;
  void compute_fixed(const Program::Step& step);
  bool lay_out_view(BoundStep& bound);
  void lay_out_outputs(BoundStep& bound);
  Tensor layout(Slot slot) const;

  // 2. Memory: which values share it, and which steps run at the same time.
  void choose_targets();
  class StepNeeds;
  void find_parallel_steps();
  const Section* section_of(std::size_t step) const;
  Lifetime widened(Lifetime lifetime) const;
  void find_last_uses();
  void reuse_inputs();
  bool may_take_over(const BoundStep& bound, std::size_t n, Slot in, Slot out) const;
  bool works_on(const BoundStep& bound, std::size_t in, std::size_t out) const;
  bool may_write_over(const BoundStep& bound, std::size_t n, std::size_t in, std::size_t out) const;
  void move_to_targets(const std::unordered_map<Slot, std::size_t>& lodgings);
  Slot storage_of(Slot slot) const;
  std::size_t workspace_bytes(BoundStep& bound);
  void assign_memory();

  // 3. Kernels: everything ready to be called.
  void connect(BoundStep& bound);
  void plan_kernel(BoundStep& bound);
  void plan_release();

  Frame& frame_;
  const Program& program_;
  RunContext& shared_;
  std::shared_ptr<Buffer> unbacked_;
  std::vector<std::size_t> last_use_;       // by slot that is a storage: index of a bound step
  std::vector<Slot> taken_from_;            // by slot: the storage that it took over, or itself
  std::vector<const Section*> section_of_;  // by step; null: it runs alone
  std::vector<std::size_t> lane_of_;        // by step, in its section
};

}  // namespace antichain
