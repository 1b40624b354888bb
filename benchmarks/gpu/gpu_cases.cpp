#include "benchmarks/gpu/gpu_cases.h"

namespace antichain::bench {

std::vector<GpuCase> gpu_cases() {
  const auto wide_mlp = [](std::int64_t batch) { return mlp(batch, {1024, 1024, 10}, adam); };
  const auto wide_gru = [](std::int64_t batch) { return gru(128, batch, 512, 512); };
  return {
      {.step = {.name = "mlp 784-512-512-10 B=128 momentum tf32",
                .batch = 128,
                .model =
                    [](std::int64_t batch) {
                      return mlp(batch, {512, 512, 10}, momentum);
                    },
                .tf32 = true}},
      {.step = {.name = "mlp 784-4096-4096-4096-10 B=1024 momentum tf32",
                .batch = 1024,
                .model =
                    [](std::int64_t batch) {
                      return mlp(batch, {4096, 4096, 4096, 10}, momentum);
                    },
                .tf32 = true},
       .gradient_batch = 128},
      {.step = {.name = "resnet18 32x32 B=256 momentum bf16",
                .batch = 256,
                .model = resnet,
                .precision = bf16},
       .level = 3,
       .gradient_batch = 64,
       .f64_on_device = true},
      {.step = {.name = "gcn nodes=2708 inputs=1433 h=16 adam",
                .batch = kCora.nodes,
                .model = [](std::int64_t) { return gcn(kCora, 16); }}},
      {.step = {.name = "transformer layer 512/8/2048 T=512 B=32 bf16 forward + backward",
                .batch = 32,
                .model =
                    [](std::int64_t batch) {
                      return transformer(batch, 512, 512, 8, keep_gradients);
                    },
                .precision = bf16},
       .gradient_batch = 4},
      {.step = {.name = "ode net width=64 depth=1024 B=64 forward + backward",
                .batch = 64,
                .model = [](std::int64_t batch) { return ode_net(batch, 64, 1024); }}},
      {.step = {.name = "gru T=128 B=64 inputs=512 h=512", .batch = 64, .model = wide_gru}},
      {.step = {.name = "gru T=128 B=64 inputs=512 h=512 tf32",
                .batch = 64,
                .model = wide_gru,
                .tf32 = true}},
      {.step = {.name = "mlp 784-1024-1024-10 B=128 adam", .batch = 128, .model = wide_mlp}},
      {.step = {.name = "mlp 784-1024-1024-10 B=128 adam bf16",
                .batch = 128,
                .model = wide_mlp,
                .precision = bf16}},
      {.step = {.name = "mlp 784-1024-1024-10 B=8192 adam", .batch = 8192, .model = wide_mlp},
       .gradient_batch = 1024},
      {.step = {.name = "mlp 784-1024-1024-10 B=8192 adam bf16",
                .batch = 8192,
                .model = wide_mlp,
                .precision = bf16},
       .gradient_batch = 1024},
      {.step = {.name = "transformer d=768 heads=12 T=1024 B=8 adam bf16",
                .batch = 8,
                .model = [](std::int64_t batch) { return transformer(batch, 1024, 768, 12, adam); },
                .precision = bf16},
       .gradient_batch = 1},
      {.step = {.name = "gradient penalty cnn 32x32 B=64 adam",
                .batch = 64,
                .model = gradient_penalty},
       .gradient_batch = 16,
       .f64_on_device = true},
  };
}

}  // namespace antichain::bench
