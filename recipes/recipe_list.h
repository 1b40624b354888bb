// The built-in recipes, a function each; registry.cpp lists them.
#pragma once

#include "recipes/recipe.h"

namespace antichain {

/// A small perceptron on points that are drawn: needs no data.
Recipe spirals_recipe();
/// Perceptrons and small convolutional networks on MNIST and Fashion-MNIST.
Recipe mnist_mlp_recipe();
Recipe fashion_mlp_recipe();
Recipe mnist_cnn_recipe();
Recipe fashion_cnn_recipe();
/// News topics from words, by a recurrent network.
Recipe agnews_rnn_recipe();
/// Topics of papers that cite each other, by a graph convolutional network.
Recipe cora_gcn_recipe();
/// What people do, from the sensors of a telephone, by a recurrent network.
Recipe har_gru_recipe();
/// Residual networks as discretised differential equations, on points and on spectra.
Recipe peaks_odenet_recipe();
Recipe hyperspectral_odenet_recipe();
/// Likewise with convolutions, on MNIST and Fashion-MNIST.
Recipe mnist_odenet_recipe();
Recipe fashion_odenet_recipe();
/// Streams of bits by a recurrent network: the chain rule along time and nothing else.
Recipe bitstream_rnn_recipe();
/// Any number of convolutions behind each other, on images that are drawn.
Recipe conv_chain_recipe();

/// A few of very many labels for points with sparse features: drawn, of web pages, from any file.
Recipe xmc_planted_recipe();
Recipe delicious_recipe();
Recipe xmc_recipe();
/// A perceptron on MNIST of whose wide hidden layer a part is active.
Recipe mnist_hashed_recipe();

}  // namespace antichain
