// Packs the corpus, cuts queries into batches by the memory there is, and chooses the scan: by
// threads, by a stream, or by tiles, before which the filter goes where that pays. See
// device_vectors.hpp.
#include "gpu/vectors/corpus/device_vectors.hpp"

#include <algorithm>
#include <bit>

#include "gpu/vectors/corpus/pack_launch.hpp"
#include "gpu/vectors/scan/few_queries_launch.hpp"
#include "gpu/vectors/scan/filter_launch.hpp"
#include "gpu/vectors/scan/finish_launch.hpp"
#include "gpu/vectors/scan/many_queries_launch.hpp"
#include "gpu/vectors/scan/short_rows_launch.hpp"

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

/// What decides between the direct scans and the filter.
struct FilterChoice {
  /// Fewer leave its tile of queries empty; the direct scans are faster.
  static constexpr std::uint32_t queries_min = 17;
  /// Fewer do where the corpus has so many components that reading the half of its bytes counts:
  /// 16 queries of 3,000,000 x 300 take 1.13 ms, 1.49 directly, of 70,000 x 784 0.22 and 0.14.
  static constexpr std::uint32_t queries_min_of_large = 9;
  static constexpr std::uint64_t components_large = std::uint64_t{1} << 27;
  /// Times the rows of the first phase.
  static constexpr std::uint32_t rows_share = 2;
  /// Candidates of a query that are scored one by one: (times k) + 1 of so many rows. A row costs
  /// about twenty times as much as in a tile.
  static constexpr std::uint32_t kept_k = 4;
  static constexpr std::uint32_t kept_share = 32;
};

bool is_for_filter(const CorpusView& corpus, const DeviceSearch& search) {
  const std::uint64_t components = std::uint64_t{corpus.rows} * corpus.dimension;
  const std::uint32_t queries_min = components >= FilterChoice::components_large
                                        ? FilterChoice::queries_min_of_large
                                        : FilterChoice::queries_min;
  return corpus.has_shadow() && search.filters == nullptr && search.count >= queries_min &&
         corpus.rows >= FilterChoice::rows_share * filter_first_rows(search.k);
}

/// Of a query, with its part of the word of its tile.
std::uint64_t words_for(std::uint32_t slots) {
  return 3 + std::uint64_t{slots};
}

/// Of what a query has beside its keys.
std::uint64_t fixed_bytes(std::uint32_t dimension, std::uint32_t slots) {
  return words_for(slots) * sizeof(std::uint32_t) + group_count_of(dimension) * sizeof(float4);
}

/// Of what a query's shadow has.
std::uint64_t shadow_bytes(std::uint32_t dimension) {
  return shadow_stride(dimension) * sizeof(std::uint16_t) + sizeof(ShadowQuery);
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

std::uint64_t DeviceVectors::bytes_for(std::uint32_t rows, std::uint32_t dimension, Shadow shadow) {
  const std::uint64_t packed = packed_groups(rows, panel_rows, dimension) * sizeof(float4);
  if (shadow == Shadow::none || rows == 0) return packed;
  const std::uint64_t stride = shadow_stride(dimension);
  const std::uint64_t copy =
      shadow == Shadow::halves ? 0 : packed_groups(rows, 1, dimension) * sizeof(float4);
  return packed + copy +
         shadow_tiles(rows) *
             (shadow_tile_rows * (stride * sizeof(std::uint16_t) + sizeof(ShadowNorms)) +
              sizeof(ShadowTile)) +
         stride * sizeof(float) + sizeof(ShadowFrame);
}

std::uint64_t DeviceVectors::packing_bytes_for(std::uint32_t dimension) {
  return std::uint64_t{packing_rows(dimension)} * dimension * sizeof(float);
}

DeviceVectors::DeviceVectors(DeviceMemory& memory, Metric metric, VectorsView rows,
                             VectorRow first_row, Shadow shadow, const Stream& stream)
    : is_dot_(metric == Metric::inner_product),
      rows_(rows.rows()),
      dimension_(rows.dimension),
      first_row_(first_row),
      groups_(memory),
      rows_groups_(memory),
      halves_(memory),
      norms_(memory),
      tiles_(memory),
      center_(memory),
      frame_(memory) {
  if (rows_ == 0) return;
  groups_.reserve(packed_groups(rows_, panel_rows, dimension_));
  if (shadow == Shadow::halves_and_rows)
    rows_groups_ = DeviceBuffer<float4>(memory, packed_groups(rows_, 1, dimension_));
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
    if (shadow == Shadow::halves_and_rows)
      pack_async(piece.data(), count, dimension_, 1,
                 rows_groups_.data() + packed_groups(begin, 1, dimension_), stream);
  }
  if (shadow != Shadow::none) {
    const std::uint32_t stride = shadow_stride(dimension_);
    const std::size_t tiles = shadow_tiles(rows_);
    halves_ = DeviceBuffer<std::uint16_t>(memory, tiles * shadow_tile_rows * stride);
    norms_ = DeviceBuffer<ShadowNorms>(memory, tiles * shadow_tile_rows);
    tiles_ = DeviceBuffer<ShadowTile>(memory, tiles);
    center_ = DeviceBuffer<float4>(memory, stride / 4);
    frame_ = DeviceBuffer<ShadowFrame>(memory, 1);
    make_shadow_async(panels(), rows_, is_dot_, view().shadow, stream);
  }
  stream.wait();
}

CorpusView DeviceVectors::view() const {
  CorpusView view;
  view.is_dot = is_dot_;
  view.rows = rows_;
  view.dimension = dimension_;
  view.first_row = first_row_;
  view.panels = panels();
  view.single_rows = view.panels;
  if (rows_groups_.room() > 0) view.single_rows = {rows_groups_.data(), view.panels.group_count, 1};
  view.shadow = {halves_.data(), norms_.data(), tiles_.data(),
                 center_.data(), frame_.data(), shadow_stride(dimension_)};
  return view;
}

std::uint64_t VectorWorkspace::bytes_min(std::uint32_t dimension) {
  return 2 * query_tile_rows *
         (fixed_bytes(dimension, slots_for(vector_k_max)) +
          (segment_rows_min + vector_k_max) * sizeof(std::uint64_t));
}

VectorWorkspace::Plan VectorWorkspace::plan(const CorpusView& corpus,
                                            const DeviceSearch& search) const {
  Plan plan;
  plan.slots = slots_for(search.k);
  plan.is_filtered = is_for_filter(corpus, search);
  std::uint64_t fixed = fixed_bytes(corpus.dimension, plan.slots);
  // Packed queries fill a tile.
  std::uint64_t slack = query_tile_rows * group_count_of(corpus.dimension) * sizeof(float4);
  if (plan.is_filtered) {
    fixed += shadow_bytes(corpus.dimension);
    slack += shadow_tile_rows * shadow_bytes(corpus.dimension);
    if (bytes_max_ < 2 * slack) plan.is_filtered = false;
  }
  const auto queries_with = [&](std::uint64_t rows) {
    const std::uint64_t queries =
        (bytes_max_ - slack) / (fixed + (rows + search.k) * sizeof(std::uint64_t));
    return std::min({queries, std::uint64_t{search.count}, std::uint64_t{queries_max}});
  };
  const std::uint32_t queries_wanted = std::min(search.count, queries_full);
  plan.rows = corpus.rows;
  while (queries_with(plan.rows) < queries_wanted && plan.rows > segment_rows_min)
    plan.rows = std::max(rounded_down(plan.rows / 2, panel_rows), segment_rows_min);
  plan.queries = static_cast<std::uint32_t>(std::max<std::uint64_t>(queries_with(plan.rows), 1));
  if (plan.queries < search.count && plan.queries > queries_full) {
    // Of about one size: a last one of a few queries would leave the device idle.
    const std::uint32_t most = rounded_down(plan.queries, queries_full);
    const std::uint32_t batches = (search.count - 1) / most + 1;
    const std::uint32_t even = (search.count - 1) / batches + 1;
    plan.queries = std::min(most, rounded_down(even + queries_full - 1, queries_full));
  }
  // The filter wants room for all rows at once.
  if (plan.rows < corpus.rows) plan.is_filtered = false;
  return plan;
}

namespace {

std::uint32_t first_self_of(const DeviceSearch& search) {
  return search.first_self == no_row ? no_self : search.first_self;
}

void search_by_threads_async(const CorpusView& corpus, const DeviceSearch& search,
                             const Stream& stream) {
  ThreadScan scan;
  scan.corpus = corpus.panels;
  scan.row_end = corpus.rows;
  scan.first_row = corpus.first_row;
  scan.queries = search.queries;
  scan.query_count = search.count;
  scan.dimension = corpus.dimension;
  scan.first_self = first_self_of(search);
  scan.k = search.k;
  scan.is_dot = corpus.is_dot;
  scan.lists = search.lists;
  thread_scan_async(scan, stream);
}

}  // namespace

void VectorWorkspace::search_async(const CorpusView& corpus, const DeviceSearch& search,
                                   const Stream& stream) {
  if (search.count == 0) return;
  if (search.filters == nullptr && is_for_threads(search.count, corpus.dimension, search.k))
    return search_by_threads_async(corpus, search, stream);
  const Plan plan = this->plan(corpus, search);
  const std::size_t queries_padded = (plan.queries + query_tile_rows - 1) / query_tile_rows;
  const std::size_t groups = queries_padded * query_tile_rows * group_count_of(corpus.dimension);
  const std::size_t keys = plan.queries * (std::size_t{plan.rows} + search.k);
  const std::size_t words = plan.queries * words_for(plan.slots);
  const std::size_t shadows =
      plan.is_filtered ? shadow_tiles(plan.queries) * shadow_tile_rows : std::size_t{0};
  const std::size_t halves = shadows * shadow_stride(corpus.dimension);
  // What other plans left would add up.
  if (std::max(groups, queries_.room()) * sizeof(float4) +
          std::max(keys, keys_.room()) * sizeof(std::uint64_t) +
          std::max(words, words_.room()) * sizeof(std::uint32_t) +
          std::max(halves, halves_.room()) * sizeof(std::uint16_t) +
          std::max(shadows, shadow_queries_.room()) * sizeof(ShadowQuery) >
      bytes_max_) {
    queries_ = DeviceBuffer<float4>(memory_);
    keys_ = DeviceBuffer<std::uint64_t>(memory_);
    words_ = DeviceBuffer<std::uint32_t>(memory_);
    halves_ = DeviceBuffer<std::uint16_t>(memory_);
    shadow_queries_ = DeviceBuffer<ShadowQuery>(memory_);
  }
  fit(queries_, memory_, groups);
  fit(keys_, memory_, keys);
  fit(words_, memory_, words);
  fit(halves_, memory_, halves);
  fit(shadow_queries_, memory_, shadows);
  for (std::uint32_t begin = 0; begin < search.count; begin += plan.queries) {
    DeviceSearch batch = search;
    batch.count = std::min(plan.queries, search.count - begin);
    batch.queries += std::size_t{begin} * corpus.dimension;
    batch.lists += std::size_t{begin} * search.k;
    if (search.first_self != no_row) batch.first_self += begin;
    if (search.filters != nullptr) batch.filters += begin;
    search_batch_async(corpus, batch, plan, stream);
  }
}

void VectorWorkspace::search_batch_async(const CorpusView& corpus, const DeviceSearch& search,
                                         const Plan& plan, const Stream& stream) {
  const std::uint32_t width = plan.is_filtered ? 0 : stream_width(search.count, corpus.dimension);
  VectorScan scan;
  scan.corpus = corpus.panels;
  scan.row_end = corpus.rows;
  scan.first_row = corpus.first_row;
  scan.queries = {queries_.data(), scan.corpus.group_count, width > 0 ? width : query_tile_rows};
  scan.query_count = search.count;
  scan.first_self = first_self_of(search);
  scan.is_dot = corpus.is_dot;
  scan.filters = search.filters;
  scan.masks = search.masks;
  scan.lists.keys = keys_.data();
  scan.lists.room = std::uint64_t{plan.rows} + search.k;
  scan.lists.counts = words_.data();
  scan.lists.bounds = words_.data() + search.count;
  scan.lists.slots = words_.data() + 2 * std::size_t{search.count};
  scan.lists.slot_count = plan.slots;
  scan.lists.k = search.k;
  begin_scan_async(search.queries, corpus.dimension, queries_.data(), scan, stream);

  if (plan.is_filtered) filter_async(corpus, search, scan, stream);

  const std::uint32_t panels = (corpus.rows + panel_rows - 1) / panel_rows;
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

void VectorWorkspace::filter_async(const CorpusView& corpus, const DeviceSearch& search,
                                   VectorScan& scan, const Stream& stream) {
  FilterScan filter;
  filter.corpus = corpus.shadow;
  filter.rows = corpus.single_rows;
  filter.row_end = scan.row_end;
  filter.first_row = scan.first_row;
  filter.query_halves = halves_.data();
  filter.queries = shadow_queries_.data();
  filter.components = search.queries;
  filter.dimension = corpus.dimension;
  filter.query_count = search.count;
  filter.first_self = scan.first_self;
  filter.k = search.k;
  filter.keys = scan.lists.keys;
  filter.room = scan.lists.room;
  filter.counts = scan.lists.counts;
  filter.undecided = scan.lists.slots + std::size_t{search.count} * scan.lists.slot_count;
  filter.kept_max = FilterChoice::kept_k * search.k + corpus.rows / FilterChoice::kept_share;
  filter_scan_async(filter, scan.is_dot, stream);
  // What the filter leaves undecided goes through the direct scan.
  scan.gate = filter.undecided;
}

}  // namespace starling::gpu
