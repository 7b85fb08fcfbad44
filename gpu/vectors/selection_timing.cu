// SPDX-License-Identifier: Apache-2.0
// Fills a matrix with new numbers for each run, times the selection by events, and compares some
// lists of the last run with sorted rows: see selection_timing.hpp.
#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/launch_grid.cuh"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/device/traced_launch.cuh"
#include "starling/gpu/vectors/methods/komarov_2014/quick_multiselect.hpp"
#include "starling/gpu/vectors/rates_launch.hpp"
#include "starling/gpu/vectors/selection_timing.hpp"

namespace starling::gpu {
namespace {

/// The most memory for partitions. More memory would not help, because selecting from more rows at
/// once than the device has resident blocks is not faster.
constexpr std::uint64_t partition_bytes_max = std::uint64_t{8} << 30;

/// Writes random numbers in [0, 1) to values [count]. Each is a hash of its index and `seed`, by
/// the finalizer of MurmurHash3 (Appleby). Grid of any size.
__global__ void random_values_kernel(float* values, std::uint64_t count, std::uint64_t seed) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t at = thread_index(); at < count; at += step) {
    std::uint64_t hash = at ^ seed << 40;
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdULL;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    values[at] = static_cast<float>(hash >> 40) * 0x1p-24f;
  }
}

void expect_selected(const float* row, std::span<const VectorNeighbor> list,
                     const SelectionTiming& timing, const CudaStream& stream) {
  std::vector<float> values(timing.columns);
  check(cudaMemcpyAsync(values.data(), row, values.size() * sizeof(float), cudaMemcpyDeviceToHost,
                        stream.get()));
  stream.wait();
  std::vector<VectorNeighbor> sorted;
  for (std::uint32_t column = 0; column < timing.columns; ++column)
    sorted.push_back({values[column], column});
  std::ranges::sort(sorted);
  sorted.resize(timing.k, {std::numeric_limits<float>::infinity(), no_row});
  if (!std::ranges::equal(sorted, list))
    throw std::runtime_error("selecting the " + std::to_string(timing.k) + " least of a row of " +
                             std::to_string(timing.columns) + " numbers gave a wrong list");
}

}  // namespace

std::vector<double> time_selection_ms(const SelectionTiming& timing) {
  check(cudaSetDevice(timing.device));
  DeviceMemory memory(std::numeric_limits<std::uint64_t>::max());
  const CudaStream stream;
  const std::uint64_t count = std::uint64_t{timing.rows} * timing.columns;
  DeviceBuffer<float> values(memory, count);
  DeviceBuffer<VectorNeighbor> lists(memory, std::size_t{timing.rows} * timing.k);
  std::vector<VectorNeighbor> found(lists.room());
  QuickMultiselect select(memory, partition_bytes_max);
  RowSelection selection;
  selection.values = values.data();
  selection.stride = timing.columns;
  selection.rows = timing.rows;
  selection.columns = timing.columns;
  selection.k = timing.k;
  selection.lists = lists.data();

  std::vector<double> times_ms;
  Event begun;
  Event ended;
  const DrainAtEnd drain(stream);
  for (int run = -1; run < timing.runs; ++run) {  // run -1 allocates and is not timed
    traced_launch(random_values_kernel, {blocks_for(count, block_threads * 64), block_threads},
                  stream, values.data(), count, static_cast<std::uint64_t>(run + 2));
    check(cudaMemsetAsync(lists.data(), 0x5a, found.size() * sizeof(VectorNeighbor), stream.get()));
    begun.record(stream);
    select.select_async(selection, stream);
    ended.record(stream);
    stream.wait();
    if (run >= 0) times_ms.push_back(ended.ms_since(begun));
  }
  copy_to_host_async(static_cast<const VectorNeighbor*>(lists.data()),
                     std::span<VectorNeighbor>(found), stream);
  stream.wait();
  for (const std::uint32_t row : {0u, timing.rows / 2, timing.rows - 1})
    expect_selected(values.data() + std::size_t{row} * timing.columns,
                    std::span(found).subspan(std::size_t{row} * timing.k, timing.k), timing,
                    stream);
  return times_ms;
}

double measure_read_gb_per_s(int device) {
  check(cudaSetDevice(device));
  DeviceMemory memory(std::numeric_limits<std::uint64_t>::max());
  return measure_rates(memory, std::uint64_t{2} << 30, CudaStream()).read_gb_per_s;
}

}  // namespace starling::gpu
