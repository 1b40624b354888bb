// Antichain for users: one include for sessions, graphs, operators, derivatives and layers.
//
// Begin with antichain::Session, whose graph() makes a graph and whose compile() makes it run.
// This header names every header that it reaches, and those are the public interface. What else is
// installed is there for the library itself and may change at any time.
#pragma once

// Building graphs.
#include "antichain/autodiff/grad.h"
#include "antichain/base/error.h"
#include "antichain/base/logger.h"
#include "antichain/graph/dim.h"
#include "antichain/graph/graph.h"
#include "antichain/graph/ids.h"
#include "antichain/graph/print.h"
#include "antichain/graph/var.h"
#include "antichain/nn/initialisers.h"
#include "antichain/nn/layers.h"
#include "antichain/ops/control_flow.h"
#include "antichain/ops/convolution.h"
#include "antichain/ops/creation.h"
#include "antichain/ops/debug_ops.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/gradient_ops.h"
#include "antichain/ops/indexing.h"
#include "antichain/ops/matmul.h"
#include "antichain/ops/normalization.h"
#include "antichain/ops/operand.h"
#include "antichain/ops/pooling.h"
#include "antichain/ops/random.h"
#include "antichain/ops/reduce.h"
#include "antichain/ops/shape_ops.h"
#include "antichain/ops/slicing.h"
#include "antichain/ops/sorting.h"
#include "antichain/ops/sparse.h"
#include "antichain/ops/state_ops.h"
#include "antichain/optim/adagrad.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/lbfgs.h"
#include "antichain/optim/rmsprop.h"
#include "antichain/optim/schedule.h"
#include "antichain/optim/sgd.h"
#include "antichain/optim/step_options.h"

// Running them.
#include "antichain/graph/state_store.h"
#include "antichain/runtime/executable.h"
#include "antichain/runtime/finite_check.h"
#include "antichain/runtime/profiler.h"
#include "antichain/session/eager.h"
#include "antichain/session/session.h"

// Values.
#include "antichain/tensor/buffer.h"
#include "antichain/tensor/device.h"
#include "antichain/tensor/dlpack.h"
#include "antichain/tensor/dtype.h"
#include "antichain/tensor/half.h"
#include "antichain/tensor/shape.h"
#include "antichain/tensor/tensor.h"

// Operators, engines, observers and backends of one's own.
#include "antichain/autodiff/engine.h"
#include "antichain/base/support.h"
#include "antichain/graph/attrs.h"
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/graph/op_def.h"
#include "antichain/ops/catalogue.h"
#include "antichain/runtime/backend.h"
#include "antichain/runtime/kernel_table.h"
#include "antichain/runtime/run_observer.h"
