// SPDX-License-Identifier: Apache-2.0
// Times the kernels of rates_kernel.cuh by events and takes the fastest of a few runs: see
// rates_launch.hpp.
#include <algorithm>
#include <limits>

#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/rates_kernel.cuh"
#include "starling/gpu/vectors/rates_launch.hpp"

namespace starling::gpu {
namespace {

constexpr std::uint64_t read_bytes_max = std::uint64_t{2} << 30;  // read in half a millisecond
// Measured on an H200 with blocks of 256 threads and 4 loads in flight: 8 blocks are within 1 % of
// the fastest of 2 to 16 blocks of 256 to 1024 threads. 8 loads in flight are 5 % slower.
constexpr unsigned read_blocks_per_multiprocessor = 8;
constexpr unsigned step_blocks_per_multiprocessor = 8;  // as many as run at once
constexpr unsigned chains = 8;
constexpr unsigned rounds = 8192;  // the kernel takes about a millisecond
constexpr int trials = 12;

/// Returns the seconds that the fastest of `trials` runs takes, measured by events.
template <class Enqueue>
double least_s(const CudaStream& stream, const Enqueue& enqueue) {
  Event begun;
  Event ended;
  double least_ms = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < trials; ++trial) {
    begun.record(stream);
    enqueue();
    check_launch();
    ended.record(stream);
    stream.wait();
    least_ms = std::min(least_ms, ended.ms_since(begun));
  }
  return least_ms / 1e3;
}

}  // namespace

DeviceRates measure_rates(DeviceMemory& memory, std::uint64_t bytes_max, const CudaStream& stream) {
  const std::uint64_t count =
      std::max<std::uint64_t>(std::min(bytes_max, read_bytes_max) / sizeof(float4), block_threads);
  DeviceBuffer<float4> groups(memory, count);
  DeviceBuffer<float> sink(memory, 1);
  const DrainAtEnd drain(stream);
  check(cudaMemsetAsync(groups.data(), 0, count * sizeof(float4), stream.get()));
  const double read_s = least_s(stream, [&] {
    traced_launch(vector_read_rate_kernel,
                  {read_blocks_per_multiprocessor * multiprocessor_count(), block_threads}, stream,
                  groups.data(), count, sink.data());
  });
  const unsigned step_blocks = step_blocks_per_multiprocessor * multiprocessor_count();
  const double step_s = least_s(stream, [&] {
    traced_launch(vector_step_rate_kernel<chains>, {step_blocks, block_threads}, stream, rounds,
                  0x1p-20f, sink.data());
  });
  const auto steps =
      static_cast<double>(std::uint64_t{step_blocks} * block_threads * chains * rounds);
  return {.read_gb_per_s = static_cast<double>(count * sizeof(float4)) / read_s / 1e9,
          .steps_per_s = steps / step_s};
}

}  // namespace starling::gpu
