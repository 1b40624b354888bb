// Marks inline functions that kernels share between host and GPU.
#pragma once

#ifdef __CUDACC__
#define ANTICHAIN_HOST_DEVICE __host__ __device__
#else
#define ANTICHAIN_HOST_DEVICE
#endif
