#include "antichain/engines/scan/newton_forward.h"

#include <cmath>
#include <mutex>
#include <set>

#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"

namespace antichain {

namespace {

// Names a chain by where it was built: graphs that are copies of each other have the same chain.
std::string place_of(Op chain) {
  std::string_view file = chain.location().file_name();
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  const std::string in = chain.scope().empty() ? "" : fmt::format(" in '{}'", chain.scope());
  return fmt::format("chain{} ({}:{})", in, file, chain.location().line());
}

std::vector<VarType> infer_note(InferContext& context) {
  context.require_inputs(3);
  return {{context.type(0).dtype, context.shape(0)}};
}

}  // namespace

// An op that tells the log when it runs. It has a definition of its own in every session, because
// the log is the session's.
class NewtonForward::Note {
 public:
  explicit Note(Logger logger) : logger_(std::move(logger)) {
    def_.name = "newton_gave_up";
    def_.doc = "Returns a state, and tells that Newton's method has not found those after it.";
    def_.attributes = {{"chain", "which"}, {"tolerance", "of its residual"}};
    def_.effect = Effect::external;
    def_.infer = infer_note;
    def_.reference = [this](KernelContext& context) {
      const auto residual = context.in(1).cast(DType::f64).item<double>();
      const auto iterations = context.in(2).item<std::int64_t>();
      tell(context.attr<std::string>("chain"),
           std::isfinite(residual)
               ? fmt::format("Newton's method has not converged: after {} iterations a state is "
                             "{:.2g} of the largest away from what its step makes of the one "
                             "before, and may be {:.2g}",
                             iterations, residual, context.attr<double>("tolerance"))
               : fmt::format("Newton's method has diverged after {} iterations", iterations));
      context.out().copy_from(context.in(0));
    };
  }

  void tell(const std::string& chain, const std::string& reason) const {
    const std::lock_guard lock(mutex_);
    if (told_.insert(chain).second) {
      logger_.log(LogLevel::warning, "{} runs step by step: {}", chain, reason);
    }
  }

  const OpDef& def() const { return def_; }

 private:
  Logger logger_;
  OpDef def_;
  mutable std::mutex mutex_;
  mutable std::set<std::string> told_;
};

NewtonForward::NewtonForward(const Logger& logger) : note_(std::make_unique<Note>(logger)) {}

NewtonForward::~NewtonForward() = default;

std::optional<Vars> NewtonForward::outputs(Op chain, scan::NewtonOptions options,
                                           const ForwardContext& context) const {
  const std::string place = place_of(chain);
  const std::string reason = context.has_memory_budget
                                 ? "Newton's method keeps the Jacobians of all steps, which is "
                                   "nothing for a memory budget"
                                 : scan::why_not_newton(chain);
  if (!reason.empty()) {
    note_->tell(place, reason);
    return std::nullopt;
  }
  options.gave_up = [&](Var state, Var residual, Var iterations) {
    const Attrs attrs = {{"chain", place}, {"tolerance", scan::newton_tolerance(chain, options)}};
    return chain.graph().add(note_->def(), {state, residual, iterations}, attrs).output();
  };
  options.keeps_reports = context.keeps_reports;
  return scan::newton_chain(chain, options);
}

}  // namespace antichain
