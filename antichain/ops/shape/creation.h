// Values from nothing: constants, ranges, sizes.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Returns a value known now.
Var constant(Graph& graph, const Tensor& value, Place place = Place::current());
/// Returns a number as a value of rank 0.
Var scalar(Graph& graph, DType dtype, double value, Place place = Place::current());
/// Returns a value with every element `value`.
Var full(Graph& graph, DType dtype, const Dims& shape, double value,
         Place place = Place::current());
Var zeros(Graph& graph, DType dtype, const Dims& shape, Place place = Place::current());
Var ones(Graph& graph, DType dtype, const Dims& shape, Place place = Place::current());
Var zeros_like(const Operand& x);
Var ones_like(const Operand& x);
/// Returns 0, 1, 2, … below `size`.
Var iota(Graph& graph, DType dtype, Dim size, Place place = Place::current());
/// Returns a size as an i64 value of rank 0.
Var dim_value(Graph& graph, Dim dim, Place place = Place::current());
/// Returns the shape as an i64 value of rank 1 that takes part in computation.
Var shape_of(const Operand& x);
/// Returns the indices of the elements that are not zero, one row per element: i64[count, rank].
Var nonzero(const Operand& x);
/// Returns a zero that stands for a variable in which an expression is linear; every call gives
/// another one. Differentiating with respect to it transposes the expression
/// (antichain/autodiff/op_rules.cpp).
Var linear_seed(Graph& graph, DType dtype, const Dims& shape);

const OpDef& iota_def();
const OpDef& dim_value_def();
const OpDef& shape_of_def();
const OpDef& nonzero_def();
const OpDef& linear_seed_def();

/// Lists this file's ops for the catalogue.
std::vector<const OpDef*> creation_family();

}  // namespace antichain
