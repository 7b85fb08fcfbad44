// SPDX-License-Identifier: Apache-2.0
// A DeviceSearcher's part in a search by several devices, which split_searcher.cpp drives: see
// device_searcher.hpp.
#include <algorithm>
#include <limits>

#include "starling/gpu/vectors/corpus/lists_launch.hpp"
#include "starling/gpu/vectors/device_searcher.hpp"

namespace starling::gpu {

void DeviceSearcher::prepare_shared(SearchMethod method) {
  check(cudaSetDevice(device_));
  device_ms_ = 0;
  free_transfer_room();  // SharedLists take the same memory
  prepare(method);
}

std::uint32_t DeviceSearcher::shared_queries_max(std::uint32_t k, std::uint32_t devices) const {
  return shared_lists_max({0, k, devices, dimension_});
}

std::uint32_t DeviceSearcher::shared_rows_max(std::uint32_t k, std::uint32_t devices) const {
  return shared_lists_max({0, k, devices, 0});
}

/// Returns the number of queries for which SharedLists of this shape take at most
/// plan_.transfer_bytes.
std::uint32_t DeviceSearcher::shared_lists_max(SharedLists::Shape shape) const {
  const std::uint64_t none = SharedLists::bytes_for(shape);
  shape.queries = 1;
  const std::uint64_t of_each = SharedLists::bytes_for(shape) - none;
  const std::uint64_t queries =
      plan_.transfer_bytes > none ? (plan_.transfer_bytes - none) / of_each : 0;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(queries, 1, std::numeric_limits<std::int32_t>::max()));
}

std::uint32_t DeviceSearcher::graph_side(std::uint32_t k, std::uint32_t devices) const {
  if (!method_ || !resident_ || rows_ == 0 || method_->part_rows < rows_) return 0;
  if (!is_symmetric(recipe_of(metric_))) return 0;
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
  for_each_part([&](const SearchAsync& search_async, const Part& part) {
    on_device.lists = part.number == 0 ? lists.found() : lists.others();
    run_timed([&] {
      search_async(on_device);
      if (part.number > 0)
        merge_lists_async(lists.found(), lists.others(), on_device.count, search.k, stream_);
    });
  });
}

void DeviceSearcher::find_graph(std::uint32_t k, const GraphShare& share) {
  check(cudaSetDevice(device_));
  read_rows_async(0, rows_);
  run_timed([&] { method_->method->find_graph_async(method_rows(0), k, share, stream_); });
}

void DeviceSearcher::write_graph(std::uint32_t first, std::uint32_t count, SharedLists& lists) {
  check(cudaSetDevice(device_));
  run_timed([&] { method_->method->write_graph_async(first, count, lists.found(), stream_); });
}

bool DeviceSearcher::may_search_share(const VectorSearch& search) const {
  return search.method == SearchMethod::automatic && resident_.has_value() &&
         search.queries.rows() * query_bytes(dimension_, search.k) <= plan_.transfer_bytes;
}

void DeviceSearcher::search_share_async(const VectorSearch& search, const DeviceShare& share) {
  check(cudaSetDevice(device_));
  device_ms_ = 0;
  prepare(search.method);
  const std::uint32_t count = search.queries.rows();
  const std::size_t entries = std::size_t{count} * search.k;
  make_transfer_room(std::size_t{count} * dimension_, entries, 1, 0);
  const DeviceSearch on_device = copy_queries_async(search);
  started_.record(stream_);
  if (share.count == 0)
    fill_lists_async(pipeline_.lists(), entries, stream_);
  else
    search_resident_async(on_device, share);
  finished_.record(stream_);
}

void DeviceSearcher::end_share(std::span<VectorNeighbor> lists) {
  check(cudaSetDevice(device_));
  const DrainAtEnd drain(stream_);
  copy_to_host_async(static_cast<const VectorNeighbor*>(pipeline_.lists()), lists, stream_);
  stream_.wait();
  device_ms_ = finished_.ms_since(started_);
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

}  // namespace starling::gpu
