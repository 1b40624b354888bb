// Operand: what a function of this module takes where a value is expected.
//
// A value or a plain number, with the place in the user's code where it was passed: the implicit
// conversion happens there, so even operators like `a + 1` know where they were written.
#pragma once

#include <concepts>
#include <variant>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

class Operand {
 public:
  Operand(Var var, Place place = Place::current()) : value_(var), location_(place) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number, Place place = Place::current())
      : location_(place) {
    if constexpr (std::is_floating_point_v<T>) {
      value_ = static_cast<double>(number);
    } else {
      value_ = static_cast<std::int64_t>(number);
    }
  }

  bool is_var() const { return std::holds_alternative<Var>(value_); }
  /// Returns the value; throws InvalidArgument when it is a plain number.
  Var var() const;
  /// Returns the value, or the number as a constant of that type.
  Var as(Graph& graph, DType dtype) const;
  const Place& location() const { return location_; }

 private:
  std::variant<Var, double, std::int64_t> value_;
  Place location_;
};

/// Applies an op with one output at the place of its first operand; numbers take the type of the
/// first value.
Var apply(const OpDef& def, const std::vector<Operand>& operands, Attrs attrs = {});
/// Applies an op with several outputs likewise.
std::vector<Var> apply_all(const OpDef& def, const std::vector<Operand>& operands,
                           Attrs attrs = {});

}  // namespace antichain
