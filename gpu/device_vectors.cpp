#include "gpu/device_vectors.hpp"

#include <algorithm>
#include <bit>

#include "gpu/vector_finish_launch.hpp"
#include "gpu/vector_pack_launch.hpp"
#include "gpu/vector_stream_launch.hpp"
#include "gpu/vector_tile_launch.hpp"

namespace starling::gpu {
namespace {

/// Rows go to the device and are packed in pieces of about so many bytes.
constexpr std::size_t packing_bytes = std::size_t{16} << 20;

std::uint32_t packing_rows(std::uint32_t dimension) {
  const std::size_t rows = packing_bytes / (dimension * sizeof(float));
  return static_cast<std::uint32_t>(std::max<std::size_t>(rows / panel_rows, 1)) * panel_rows;
}

/// Slots of a query: more make bounds closer and dearer.
std::uint32_t slots_for(std::uint32_t k) {
  return std::max(std::bit_ceil(2 * k), panel_rows);
}

/// Queries of a batch beyond which nothing is gained.
constexpr std::uint32_t queries_max = std::uint32_t{1} << 16;
/// A tile scan of fewer leaves its tile empty.
constexpr std::uint32_t queries_full = 128;
/// Fewer rows in a segment leave the device idle.
constexpr std::uint32_t segment_rows_min = std::uint32_t{1} << 13;

std::uint64_t words_for(std::uint32_t slots) {
  return 2 + std::uint64_t{slots};
}

/// Of what a query has beside its keys.
std::uint64_t fixed_bytes(std::uint32_t dimension, std::uint32_t slots) {
  return words_for(slots) * sizeof(std::uint32_t) + group_count_of(dimension) * sizeof(float4);
}

/// Room for just so many, since a plan counts every byte; what was in it is lost.
template <class T>
void fit(DeviceBuffer<T>& buffer, DeviceMemory& memory, std::size_t count) {
  if (count <= buffer.room()) return;
  buffer = DeviceBuffer<T>(memory);
  buffer = DeviceBuffer<T>(memory, count);
}

std::uint32_t rounded_down(std::uint64_t value, std::uint32_t unit) {
  return static_cast<std::uint32_t>(value / unit * unit);
}

}  // namespace

std::uint64_t DeviceVectors::bytes_for(std::uint32_t rows, std::uint32_t dimension) {
  return packed_groups(rows, panel_rows, dimension) * sizeof(float4);
}

std::uint64_t DeviceVectors::packing_bytes_for(std::uint32_t dimension) {
  return std::uint64_t{packing_rows(dimension)} * dimension * sizeof(float);
}

DeviceVectors::DeviceVectors(DeviceMemory& memory, Metric metric, VectorsView rows,
                             VectorRow first_row, const Stream& stream)
    : is_dot_(metric == Metric::inner_product),
      rows_(rows.rows()),
      dimension_(rows.dimension),
      first_row_(first_row),
      groups_(memory) {
  if (rows_ == 0) return;
  groups_.reserve(packed_groups(rows_, panel_rows, dimension_));
  const std::uint32_t piece_rows = std::min(packing_rows(dimension_), rows_);
  DeviceBuffer<float> piece(memory, std::size_t{piece_rows} * dimension_);
  const DrainAtEnd drain(stream);
  for (std::uint32_t begin = 0; begin < rows_; begin += piece_rows) {
    const std::uint32_t count = std::min(piece_rows, rows_ - begin);
    copy_to_device_async(
        rows.components.subspan(std::size_t{begin} * dimension_, std::size_t{count} * dimension_),
        piece, stream);
    pack_async(piece.data(), count, dimension_, panel_rows,
               groups_.data() + packed_groups(begin, panel_rows, dimension_), stream);
  }
  stream.wait();
}

std::uint64_t VectorWorkspace::bytes_min(std::uint32_t dimension) {
  return 2 * query_tile_rows *
         (fixed_bytes(dimension, slots_for(vector_k_max)) +
          (segment_rows_min + vector_k_max) * sizeof(std::uint64_t));
}

VectorWorkspace::Plan VectorWorkspace::plan(const DeviceVectors& corpus,
                                            const DeviceSearch& search) const {
  Plan plan;
  plan.slots = slots_for(search.k);
  const std::uint64_t fixed = fixed_bytes(corpus.dimension(), plan.slots);
  // Packed queries fill a tile.
  const std::uint64_t slack = query_tile_rows * group_count_of(corpus.dimension()) * sizeof(float4);
  const auto queries_with = [&](std::uint64_t rows) {
    const std::uint64_t queries =
        (bytes_max_ - slack) / (fixed + (rows + search.k) * sizeof(std::uint64_t));
    return std::min({queries, std::uint64_t{search.count}, std::uint64_t{queries_max}});
  };
  const std::uint32_t queries_wanted = std::min(search.count, queries_full);
  plan.rows = corpus.rows();
  while (queries_with(plan.rows) < queries_wanted && plan.rows > segment_rows_min)
    plan.rows = std::max(rounded_down(plan.rows / 2, panel_rows), segment_rows_min);
  plan.queries = static_cast<std::uint32_t>(std::max<std::uint64_t>(queries_with(plan.rows), 1));
  if (plan.queries < search.count && plan.queries > queries_full)
    plan.queries = rounded_down(plan.queries, queries_full);
  return plan;
}

void VectorWorkspace::search_async(const DeviceVectors& corpus, const DeviceSearch& search,
                                   const Stream& stream) {
  if (search.count == 0) return;
  const Plan plan = this->plan(corpus, search);
  const std::size_t queries_padded = (plan.queries + query_tile_rows - 1) / query_tile_rows;
  const std::size_t groups = queries_padded * query_tile_rows * group_count_of(corpus.dimension());
  const std::size_t keys = plan.queries * (std::size_t{plan.rows} + search.k);
  const std::size_t words = plan.queries * words_for(plan.slots);
  // What other plans left would add up.
  if (std::max(groups, queries_.room()) * sizeof(float4) +
          std::max(keys, keys_.room()) * sizeof(std::uint64_t) +
          std::max(words, words_.room()) * sizeof(std::uint32_t) >
      bytes_max_) {
    queries_ = DeviceBuffer<float4>(memory_);
    keys_ = DeviceBuffer<std::uint64_t>(memory_);
    words_ = DeviceBuffer<std::uint32_t>(memory_);
  }
  fit(queries_, memory_, groups);
  fit(keys_, memory_, keys);
  fit(words_, memory_, words);
  for (std::uint32_t begin = 0; begin < search.count; begin += plan.queries) {
    DeviceSearch batch = search;
    batch.count = std::min(plan.queries, search.count - begin);
    batch.queries += std::size_t{begin} * corpus.dimension();
    batch.lists += std::size_t{begin} * search.k;
    if (search.first_self != no_row) batch.first_self += begin;
    search_batch_async(corpus, batch, plan, stream);
  }
}

void VectorWorkspace::search_batch_async(const DeviceVectors& corpus, const DeviceSearch& search,
                                         const Plan& plan, const Stream& stream) {
  const std::uint32_t width = stream_width(search.count, corpus.dimension());
  VectorScan scan;
  scan.corpus = corpus.panels();
  scan.row_end = corpus.rows();
  scan.first_row = corpus.first_row();
  scan.queries = {queries_.data(), scan.corpus.group_count, width > 0 ? width : query_tile_rows};
  scan.query_count = search.count;
  scan.first_self = search.first_self == no_row ? no_self : search.first_self;
  scan.is_dot = corpus.is_dot();
  scan.lists.keys = keys_.data();
  scan.lists.room = std::uint64_t{plan.rows} + search.k;
  scan.lists.counts = words_.data();
  scan.lists.bounds = words_.data() + search.count;
  scan.lists.slots = words_.data() + 2 * std::size_t{search.count};
  scan.lists.slot_count = plan.slots;
  scan.lists.k = search.k;
  begin_scan_async(search.queries, corpus.dimension(), queries_.data(), scan, stream);

  const std::uint32_t panels = (corpus.rows() + panel_rows - 1) / panel_rows;
  const std::uint32_t panels_max = std::max((plan.rows + panel_rows - 1) / panel_rows, 1u);
  for (std::uint32_t begin = 0; begin < panels; begin += panels_max) {
    if (begin > 0) finish_lists_async(scan.lists, search.count, nullptr, stream);
    scan.panel_begin = begin;
    scan.panel_count = std::min(panels_max, panels - begin);
    if (width > 0)
      stream_scan_async(scan, stream);
    else
      tile_scan_async(scan, stream);
  }
  finish_lists_async(scan.lists, search.count, search.lists, stream);
}

}  // namespace starling::gpu
