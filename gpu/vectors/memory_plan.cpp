// SPDX-License-Identifier: Apache-2.0
// Computes the shares of the device memory, each between its least and its largest size: see
// memory_plan.hpp.
#include "starling/gpu/vectors/memory_plan.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "starling/gpu/vectors/corpus/row_upload.hpp"
#include "starling/gpu/vectors/scan/workspace.hpp"

namespace starling::gpu {
namespace {

/// The most memory of a workspace. It is enough for batches that keep the device busy.
constexpr std::uint64_t workspace_bytes_max = std::uint64_t{4} << 30;
/// The most memory of queries and lists on the device. A search with more is done in pieces.
constexpr std::uint64_t transfer_bytes_max = std::uint64_t{256} << 20;

/// Returns the least memory that queries and their lists get.
std::uint64_t transfer_bytes_min() {
  return query_bytes(dimension_max, vector_k_max) * query_tile_rows;
}

/// Returns the least memory that is needed in addition to the rows.
std::uint64_t bytes_beside_rows(std::uint32_t dimension) {
  return RowUpload::bytes_for(dimension) + transfer_bytes_min() +
         VectorWorkspace::bytes_min(dimension);
}

}  // namespace

std::uint64_t query_bytes(std::uint32_t dimension, std::uint32_t k) {
  return std::uint64_t{dimension} * sizeof(float) + std::uint64_t{k} * sizeof(VectorNeighbor);
}

bool fits_memory(VectorsView corpus, std::uint64_t bytes) {
  return DeviceVectors::bytes_for(corpus.rows(), corpus.dimension, Shadow::none) +
             bytes_beside_rows(corpus.dimension) <=
         bytes;
}

MemoryPlan plan_memory(Metric metric, VectorsView corpus, const FilterOptions& filter,
                       std::uint64_t bytes) {
  MemoryPlan plan;
  const std::uint64_t packing = RowUpload::bytes_for(corpus.dimension);
  const std::uint64_t least = bytes_beside_rows(corpus.dimension);
  plan.part_rows = std::max(corpus.rows(), 1u);
  std::uint64_t part_bytes =
      DeviceVectors::bytes_for(corpus.rows(), corpus.dimension, Shadow::none);
  for (const Shadow shadow : {Shadow::halves, Shadow::halves_and_rows}) {
    if (filter.use == FilterUse::never || !has_filter(recipe_of(metric))) break;
    const std::uint64_t more = DeviceVectors::bytes_for(corpus.rows(), corpus.dimension, shadow);
    if (more + least > bytes) break;
    plan.shadow = shadow;
    part_bytes = more;
  }
  if (!fits_memory(corpus, bytes)) {
    const std::uint64_t panel_bytes =
        DeviceVectors::bytes_for(panel_rows, corpus.dimension, Shadow::none);
    const std::uint64_t room = bytes > least ? (bytes - least) / 2 : 0;
    if (room < panel_bytes)
      throw std::runtime_error(
          "the GPU has too little memory for vectors: " + std::to_string(least + 2 * panel_bytes) +
          " bytes are needed, " + std::to_string(bytes) + " may be used");
    plan.part_rows = static_cast<std::uint32_t>(room / panel_bytes) * panel_rows;
    part_bytes = DeviceVectors::bytes_for(plan.part_rows, corpus.dimension, Shadow::none);
  }
  const std::uint64_t left = bytes - part_bytes - packing;
  plan.transfer_bytes = std::clamp(left / 4, transfer_bytes_min(), transfer_bytes_max);
  plan.workspace_bytes = std::min(left - plan.transfer_bytes, workspace_bytes_max);
  return plan;
}

}  // namespace starling::gpu
