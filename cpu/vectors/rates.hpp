// What the processor does at most, measured: the floor that benchmarks hold searches of vectors to.
#pragma once

#include "starling/knn/base/thread_pool.hpp"
#include "starling/knn/vectors/searcher.hpp"

namespace starling::cpu {

/// With all threads of the pool; takes 512 MiB for a moment.
DeviceRates measure_rates(ThreadPool& pool);

}  // namespace starling::cpu
