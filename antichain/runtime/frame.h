// Frame: a program made ready for certain sizes. Every value has its layout and its memory, every
// kernel is planned; a run then only calls kernels and allocates nothing.
//
// Most values lie in one piece of memory, placed by lifetimes (memory_plan.h). A view is a value
// that lies inside another one; an output may take over the memory of an input that nobody reads
// any more. Results are written straight into the memory that the caller gives. Values whose size
// only the run finds out, and what is computed from them, are allocated as they come.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "antichain/runtime/access_order.h"
#include "antichain/runtime/backend.h"
#include "antichain/runtime/memory_plan.h"
#include "antichain/runtime/memory_report.h"
#include "antichain/runtime/program.h"
#include "antichain/runtime/step_sections.h"

namespace antichain {

class Frame {
 public:
  /// Whether a program is that of an executable or the body of one of its ops.
  enum class Role : std::uint8_t { whole, body };
  /// Makes the program ready for the sizes in shared.env; throws ShapeError where those do not fit.
  /// Program and context must outlive the frame.
  Frame(const Program& program, RunContext& shared, Role role = Role::whole);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame();

  /// Returns the bytes that set_memory() must provide.
  std::size_t memory_bytes() const { return plan_.bytes; }
  /// Returns the bytes of copies of arguments that lay elsewhere, which are kept for the next run.
  std::size_t argument_bytes() const;
  /// Returns which value lies where, and when.
  MemoryReport memory_report() const;
  /// Lets the values lie in this buffer from now on, `offset` bytes behind its start.
  void set_memory(const std::shared_ptr<Buffer>& buffer, std::size_t offset);
  /// Gives the frame memory of its own.
  void allocate_memory();

  /// Runs the steps on one argument per parameter. Results are as in RunRegion. Where `sent` is
  /// given, results that go to the host may be on their way still; these are added to it.
  void run(std::span<const Tensor* const> arguments, std::span<Tensor* const> results,
           std::vector<SentResult>* sent = nullptr);

 private:
  friend class FrameBinder;
  using Slot = Program::Slot;

  /// Who provides the memory of a value.
  enum class Home : std::uint8_t {
    late,       // its size is not known before the run, and it is allocated then
    given,      // it is an argument
    target,     // it is a result, written into memory of the caller
    planned,    // it lies in the memory of the frame
    fixed,      // it was computed when the frame was made
    forwarded,  // its op sets it to what exists already, a state for example
  };
  struct Storage {
    Home home = Home::late;
    Slot root = 0;           // the value in which it lies: itself unless it is a view
    std::int64_t shift = 0;  // of its first element from the first one of the root
  };
  struct BoundStep {
    enum class Kind : std::uint8_t { kernel, view, late } kind = Kind::kernel;
    const Program::Step* step = nullptr;
    KernelFunction compute;
    KernelContext context;
    std::vector<const Tensor*> inputs;
    std::vector<Tensor*> outputs;
    std::vector<Slot> release;  // values to let go of after this step
    std::vector<std::unique_ptr<Frame>> regions;
    std::any memory;   // of the op
    Tensor workspace;  // of the op, undefined if it asks for none
    // Memory for the op and its regions to work in: index into plan_.offsets.
    std::optional<std::size_t> workspace_at;
    std::vector<std::size_t> region_starts;         // of each region's memory, from there
    std::vector<Tensor> host_inputs, host_outputs;  // copies for a kernel that works on the host
    std::vector<const Tensor*> host_input_pointers;
    std::vector<Tensor*> host_output_pointers;
  };
  struct Target {
    std::size_t result;
    Slot slot;
    Tensor spare;  // memory for results that the caller does not want
    // Values that lie there before: the result is computed from them in place.
    std::vector<Slot> lodgers = {};
  };

  void take_arguments(std::span<const Tensor* const> arguments);
  void take_targets(std::span<Tensor* const> results);
  void run_steps();
  void run_step(BoundStep& step);
  void run_on_host(BoundStep& step);
  void run_late(BoundStep& step);
  void run_region(BoundStep& step, int region, std::span<const Tensor* const> arguments,
                  std::span<Tensor* const> results);
  void run_recorded();
  std::unique_ptr<Recording> record_steps();
  void order_accesses(const BoundStep& step, AccessOrder& order) const;
  struct Addresses {
    std::vector<const void*> at = {};  // values that are not the frame's
    bool states_stay = true;           // where they are when the run updates them
  };
  Addresses find_addresses() const;
  bool can_be_recorded() const;
  void give_results(std::span<Tensor* const> results, std::vector<SentResult>* sent);
  void let_go();

  const Program& program_;
  RunContext& shared_;
  Role role_;
  std::vector<Tensor> values_;  // by slot
  std::vector<Storage> storage_;
  std::vector<std::unique_ptr<BoundStep>> steps_;
  std::vector<Section> sections_;  // of the steps: what runs at the same time
  std::vector<Target> targets_;
  std::vector<Slot> held_;  // values whose memory others own
  std::vector<Lifetime> lifetimes_;
  MemoryPlan plan_;                      // of the lifetimes
  std::vector<std::size_t> planned_at_;  // by slot: index into lifetimes_
  std::shared_ptr<Buffer> memory_;
  std::vector<Tensor> own_arguments_;  // memory for arguments that lie elsewhere

  // A device is given all steps as one piece of work, from the second run on: see run_recorded().
  bool is_recordable_ = false, may_be_next_ = false;
  std::unique_ptr<Recording> recording_;
  std::vector<const void*> recorded_at_;
  int recordings_ = 0;
};

}  // namespace antichain
