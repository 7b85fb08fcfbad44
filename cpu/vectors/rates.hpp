// SPDX-License-Identifier: Apache-2.0
// Measures the highest rates at which the processor reads memory and computes scores. Benchmarks
// compare searches of vectors with these rates. CpuVectorSearcher calls measure_rates.
#pragma once

#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::cpu {

/// Measures with all threads of the pool. Uses 512 MiB of memory until it returns.
DeviceRates measure_rates(ThreadPool& pool);

}  // namespace starling::cpu
