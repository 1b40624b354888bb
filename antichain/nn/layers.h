// Layers: functions that build a part of a graph and create its parameters on the way.
//
// Parameters are named by the layer within the scope that is open ("encoder.linear.weight"), so a
// name can be used once per scope. To use a layer's parameters again, read_state() them.
//
// A layer computes in the type of its input. Of a bf16 or f16 input, parameters and gradients are
// f32 all the same, and so are the statistics of norms, softmax and losses: casting the input of a
// network makes it a mixed-precision network.
//
// What differs between training and evaluation says so by `training` in its options: build the
// model once more with training = false in another graph of the same session, which shares the
// parameters by name.
#pragma once

#include "antichain/nn/attention.h"
#include "antichain/nn/convolution.h"
#include "antichain/nn/dropout.h"
#include "antichain/nn/embedding.h"
#include "antichain/nn/graph_layers.h"
#include "antichain/nn/linear.h"
#include "antichain/nn/min_gru.h"
#include "antichain/nn/normalization.h"
#include "antichain/nn/recurrent.h"
#include "antichain/nn/residual.h"
#include "antichain/nn/sampled_softmax.h"
#include "antichain/nn/wide.h"
