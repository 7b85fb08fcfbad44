// SPDX-License-Identifier: Apache-2.0
// Searches the corpus as a whole or part by part, and takes the queries in pieces. Makes a
// published method when a search asks for it: see device_searcher.hpp.
#include "starling/gpu/vectors/device_searcher.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "starling/gpu/vectors/corpus/lists_launch.hpp"
#include "starling/gpu/vectors/corpus/pack_launch.hpp"
#include "starling/gpu/vectors/exchange/host_merge.hpp"
#include "starling/gpu/vectors/rates_launch.hpp"
#include "starling/knn/base/usage.hpp"

namespace starling::gpu {
namespace {

/// Free device memory that is left to other users of the device and to fragmentation.
constexpr std::uint64_t bytes_spared = std::uint64_t{512} << 20;
/// The most memory of a published method. A method may need all queries at once to keep the device
/// busy, because each query has only one thread or one block. The matrix of 163,840 rows and 40,960
/// queries takes 27 GB.
constexpr std::uint64_t method_bytes_max = std::uint64_t{32} << 30;
/// The least size of a piece of queries, if there are several pieces. Copying it takes 75 us at 55
/// GB/s.
constexpr std::uint64_t query_piece_bytes_min = std::uint64_t{4} << 20;

/// Searches of at most this many queries begin while the corpus is on its way to the device.
constexpr std::uint32_t arriving_queries_max = 64;

struct NamedMethod {
  SearchMethod name;
  std::unique_ptr<VectorMethod> (*make)(DeviceMemory& memory, std::uint64_t bytes_max);
};
constexpr NamedMethod named_methods[] = {
    {SearchMethod::kato, &make_kato},
    {SearchMethod::cuknn, &make_cuknn},
    {SearchMethod::iterative, &make_iterative},
    {SearchMethod::insertion, &make_insertion},
    {SearchMethod::threshold, &make_threshold},
    {SearchMethod::multiselect, &make_multiselect},
    {SearchMethod::sbq, &make_sbq},
};

const NamedMethod* find_method(SearchMethod name) {
  const NamedMethod* found = std::ranges::find(named_methods, name, &NamedMethod::name);
  return found == std::end(named_methods) ? nullptr : found;
}

std::uint64_t bytes_limit(const VectorSearcherOptions& options) {
  const std::uint64_t wanted = options.memory_bytes_max;
  check(cudaSetDevice(options.device));
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return std::min<std::uint64_t>(wanted, free > bytes_spared ? free - bytes_spared : free / 2);
}

}  // namespace

DeviceSearcher::DeviceSearcher(const VectorSearcherOptions& options)
    : device_(options.device),
      filter_(options.filter),
      bytes_max_(bytes_limit(options)),
      memory_(bytes_max_),
      upload_(memory_),
      pipeline_(memory_),
      others_(memory_) {}

bool DeviceSearcher::supports(SearchMethod method) const {
  return method == SearchMethod::automatic || find_method(method) != nullptr;
}

void DeviceSearcher::set_rows(Metric metric, VectorsView rows, VectorRow first_row) {
  begin_rows(metric, rows, first_row);
  if (resident_) upload_rows();
  has_corpus_ = true;
}

/// Plans and takes the memory for `rows`. Memory of an earlier corpus of the same shape is kept. If
/// the device has no room for all rows, keeps them on the host.
void DeviceSearcher::begin_rows(Metric metric, VectorsView rows, VectorRow first_row) {
  check(cudaSetDevice(device_));
  has_corpus_ = false;
  searches_for_shadow_ = 0;
  kept_ = {};
  const MemoryPlan before = std::exchange(plan_, plan_memory(metric, rows, filter_, bytes_max_));
  const bool has_same_shape = resident_ && plan_.shadow == before.shadow &&
                              plan_.workspace_bytes == before.workspace_bytes &&
                              resident_->has_room_for(rows.rows(), rows.dimension);
  if (!has_same_shape) {
    method_.reset();
    resident_.reset();
    workspace_.reset();
    free_transfer_room();
  } else if (method_) {
    method_->holds_all = false;
  }
  metric_ = metric;
  dimension_ = rows.dimension;
  rows_ = rows.rows();
  first_row_ = first_row;
  if (has_same_shape)
    resident_->restart(metric, first_row);
  else if (plan_.part_rows >= rows_)
    resident_.emplace(memory_, metric, rows_, dimension_, first_row);
  else
    kept_.assign(rows.components.begin(), rows.components.end());
  if (!workspace_) workspace_.emplace(memory_, plan_.workspace_bytes, filter_);
  // start() allocates the slots of the upload. Call it before take_method(), which takes the memory
  // that is left.
  upload_.start(resident_ ? rows : kept_rows(0, rows_));
}

/// Brings all rows to the resident corpus and waits for them.
void DeviceSearcher::upload_rows() {
  const DrainAtEnd drain(stream_);
  const DrainAtEnd drain_copies(upload_.copies());
  while (!upload_.is_done()) resident_->pack_next_async(upload_, stream_);
  stream_.wait();
}

DeviceRates DeviceSearcher::rates() {
  check(cudaSetDevice(device_));
  return measure_rates(memory_, (bytes_max_ - memory_.bytes_used()) / 2, stream_);
}

void DeviceSearcher::search(const VectorSearch& search, std::span<VectorNeighbor> lists) {
  check(cudaSetDevice(device_));
  device_ms_ = 0;
  check_search(search, dimension_, first_row_ + rows_, lists.size());
  prepare(search.method);
  if (search.queries.rows() == 0) return;
  if (rows_ == 0) {
    std::fill(lists.begin(), lists.end(),
              VectorNeighbor{std::numeric_limits<float>::infinity(), no_row});
    return;
  }
  const bool is_graph = search.first_self == first_row_ && search.queries.rows() == rows_;
  if (const std::uint32_t side = is_graph ? graph_side(search.k, 1) : 0)
    return search_grids(side, GraphTiles(search, lists));
  for_each_part([&](const SearchAsync& search_async, const Part& part) {
    search_part(search_async, search, lists, part);
  });
}

void DeviceSearcher::search_graph(const GraphSearch& graph, const TakeLists& take) {
  check(cudaSetDevice(device_));
  device_ms_ = 0;
  check_graph(graph, dimension_);
  check_usage(graph.rows.rows() == rows_, "search_graph: there are ", graph.rows.rows(),
              " rows; the rows of a graph are those of the corpus, which has ", rows_);
  prepare(graph.method);
  if (const std::uint32_t side = graph_side(graph.k, 1))
    search_grids(side, GraphTiles(graph, take));
  else if (resident_ && rows_ > 0 && (!method_ || method_->part_rows == rows_))
    search_tiles(graph, take);
  else
    device_ms_ = search_graph_by_searches(*this, graph, take);
}

/// Each piece of the search is a tile. While the device searches a tile, `take` gets the previous
/// tile.
void DeviceSearcher::search_tiles(const GraphSearch& graph, const TakeLists& take) {
  VectorSearch search;
  search.queries = graph.rows;
  search.k = graph.k;
  search.first_self = first_row_;
  search.method = graph.method;
  const std::uint32_t tile_rows = std::min(piece_queries(search), graph.tile_rows_max);
  make_piece_room(tile_rows, rows_, search.k);
  tile_.reserve(std::size_t{tile_rows} * search.k);
  const auto tile_of = [&](Piece piece) {
    return std::span(tile_.data(), std::size_t{piece.count} * search.k);
  };
  for_each_part([&](const SearchAsync& search_async, const Part& /*the only one*/) {
    PieceSteps steps = steps_of(search, search_async);
    steps.fetch = [&](Piece piece, const VectorNeighbor* lists, const CudaStream& stream) {
      copy_to_host_async(lists, tile_of(piece), stream);
    };
    steps.done = [&](Piece piece) {
      if (graph.on_progress) graph.on_progress(std::uint64_t{piece.begin} + piece.count);
      take(piece.begin, tile_of(piece));
    };
    device_ms_ += pipeline_.run(rows_, tile_rows, stream_, steps);
  });
}

/// The queries are the corpus on the device, and the method keeps the lists that it finds. So the
/// graph takes only one tile of lists in addition.
void DeviceSearcher::search_grids(std::uint32_t side, const GraphTiles& tiles) {
  const std::uint64_t list_bytes = std::uint64_t{tiles.k()} * sizeof(VectorNeighbor);
  const std::uint32_t tile_rows =
      tiles.tile_rows(static_cast<std::uint32_t>(plan_.transfer_bytes / list_bytes));
  make_transfer_room(0, std::size_t{tile_rows} * tiles.k(), 1, 0);
  find_graph(tiles.k(), {0, 1, side});
  tiles.for_each(
      tile_rows, [&](std::uint32_t first, std::uint32_t count, std::span<VectorNeighbor> lists) {
        run_timed(
            [&] { method_->method->write_graph_async(first, count, pipeline_.lists(), stream_); });
        const DrainAtEnd drain(stream_);
        copy_to_host_async(static_cast<const VectorNeighbor*>(pipeline_.lists()), lists, stream_);
        stream_.wait();
      });
}

/// Only a search of few queries begins before all rows have arrived. A search of more queries takes
/// longer than the upload of the rows, and would be slower on one piece of rows after another.
void DeviceSearcher::set_corpus_and_search(Metric metric, VectorsView corpus,
                                           const VectorSearch& search,
                                           std::span<VectorNeighbor> lists) {
  check_search(search, corpus.dimension, corpus.rows(), lists.size());
  begin_rows(metric, corpus, 0);
  const std::uint32_t count = search.queries.rows();
  const std::uint64_t transfer = count * (query_bytes(dimension_, search.k) +
                                          search.k * std::uint64_t{sizeof(VectorNeighbor)});
  if (!resident_ || rows_ == 0 || count == 0 || count > arriving_queries_max ||
      transfer > plan_.transfer_bytes || !supports(search.method)) {
    if (resident_) upload_rows();
    has_corpus_ = true;
    return this->search(search, lists);
  }
  has_corpus_ = true;
  try {
    prepare(search.method);
    make_transfer_room(std::size_t{count} * dimension_, lists.size(), 1, lists.size());
    const DrainAtEnd drain(stream_);
    const DrainAtEnd drain_copies(upload_.copies());
    const DeviceSearch on_device = copy_queries_async(search);
    started_.record(stream_);
    search_arriving_async(on_device);
    finished_.record(stream_);
    copy_to_host_async(static_cast<const VectorNeighbor*>(pipeline_.lists()), lists, stream_);
    stream_.wait();
    device_ms_ = finished_.ms_since(started_);
  } catch (...) {
    has_corpus_ = false;
    throw;
  }
  if (search.on_progress) search.on_progress(count);
}

/// Enqueues a search of the resident corpus while `upload_` brings the rows of the corpus.
void DeviceSearcher::search_arriving_async(const DeviceSearch& search) {
  const auto arrival = arrival_in(*resident_);
  if (method_ && method_->part_rows == rows_) return search_arriving_by_method_async(search);
  const bool needs_shadow = plan_.shadow != Shadow::none &&
                            workspace_->searches_before_shadow(resident_->view(), search) == 0;
  if (!method_ && !needs_shadow)
    return workspace_->search_async(resident_->view(), search, stream_, arrival);
  while (!upload_.is_done()) arrival();
  for_each_part([&](const SearchAsync& search_async, const Part& part) {
    DeviceSearch of_part = search;
    if (part.number > 0) of_part.lists = others_.data();
    search_async(of_part);
    if (part.number > 0)
      merge_lists_async(search.lists, others_.data(), search.count, search.k, stream_);
  });
}

/// Lets the method search quarters of the rows, each as soon as it has arrived, and merges the
/// lists of the quarters.
void DeviceSearcher::search_arriving_by_method_async(DeviceSearch search) {
  constexpr std::uint32_t quarters = 4;
  const auto arrival = arrival_in(*resident_);
  VectorNeighbor* const lists = search.lists;
  const std::uint32_t rows_each = (rows_ - 1) / quarters + 1;
  std::uint32_t arrived = 0;
  for (std::uint32_t begin = 0; begin < rows_; begin += rows_each) {
    const std::uint32_t count = std::min(rows_each, rows_ - begin);
    while (arrived < begin + count) arrived = arrival();
    float* const components = method_->components.data() + std::size_t{begin} * dimension_;
    unpack_async(resident_->panels(), begin, count, dimension_, components, stream_);
    RowMajorView quarter = method_rows(0);
    quarter.components = components;
    quarter.first_row += begin;
    quarter.count = count;
    search.lists = begin == 0 ? lists : others_.data();
    method_->method->search_async(quarter, search, stream_);
    if (begin > 0) merge_lists_async(lists, others_.data(), search.count, search.k, stream_);
  }
  method_->holds_all = true;
}

void DeviceSearcher::prepare(SearchMethod method) {
  check_usage(has_corpus_, "search: there is no corpus; call set_corpus first");
  if (!supports(method))
    throw std::invalid_argument(
        "the cuda searcher does not have this method: ask for SearchMethod::automatic");
  if (method == SearchMethod::automatic)
    method_.reset();
  else if (rows_ > 0)
    take_method(method);
}

VectorsView DeviceSearcher::kept_rows(VectorRow begin, std::uint32_t count) const {
  return {
      std::span(kept_).subspan(std::size_t{begin} * dimension_, std::size_t{count} * dimension_),
      dimension_};
}

/// A method reads a row-major copy of the rows. The copy is made from the panels at the method's
/// first search; the panels stay. The copy and the method together take the memory that automatic
/// searches use for the workspace. If all rows fit into three quarters of this memory, the copy
/// holds all rows. Otherwise the copy holds one part of the rows at a time, in half of this memory.
/// The rest is for the method. If the device does not hold the panels of all rows, the parts are
/// copied from the host.
void DeviceSearcher::take_method(SearchMethod name) {
  if (method_ && method_->name == name) return;
  method_.reset();
  free_transfer_room();
  workspace_.emplace(memory_, plan_.workspace_bytes, filter_);
  const std::uint64_t bytes = bytes_max_ - memory_.bytes_used() - plan_.transfer_bytes;
  const std::uint64_t row_bytes = dimension_ * sizeof(float);
  std::uint64_t part_rows = bytes / 4 * 3 / row_bytes;
  if (part_rows < rows_) part_rows = std::max<std::uint64_t>(bytes / 2 / row_bytes, 1);
  MethodAtHand taken(memory_, name);
  taken.part_rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(part_rows, rows_));
  taken.components.reserve(std::size_t{taken.part_rows} * dimension_);
  const std::uint64_t method_bytes =
      std::min(bytes - taken.part_rows * row_bytes, method_bytes_max);
  taken.method = find_method(name)->make(memory_, method_bytes);
  method_.emplace(std::move(taken));
}

void DeviceSearcher::read_rows_async(VectorRow begin, std::uint32_t count) {
  if (method_->holds_all) return;
  if (resident_)
    unpack_async(resident_->panels(), begin, count, dimension_, method_->components.data(),
                 stream_);
  else
    copy_rows_async(kept_rows(begin, count), method_->components.data());
  method_->holds_all = count == rows_;
}

/// Copies rows from the host to `to`, which is device memory.
void DeviceSearcher::copy_rows_async(VectorsView rows, float* to) {
  const DrainAtEnd drain_copies(upload_.copies());
  upload_.start(rows);
  while (!upload_.is_done()) {
    const RowUpload::Piece piece = upload_.next(stream_);
    check(cudaMemcpyAsync(to + std::size_t{piece.begin} * dimension_, piece.components,
                          std::size_t{piece.count} * dimension_ * sizeof(float),
                          cudaMemcpyDeviceToDevice, stream_.get()));
    upload_.release(stream_);
  }
}

/// Returns the rows of part number `part`, which must be the part that was read last.
RowMajorView DeviceSearcher::method_rows(std::uint32_t part) const {
  const std::uint32_t begin = part * method_->part_rows;
  RowMajorView rows;
  rows.first_row = first_row_ + begin;
  rows.count = std::min(method_->part_rows, rows_ - begin);
  rows.components = method_->components.data();
  rows.dimension = dimension_;
  rows.recipe = recipe_of(metric_);
  return rows;
}

void DeviceSearcher::for_each_part(const WorkOnPart& work) {
  const std::uint32_t part_rows = method_ ? method_->part_rows : plan_.part_rows;
  const std::uint32_t parts = (rows_ - 1) / part_rows + 1;
  std::optional<DeviceVectors> from_host;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const VectorRow begin = part * part_rows;
    const std::uint32_t count = std::min(part_rows, rows_ - begin);
    if (method_) {
      read_rows_async(begin, count);
      const auto search_async = [&](const DeviceSearch& on_device) {
        method_->method->search_async(method_rows(part), on_device, stream_);
      };
      work(search_async, Part{part, parts});
      continue;
    }
    if (resident_) {
      work(
          [&](const DeviceSearch& on_device) {
            search_resident_async(on_device, {0, rows_});
          },
          Part{part, parts});
      continue;
    }
    if (from_host && from_host->has_room_for(count, dimension_))
      from_host->restart(metric_, first_row_ + begin);
    else
      from_host.reset();
    if (!from_host) from_host.emplace(memory_, metric_, count, dimension_, first_row_ + begin);
    // The first queries are searched while the rows arrive.
    const DrainAtEnd drain_copies(upload_.copies());
    upload_.start(kept_rows(begin, count));
    const auto search_async = [&](const DeviceSearch& on_device) {
      const VectorWorkspace::Arrival arrival = arrival_in(*from_host);
      workspace_->search_async(from_host->view(), on_device, stream_,
                               upload_.is_done() ? VectorWorkspace::Arrival() : arrival);
    };
    work(search_async, Part{part, parts});
  }
}

/// Searches a share of the resident corpus. First makes the shadow, if enough searches before this
/// one could have used a shadow. Enqueued only.
void DeviceSearcher::search_resident_async(const DeviceSearch& search, const DeviceShare& share) {
  const auto view = [&] {
    return resident_->view().part(static_cast<VectorRow>(share.begin),
                                  static_cast<std::uint32_t>(share.count));
  };
  const auto before = workspace_->searches_before_shadow(view(), search);
  if (before && *before <= searches_for_shadow_)
    resident_->make_shadow_async(plan_.shadow, stream_);
  else if (before)
    ++searches_for_shadow_;
  workspace_->search_async(view(), search, stream_);
}

void DeviceSearcher::run_timed(const std::function<void()>& enqueue) {
  const DrainAtEnd drain(stream_);
  started_.record(stream_);
  enqueue();
  finished_.record(stream_);
  stream_.wait();
  device_ms_ += finished_.ms_since(started_);
}

/// Makes room for `floats` components of queries and `entries` entries of lists in each of `slots`
/// slots of the pipeline, and for `others` entries in others_. Keeps the room of an earlier search
/// if it is at least this large.
void DeviceSearcher::make_transfer_room(std::size_t floats, std::size_t entries, std::size_t slots,
                                        std::size_t others) {
  if (pipeline_.has_room(floats, entries, slots) && others_.room() >= others) return;
  free_transfer_room();
  pipeline_.make_room(floats, entries, slots);
  if (others > 0) others_ = DeviceBuffer<VectorNeighbor>(memory_, others);
}

/// Makes room for a search of `count` queries in pieces of `piece_max`.
void DeviceSearcher::make_piece_room(std::uint32_t piece_max, std::uint32_t count,
                                     std::uint32_t k) {
  make_transfer_room(std::size_t{piece_max} * dimension_, std::size_t{piece_max} * k,
                     piece_max < count ? 2 : 1, 0);
}

void DeviceSearcher::free_transfer_room() {
  pipeline_.free();
  others_ = DeviceBuffer<VectorNeighbor>(memory_);
}

/// Returns how many queries a piece of the search has at most. An automatic search of many queries
/// is done in batches, and pieces of whole batches take no longer. A method takes all queries at
/// once if they fit, because many of its threads would be idle with fewer.
std::uint32_t DeviceSearcher::piece_queries(const VectorSearch& search) const {
  const std::uint32_t count = search.queries.rows();
  const std::uint64_t each = query_bytes(dimension_, search.k);
  const auto that_fit = [&](std::uint64_t bytes) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / each, 1, count));
  };
  const std::uint32_t at_once = that_fit(plan_.transfer_bytes);
  const std::uint32_t half = that_fit(plan_.transfer_bytes / 2);
  if (method_ || !resident_) return at_once == count ? count : half;
  const std::uint32_t least = that_fit(query_piece_bytes_min);
  if (least == count) return count;
  const std::uint32_t batch = workspace_->batch_queries(
      resident_->view(), {.count = count, .k = search.k}, plan_.shadow != Shadow::none);
  const std::uint64_t wanted = std::uint64_t{(least - 1) / batch + 1} * batch;
  if (wanted >= count) return at_once == count ? count : half;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, half));
}

/// Copies all queries of a search to the device, and returns the search that reads these copies.
DeviceSearch DeviceSearcher::copy_queries_async(const VectorSearch& search) {
  const std::span<const float> components = search.queries.components;
  copy_to_device_async(components, pipeline_.queries(), stream_);
  return device_search(search, {0, search.queries.rows()}, pipeline_.queries(), pipeline_.lists());
}

DeviceSearch DeviceSearcher::device_search(const VectorSearch& search, Piece piece,
                                           const float* queries, VectorNeighbor* lists) {
  DeviceSearch on_device;
  on_device.queries = queries;
  on_device.count = piece.count;
  on_device.k = search.k;
  on_device.lists = lists;
  if (search.first_self != no_row) on_device.first_self = search.first_self + piece.begin;
  return on_device;
}

/// Returns the steps `bring` and `search` of a search in pieces; the caller adds `fetch` and
/// `done`. Queries that are rows of the resident corpus are not copied from the host.
PieceSteps DeviceSearcher::steps_of(const VectorSearch& search, const SearchAsync& search_async) {
  PieceSteps steps;
  steps.bring = [&](Piece piece, float* queries, const CudaStream& stream) {
    if (resident_ && search.first_self != no_row)
      return unpack_async(resident_->panels(), search.first_self - first_row_ + piece.begin,
                          piece.count, dimension_, queries, stream);
    copy_to_device_async(search.queries.components.subspan(std::size_t{piece.begin} * dimension_,
                                                           std::size_t{piece.count} * dimension_),
                         queries, stream);
  };
  steps.search = [&](Piece piece, const float* queries, VectorNeighbor* lists) {
    search_async(device_search(search, piece, queries, lists));
  };
  return steps;
}

void DeviceSearcher::search_part(const SearchAsync& search_async, const VectorSearch& search,
                                 std::span<VectorNeighbor> lists, const Part& part) {
  const bool is_merged = part.number > 0;
  const std::uint32_t count = search.queries.rows();
  const std::uint32_t piece_max = piece_queries(search);
  make_piece_room(piece_max, count, search.k);
  std::vector<VectorNeighbor> other;
  if (is_merged) other.resize(std::size_t{piece_max} * search.k);
  const auto lists_of = [&](Piece piece) {
    return lists.subspan(std::size_t{piece.begin} * search.k, std::size_t{piece.count} * search.k);
  };
  const auto other_of = [&](Piece piece) {
    return std::span(other).first(std::size_t{piece.count} * search.k);
  };
  PieceSteps steps = steps_of(search, search_async);
  steps.fetch = [&](Piece piece, const VectorNeighbor* found, const CudaStream& stream) {
    copy_to_host_async(found, is_merged ? other_of(piece) : lists_of(piece), stream);
  };
  steps.done = [&](Piece piece) {
    if (is_merged) merge_lists(lists_of(piece), other_of(piece), search.k);
    if (!search.on_progress) return;
    const std::uint64_t done = std::uint64_t{piece.begin} + piece.count;
    search.on_progress((std::uint64_t{count} * part.number + done) / part.count);
  };
  device_ms_ += pipeline_.run(count, piece_max, stream_, steps);
}

}  // namespace starling::gpu
