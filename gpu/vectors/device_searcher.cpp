// SPDX-License-Identifier: Apache-2.0
// Divides the device memory among corpus, workspace and transfers. Searches the corpus as a whole
// or part by part, and takes the queries in pieces. Makes a published method when a search asks for
// it: see device_searcher.hpp.
#include "starling/gpu/vectors/device_searcher.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "starling/gpu/vectors/corpus/lists_launch.hpp"
#include "starling/gpu/vectors/corpus/pack_launch.hpp"
#include "starling/gpu/vectors/rates_launch.hpp"
#include "starling/knn/base/assert.hpp"

namespace starling::gpu {
namespace {

/// Free device memory that is left to other users of the device and to fragmentation.
constexpr std::uint64_t bytes_spared = std::uint64_t{512} << 20;
/// The most memory of a workspace. It is enough for batches that keep the device busy.
constexpr std::uint64_t workspace_bytes_max = std::uint64_t{4} << 30;
/// The most memory of a published method. A method may need all queries at once to keep the device
/// busy, because each query has only one thread or one block. The matrix of 163,840 rows and 40,960
/// queries takes 27 GB.
constexpr std::uint64_t method_bytes_max = std::uint64_t{32} << 30;
/// Queries and their lists are copied in pieces of at most this size.
constexpr std::uint64_t transfer_bytes_max = std::uint64_t{256} << 20;

/// A published method and the function that makes it.
struct NamedMethod {
  SearchMethod name;
  std::unique_ptr<VectorMethod> (*make)(DeviceMemory& memory, std::uint64_t bytes_max);
};
constexpr NamedMethod named_methods[] = {
    {SearchMethod::kato, &make_kato},
    {SearchMethod::cuknn, &make_cuknn},
    {SearchMethod::iterative, &make_iterative},
    {SearchMethod::insertion, &make_insertion},
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

/// Writes the nearest entries of both lists to `list`, which keeps its length. Both lists are
/// sorted. `merged` is scratch memory.
void merge(std::span<VectorNeighbor> list, std::span<const VectorNeighbor> other,
           std::vector<VectorNeighbor>& merged) {
  merged.resize(list.size() + other.size());
  std::merge(list.begin(), list.end(), other.begin(), other.end(), merged.begin());
  std::copy_n(merged.begin(), list.size(), list.begin());
}

}  // namespace

DeviceSearcher::DeviceSearcher(const VectorSearcherOptions& options)
    : device_(options.device),
      may_filter_(options.may_filter),
      bytes_max_(bytes_limit(options)),
      memory_(bytes_max_) {}

bool DeviceSearcher::supports(SearchMethod method) const {
  return method == SearchMethod::automatic || find_method(method) != nullptr;
}

void DeviceSearcher::set_rows(Metric metric, VectorsView rows, VectorRow first_row) {
  check(cudaSetDevice(device_));
  method_.reset();
  resident_.reset();
  workspace_.reset();
  kept_ = {};
  rows_ = 0;
  plan_memory(metric, rows);
  if (part_rows_ >= rows.rows())
    resident_.emplace(memory_, metric, rows, first_row, shadow_, stream_);
  else
    kept_.assign(rows.components.begin(), rows.components.end());
  metric_ = metric;
  dimension_ = rows.dimension;
  rows_ = rows.rows();
  first_row_ = first_row;
  workspace_.emplace(memory_, workspace_bytes_);
}

DeviceRates DeviceSearcher::rates() {
  check(cudaSetDevice(device_));
  return measure_rates(memory_, (bytes_max_ - memory_.bytes_used()) / 2, stream_);
}

void DeviceSearcher::search(const VectorSearch& search, std::span<VectorNeighbor> lists) {
  check(cudaSetDevice(device_));
  device_ms_ = 0;
  check_search(search, dimension_, lists.size());
  prepare(search.method);
  if (search.queries.rows() == 0) return;
  if (rows_ == 0) {
    std::fill(lists.begin(), lists.end(),
              VectorNeighbor{std::numeric_limits<float>::infinity(), no_row});
    return;
  }
  for_each_part([&](const auto& search_async, const Part& part) {
    search_part(search_async, search, lists, part);
  });
}

void DeviceSearcher::prepare_shared(SearchMethod method) {
  check(cudaSetDevice(device_));
  device_ms_ = 0;
  prepare(method);
}

std::uint32_t DeviceSearcher::shared_queries_max(std::uint32_t k, std::uint32_t devices) const {
  const auto bytes_of = [&](std::uint32_t queries) {
    return SharedLists::bytes_for({queries, k, devices, dimension_});
  };
  const std::uint64_t none = bytes_of(0);
  const std::uint64_t queries =
      transfer_bytes_ > none ? (transfer_bytes_ - none) / (bytes_of(1) - none) : 0;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(queries, 1, std::numeric_limits<std::int32_t>::max()));
}

std::uint32_t DeviceSearcher::graph_side(std::uint32_t k, std::uint32_t devices) const {
  if (!method_ || !resident_ || rows_ == 0 || method_->part_rows < rows_) return 0;
  if (!is_symmetric(recipe_of(metric_))) return 0;
  if (SharedLists::bytes_for({rows_, k, devices, 0}) > method_->bytes_left) return 0;
  return method_->method->graph_side(rows_, k, devices);
}

void DeviceSearcher::make_room(std::optional<SharedLists>& lists, const SharedLists::Shape& shape) {
  check(cudaSetDevice(device_));
  lists.emplace(memory_, stream_, shape);
}

void DeviceSearcher::find_lists(const VectorSearch& search, SharedLists& lists) {
  check(cudaSetDevice(device_));
  DeviceSearch on_device;
  on_device.queries = lists.queries().data();
  on_device.count = search.queries.rows();
  on_device.k = search.k;
  on_device.first_self = search.first_self;
  if (rows_ == 0) {
    fill_lists_async(lists.found(), std::uint64_t{on_device.count} * search.k, stream_);
    return stream_.wait();
  }
  copy_to_device_async(search.queries.components, lists.queries(), stream_);
  for_each_part([&](const auto& search_async, const Part& part) {
    on_device.lists = part.number == 0 ? lists.found() : lists.others();
    run_timed([&] {
      search_async(on_device);
      if (part.number > 0)
        merge_lists_async(lists.found(), lists.others(), on_device.count, search.k, stream_);
    });
  });
}

void DeviceSearcher::find_graph(std::uint32_t k, const GraphShare& share, SharedLists& lists) {
  check(cudaSetDevice(device_));
  DeviceSearch on_device;
  on_device.count = rows_;
  on_device.k = k;
  on_device.first_self = first_row_;
  on_device.lists = lists.found();
  read_rows_async(0, rows_);
  run_timed(
      [&] { method_->method->search_graph_async(method_rows(0), on_device, share, stream_); });
}

void DeviceSearcher::merge_async(SharedLists& lists, std::uint32_t share, std::uint32_t k,
                                 std::uint32_t devices) {
  check(cudaSetDevice(device_));
  lists.merge_async(share, k, devices);
  finished_.record(stream_);
}

void DeviceSearcher::end_exchange(const SharedLists& lists, std::span<VectorNeighbor> merged) {
  check(cudaSetDevice(device_));
  lists.copy_merged_async(merged);
  stream_.wait();
  device_ms_ += finished_.ms_since(started_);
}

void DeviceSearcher::prepare(SearchMethod method) {
  check_invariant(workspace_.has_value(), "a corpus is set before it is searched");
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

/// Returns the bytes that one query and its list take in a transfer.
std::uint64_t DeviceSearcher::transfer_bytes(std::uint32_t dimension, std::uint32_t k) {
  return std::uint64_t{dimension} * sizeof(float) + std::uint64_t{k} * sizeof(VectorNeighbor);
}

/// Returns the least memory that queries and their lists get.
std::uint64_t DeviceSearcher::transfer_bytes_min() {
  return transfer_bytes(dimension_max, vector_k_max) * query_tile_rows;
}

/// Returns the least memory that is needed in addition to the rows.
std::uint64_t DeviceSearcher::bytes_beside_rows(std::uint32_t dimension) {
  return DeviceVectors::packing_bytes_for(dimension) + transfer_bytes_min() +
         VectorWorkspace::bytes_min(dimension);
}

bool DeviceSearcher::fits(VectorsView corpus) const {
  return DeviceVectors::bytes_for(corpus.rows(), corpus.dimension, Shadow::none) +
             bytes_beside_rows(corpus.dimension) <=
         bytes_max_;
}

/// Divides the memory among the corpus (or a part of it), the workspace, and the queries with their
/// lists.
void DeviceSearcher::plan_memory(Metric metric, VectorsView corpus) {
  const std::uint64_t bytes = bytes_max_;
  const std::uint64_t packing = DeviceVectors::packing_bytes_for(corpus.dimension);
  const std::uint64_t least = bytes_beside_rows(corpus.dimension);
  const std::uint64_t all = DeviceVectors::bytes_for(corpus.rows(), corpus.dimension, Shadow::none);
  part_rows_ = std::max(corpus.rows(), 1u);
  std::uint64_t part_bytes = all;
  shadow_ = Shadow::none;
  for (const Shadow shadow : {Shadow::halves, Shadow::halves_and_rows}) {
    if (!may_filter_ || !has_filter(recipe_of(metric))) break;
    const std::uint64_t more = DeviceVectors::bytes_for(corpus.rows(), corpus.dimension, shadow);
    if (more + least > bytes) break;
    shadow_ = shadow;
    part_bytes = more;
  }
  if (!fits(corpus)) {
    const std::uint64_t panel_bytes =
        DeviceVectors::bytes_for(panel_rows, corpus.dimension, Shadow::none);
    const std::uint64_t room = bytes > least ? (bytes - least) / 2 : 0;
    if (room < panel_bytes)
      throw std::runtime_error(
          "the GPU has too little memory for vectors: " + std::to_string(least + 2 * panel_bytes) +
          " bytes are needed, " + std::to_string(bytes) + " may be used");
    part_rows_ = static_cast<std::uint32_t>(room / panel_bytes) * panel_rows;
    part_bytes = DeviceVectors::bytes_for(part_rows_, corpus.dimension, Shadow::none);
  }
  const std::uint64_t left = bytes - part_bytes - packing;
  transfer_bytes_ = std::clamp(left / 4, transfer_bytes_min(), transfer_bytes_max);
  workspace_bytes_ = std::min(left - transfer_bytes_, workspace_bytes_max);
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
  workspace_.emplace(memory_, workspace_bytes_);
  const std::uint64_t bytes = bytes_max_ - memory_.bytes_used() - transfer_bytes_;
  const std::uint64_t row_bytes = dimension_ * sizeof(float);
  std::uint64_t part_rows = bytes / 4 * 3 / row_bytes;
  if (part_rows < rows_) part_rows = std::max<std::uint64_t>(bytes / 2 / row_bytes, 1);
  MethodAtHand taken(memory_, name);
  taken.part_rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(part_rows, rows_));
  taken.components.reserve(std::size_t{taken.part_rows} * dimension_);
  const std::uint64_t method_bytes =
      std::min(bytes - taken.part_rows * row_bytes, method_bytes_max);
  taken.bytes_left = bytes_max_ - memory_.bytes_used() - method_bytes;
  taken.method = find_method(name)->make(memory_, method_bytes);
  method_.emplace(std::move(taken));
}

void DeviceSearcher::read_rows_async(VectorRow begin, std::uint32_t count) {
  if (method_->holds_all) return;
  if (resident_)
    unpack_async(resident_->panels(), begin, count, dimension_, method_->components.data(),
                 stream_);
  else
    copy_to_device_async(kept_rows(begin, count).components, method_->components, stream_);
  method_->holds_all = count == rows_;
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

template <class Work>
void DeviceSearcher::for_each_part(const Work& work) {
  const std::uint32_t part_rows = method_ ? method_->part_rows : part_rows_;
  const std::uint32_t parts = (rows_ - 1) / part_rows + 1;
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
    std::optional<DeviceVectors> from_host;
    if (!resident_)
      from_host.emplace(memory_, metric_, kept_rows(begin, count), first_row_ + begin, Shadow::none,
                        stream_);
    const CorpusView corpus = resident_ ? resident_->view() : from_host->view();
    const auto search_async = [&](const DeviceSearch& on_device) {
      workspace_->search_async(corpus, on_device, stream_);
    };
    work(search_async, Part{part, parts});
  }
}

template <class Enqueue>
void DeviceSearcher::run_timed(const Enqueue& enqueue) {
  const DrainAtEnd drain(stream_);
  started_.record(stream_);
  enqueue();
  finished_.record(stream_);
  stream_.wait();
  device_ms_ += finished_.ms_since(started_);
}

template <class SearchAsync>
void DeviceSearcher::search_part(const SearchAsync& search_async, const VectorSearch& search,
                                 std::span<VectorNeighbor> lists, const Part& part) {
  const bool is_merged = part.number > 0;
  const std::uint32_t count = search.queries.rows();
  const std::uint64_t query_bytes = transfer_bytes(dimension_, search.k);
  const auto piece = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(transfer_bytes_ / query_bytes, 1, count));
  DeviceBuffer<float> queries(memory_, std::size_t{piece} * dimension_);
  DeviceBuffer<VectorNeighbor> found(memory_, std::size_t{piece} * search.k);
  std::vector<VectorNeighbor> other;
  std::vector<VectorNeighbor> merged;
  if (is_merged) other.resize(std::size_t{piece} * search.k);
  const DrainAtEnd drain(stream_);
  for (std::uint32_t begin = 0; begin < count; begin += piece) {
    DeviceSearch on_device;
    on_device.queries = queries.data();
    on_device.count = std::min(piece, count - begin);
    on_device.k = search.k;
    on_device.lists = found.data();
    if (search.first_self != no_row) on_device.first_self = search.first_self + begin;
    copy_to_device_async(
        search.queries.components.subspan(std::size_t{begin} * dimension_,
                                          std::size_t{on_device.count} * dimension_),
        queries, stream_);
    started_.record(stream_);
    search_async(on_device);
    finished_.record(stream_);
    const std::span<VectorNeighbor> to =
        lists.subspan(std::size_t{begin} * search.k, std::size_t{on_device.count} * search.k);
    const std::span<VectorNeighbor> into = is_merged ? std::span(other).first(to.size()) : to;
    copy_to_host_async(static_cast<const VectorNeighbor*>(found.data()), into, stream_);
    stream_.wait();
    device_ms_ += finished_.ms_since(started_);
    if (is_merged)
      for (std::size_t at = 0; at < to.size(); at += search.k)
        merge(to.subspan(at, search.k), into.subspan(at, search.k), merged);
    if (search.on_progress) {
      const std::uint64_t done = begin + std::uint64_t{on_device.count};
      search.on_progress((std::uint64_t{count} * part.number + done) / part.count);
    }
  }
}

}  // namespace starling::gpu
