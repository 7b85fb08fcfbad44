// SPDX-License-Identifier: Apache-2.0
// Divides queries into batches that fit the memory, and chooses the scan: for short rows, for few
// queries, or for many queries. In the last two cases a filter runs first if that is faster. See
// workspace.hpp.
#include "starling/gpu/vectors/scan/workspace.hpp"

#include <algorithm>
#include <bit>

#include "starling/gpu/vectors/corpus/pack_launch.hpp"
#include "starling/gpu/vectors/scan/few_filter_launch.hpp"
#include "starling/gpu/vectors/scan/few_queries_launch.hpp"
#include "starling/gpu/vectors/scan/filter_launch.hpp"
#include "starling/gpu/vectors/scan/finish_launch.hpp"
#include "starling/gpu/vectors/scan/many_queries_launch.hpp"
#include "starling/gpu/vectors/scan/short_rows_launch.hpp"

namespace starling::gpu {
namespace {

/// Returns the number of slots of a query. With more slots, bounds are lower but take longer to
/// compute.
std::uint32_t slots_for(std::uint32_t k) {
  return std::max(std::bit_ceil(2 * k), panel_rows);
}

/// The most queries of a batch. Larger batches are not faster.
constexpr std::uint32_t queries_max = std::uint32_t{1} << 16;
/// A tile scan of fewer queries leaves part of its tile empty.
constexpr std::uint32_t queries_full = 128;
/// The least rows of a segment. With fewer rows part of the device would be idle.
constexpr std::uint32_t segment_rows_min = std::uint32_t{1} << 13;

/// The numbers that decide between the direct scans and the filters. Times were measured on an
/// H200.
struct FilterChoice {
  /// With fewer queries the tile of the filter for many queries is mostly empty.
  static constexpr std::uint32_t queries_min = 17;
  /// The corpus must have at least rows_share times the rows of the first phase of the filter for
  /// many queries.
  static constexpr std::uint32_t rows_share = 2;
  /// The filter for few queries needs at least this many components in the corpus. For one query on
  /// 262,144 x 64 it takes 0.049 ms and the direct scan 0.042 ms; on 300,000 x 128 they take 0.064
  /// ms and 0.068 ms.
  static constexpr std::uint64_t few_components_min = std::uint64_t{1} << 25;
  /// The shadow of shorter rows is hardly shorter than the rows, because it is padded.
  static constexpr std::uint32_t few_dimension_min = 24;
  /// Searches of few queries after which the corpus gets a shadow. Making the shadow takes as much
  /// time as the shadow saves in 5 to 12 of these searches.
  static constexpr std::uint32_t few_searches = 4;
  /// If a query has more than kept_k * k + rows / kept_share candidates, its tile is undecided. The
  /// candidates are scored one by one, and scoring one candidate costs about twenty times as much
  /// as scoring one row in a tile.
  static constexpr std::uint32_t kept_k = 4;
  static constexpr std::uint32_t kept_share = 32;
};

/// Enqueues the arrival of all rows, for searches that cannot begin with a part of the rows.
void await_all(const VectorWorkspace::Arrival& arrival, std::uint32_t rows) {
  while (arrival && arrival() < rows) continue;
}

/// Returns how many 32-bit words a query takes: count, bound, slots, and one more word, which is
/// enough for FilterScan::undecided.
std::uint64_t words_for(std::uint32_t slots) {
  return 3 + std::uint64_t{slots};
}

/// Returns the bytes of a query without its keys: its words and its packed components.
std::uint64_t fixed_bytes(std::uint32_t dimension, std::uint32_t slots) {
  return words_for(slots) * sizeof(std::uint32_t) + group_count_of(dimension) * sizeof(float4);
}

/// Returns the bytes of a query's shadow: halves, padded to whole slices, and norms.
std::uint64_t shadow_bytes(std::uint32_t dimension) {
  return shadow_stride(dimension) * sizeof(std::uint16_t) + sizeof(ShadowQuery);
}

/// Makes room for exactly `count` elements, since a plan counts every byte. A buffer that grows
/// loses its contents.
template <class T>
void fit(DeviceBuffer<T>& buffer, DeviceMemory& memory, std::size_t count) {
  if (count <= buffer.room()) return;
  buffer = DeviceBuffer<T>(memory);
  buffer = DeviceBuffer<T>(memory, count);
}

std::uint32_t rounded_down(std::uint64_t value, std::uint32_t unit) {
  return static_cast<std::uint32_t>(value / unit * unit);
}

bool is_by_threads(const CorpusView& corpus, const DeviceSearch& search) {
  return search.filters == nullptr && has_filter(corpus.recipe) &&
         is_for_threads(search.count, corpus.dimension, search.k);
}

void search_by_threads_async(const CorpusView& corpus, const DeviceSearch& search,
                             const CudaStream& stream) {
  ThreadScan scan;
  scan.corpus = corpus.panels;
  scan.row_end = corpus.rows;
  scan.first_row = corpus.first_row;
  scan.queries = search.queries;
  scan.query_count = search.count;
  scan.dimension = corpus.dimension;
  scan.first_self = first_self_of(search.first_self);
  scan.k = search.k;
  scan.is_dot = corpus.recipe == Recipe::product;
  scan.lists = search.lists;
  thread_scan_async(scan, stream);
}

}  // namespace

VectorWorkspace::Filter VectorWorkspace::filter_for(const CorpusView& corpus,
                                                    const DeviceSearch& search) const {
  using Choice = FilterChoice;
  if (filter_.use == FilterUse::never || search.filters != nullptr || !has_filter(corpus.recipe))
    return Filter::none;
  const std::uint64_t components = std::uint64_t{corpus.rows} * corpus.dimension;
  const bool is_worth_few =
      filter_.use == FilterUse::always ||
      (corpus.dimension >= Choice::few_dimension_min && components >= Choice::few_components_min);
  if (is_worth_few && is_for_few_filter(search.count, corpus.dimension)) return Filter::few;
  return search.count >= Choice::queries_min &&
                 corpus.rows >= Choice::rows_share * filter_first_rows(search.k)
             ? Filter::many
             : Filter::none;
}

std::optional<std::uint32_t> VectorWorkspace::searches_before_shadow(
    const CorpusView& corpus, const DeviceSearch& search) const {
  const Filter filter = filter_for(corpus, search);
  if (filter == Filter::none) return std::nullopt;
  return filter == Filter::few && filter_.use != FilterUse::always ? FilterChoice::few_searches : 0;
}

std::uint64_t VectorWorkspace::bytes_min(std::uint32_t dimension) {
  return 2 * query_tile_rows *
         (fixed_bytes(dimension, slots_for(vector_k_max)) +
          (segment_rows_min + vector_k_max) * sizeof(std::uint64_t));
}

VectorWorkspace::Plan VectorWorkspace::plan(const CorpusView& corpus, const DeviceSearch& search,
                                            bool has_shadow) const {
  Plan plan;
  plan.slots = slots_for(search.k);
  if (has_shadow) plan.filter = filter_for(corpus, search);
  std::uint64_t fixed = fixed_bytes(corpus.dimension, plan.slots);
  // Packed queries are padded to a whole tile.
  std::uint64_t slack = query_tile_rows * group_count_of(corpus.dimension) * sizeof(float4);
  if (plan.filter != Filter::none) {
    fixed += shadow_bytes(corpus.dimension);
    if (plan.filter == Filter::few) fixed += words_for(plan.slots) * sizeof(std::uint32_t);
    slack += shadow_tile_rows * shadow_bytes(corpus.dimension);
    if (bytes_max_ < 2 * slack) plan.filter = Filter::none;
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
  // The filter needs room for all rows at once.
  if (plan.rows < corpus.rows) plan.filter = Filter::none;
  if (plan.queries < search.count && plan.queries > queries_full && plan.filter == Filter::many) {
    plan.queries = filter_batch_tiles(plan.queries / filter_queries) * filter_queries;
  } else if (plan.queries < search.count && plan.queries > queries_full) {
    // Makes batches of about equal size, because a small last batch would leave the device idle.
    const std::uint32_t most = rounded_down(plan.queries, queries_full);
    const std::uint32_t batches = (search.count - 1) / most + 1;
    const std::uint32_t even = (search.count - 1) / batches + 1;
    plan.queries = std::min(most, rounded_down(even + queries_full - 1, queries_full));
  }
  return plan;
}

std::uint32_t VectorWorkspace::batch_queries(const CorpusView& corpus, const DeviceSearch& search,
                                             bool has_shadow) const {
  if (is_by_threads(corpus, search)) return search.count;
  return plan(corpus, search, has_shadow).queries;
}

void VectorWorkspace::search_async(const CorpusView& corpus, const DeviceSearch& search,
                                   const CudaStream& stream, const Arrival& arrival) {
  if (search.count == 0) return await_all(arrival, corpus.rows);
  if (is_by_threads(corpus, search)) {
    await_all(arrival, corpus.rows);
    return search_by_threads_async(corpus, search, stream);
  }
  const Plan plan = this->plan(corpus, search, corpus.has_shadow());
  const std::size_t queries_padded = (plan.queries + query_tile_rows - 1) / query_tile_rows;
  const std::size_t groups = queries_padded * query_tile_rows * group_count_of(corpus.dimension);
  const std::size_t keys = plan.queries * (std::size_t{plan.rows} + search.k);
  const std::size_t words =
      plan.queries * words_for(plan.slots) * (plan.filter == Filter::few ? 2 : 1);
  const std::size_t shadows =
      plan.filter != Filter::none ? shadow_tiles(plan.queries) * shadow_tile_rows : 0;
  const std::size_t halves = shadows * shadow_stride(corpus.dimension);
  // Frees all buffers if those of earlier plans and of this plan together could exceed bytes_max_.
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
    // Rows arrive during the first batch, so later batches find all rows.
    search_batch_async(corpus, batch, plan, stream, begin == 0 ? arrival : Arrival());
  }
}

void VectorWorkspace::search_batch_async(const CorpusView& corpus, const DeviceSearch& search,
                                         const Plan& plan, const CudaStream& stream,
                                         const Arrival& arrival) {
  const std::uint32_t width =
      plan.filter != Filter::none
          ? 0
          : few_queries_width(corpus.recipe, search.count, corpus.dimension);
  VectorScan scan;
  scan.corpus = corpus.panels;
  scan.row_end = corpus.rows;
  scan.first_row = corpus.first_row;
  scan.queries = {queries_.data(), scan.corpus.group_count, width > 0 ? width : query_tile_rows};
  scan.query_count = search.count;
  scan.first_self = first_self_of(search.first_self);
  scan.recipe = corpus.recipe;
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

  if (plan.filter != Filter::none) filter_async(corpus, search, plan.filter, scan, stream);

  const auto panels_of = [](std::uint32_t rows) { return (rows + panel_rows - 1) / panel_rows; };
  const std::uint32_t segment = std::max(panels_of(plan.rows), 1u);
  std::uint32_t arrived = arrival ? 0 : panels_of(corpus.rows);
  std::uint32_t room = segment;  // number of further panels that the lists have room for
  for (std::uint32_t begin = 0; begin < panels_of(corpus.rows); begin += scan.panel_count) {
    if (begin == arrived) arrived = panels_of(arrival());
    if (room == 0) {
      finish_lists_async(scan.lists, search.count, nullptr, stream);
      room = segment;
    }
    scan.panel_begin = begin;
    scan.panel_count = std::min(arrived - begin, room);
    room -= scan.panel_count;
    if (width > 0)
      few_queries_scan_async(scan, stream);
    else
      tile_scan_async(scan, stream);
  }
  finish_lists_async(scan.lists, search.count, search.lists, stream);
}

void VectorWorkspace::filter_async(const CorpusView& corpus, const DeviceSearch& search,
                                   Filter chosen, VectorScan& scan, const CudaStream& stream) {
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
  const bool is_dot = scan.recipe == Recipe::product;
  if (chosen == Filter::few) {
    FewFilterScan few{filter, scan.lists};
    few.lists.counts = filter.undecided + search.count;
    few.lists.bounds = few.lists.counts + search.count;
    few.lists.slots = few.lists.bounds + search.count;
    few_filter_scan_async(few, is_dot, stream);
  } else {
    filter_scan_async(filter, is_dot, filter_.may_multiply_in_groups, stream);
  }
  // Queries that the filter leaves undecided go through the direct scan.
  scan.gate = filter.undecided;
}

}  // namespace starling::gpu
