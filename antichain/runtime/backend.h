// Backend: a device's memory and its kernels.
//
// A backend of another device than the CPU need not have every kernel: an op without one runs by
// its reference on host copies of its inputs, which is slow, correct and logged. Ops that compute
// nothing themselves (OpDef::on_any_device) need no kernel.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "antichain/base/function_ref.h"
#include "antichain/runtime/kernel_table.h"
#include "antichain/tensor/tensor_memory.h"

namespace antichain {

/// How long a step of a program takes, in seconds; estimates, to compare steps with each other.
struct StepTime {
  double alone = 0;     // by one thread, while the others have work of their own
  double together = 0;  // by all threads
};

/// Work that a device has been given once and can be given again, all at once.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

/// Values on their way from a device to the host.
class Arrival {
 public:
  virtual ~Arrival() = default;
  /// Waits for them and puts them into a packed tensor of the host. Throws when the run that they
  /// are of has failed. May be called again.
  virtual void take(const Tensor& to) = 0;
};

/// A result of a run that is on its way to the host.
struct SentResult {
  std::size_t number;  // among the results
  std::shared_ptr<Arrival> arrival;
};

class Backend : public TensorMemory {
 public:
  virtual std::string_view name() const = 0;

  /// Keeps other threads from giving the device work while the lock lives; an empty lock where they
  /// need not be kept. A thread may hold it several times.
  [[nodiscard]] virtual std::unique_lock<std::recursive_mutex> hold() const { return {}; }

  /// Returns how many steps of a program may run at the same time.
  virtual int lanes() const { return 1; }
  /// Estimates how long an op takes at these sizes. Asked only where there are several lanes.
  virtual StepTime step_time(Op, const DimEnv&) const { return {}; }
  /// Calls run(lane) for every lane in [0, count), at the same time or in any order.
  virtual void run_lanes(int count, FunctionRef<void(int lane)> run) const {
    for (int lane = 0; lane < count; ++lane) {
      run(lane);
    }
  }

  /// Starts copying a packed tensor of this device to the host, behind the work that the device was
  /// given so far, and does not wait; returns null where it would have to. An empty tensor may be
  /// sent, too: whoever waits for it is told whether the run has failed.
  virtual std::unique_ptr<Arrival> send_to_host(const Tensor&) const { return nullptr; }

  /// Says that a run was given to the device and its results sent: what goes wrong in work that
  /// follows is not the run's.
  virtual void end_run() const {}

  /// Orders what the device is given from now on after what another library has enqueued so far on
  /// a stream of the same device. Returns what orders that stream after all that the device was
  /// given until it is called; it must not throw. Empty where devices have no streams.
  virtual std::function<void()> order_after(void* /*stream*/) const { return {}; }

  /// Returns whether the device can be given work as a whole.
  virtual bool records() const { return false; }
  /// Records the kernels that run(step) starts for every step in [0, count), in order and in this
  /// thread, without running them. When replayed, a step starts when those of needs(step), which is
  /// asked right before it, have ended. Only where records() says so.
  virtual std::unique_ptr<Recording> record(
      std::size_t /*count*/, FunctionRef<void(std::size_t step)> /*run*/,
      FunctionRef<std::vector<std::size_t>(std::size_t step)> /*needs*/) const {
    return nullptr;
  }

  /// Returns what it saves that an op computes with channels last, as a part of copying the values
  /// that have channels once: 1 where they would be copied otherwise, below 0 where it is slower.
  virtual double channels_last_gain(Op) const { return 0; }

  /// Returns whether it is worth memory to have fewer kernels with more work each: gradients of
  /// small parameters that wait to be applied at once, values of the steps of a chain that are
  /// stacked.
  virtual bool wants_few_kernels() const { return false; }

  /// Says by which algorithm an op is computed at these sizes, and why; empty where there is no
  /// choice. The shapes of all inputs are known by the sizes.
  virtual std::string explain(Op, const DimEnv&) const { return {}; }

  /// Returns the code that was generated for an op, for people to read; empty where there is none.
  virtual std::string generated_code(Op) const { return {}; }

  const KernelTable& kernels() const { return kernels_; }

 protected:
  KernelTable kernels_;
};

}  // namespace antichain
