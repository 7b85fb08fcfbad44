// SPDX-License-Identifier: Apache-2.0
// The VectorStore on a GPU: see store.hpp. Queries, lists and matches are copied through pinned
// memory. Each staging half has a buffer on the device. A separate CUDA stream copies rows to these
// buffers before their tick begins. VectorWorkspace finds lists. If the matches of a scan do not
// fit their buffer, the scan is repeated with room for all matches.
#include "starling/gpu/vectors/store.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "starling/gpu/device/bound_to_device.hpp"
#include "starling/gpu/device/cuda_stream.hpp"
#include "starling/gpu/device/memory.hpp"
#include "starling/gpu/vectors/corpus/device_search.hpp"
#include "starling/gpu/vectors/corpus/device_vectors.hpp"
#include "starling/gpu/vectors/corpus/pack_launch.hpp"
#include "starling/gpu/vectors/scan/workspace.hpp"
#include "starling/gpu/vectors/store_launch.hpp"

namespace starling::gpu {
namespace {

/// The most memory of a workspace. It is enough for batches that keep the device busy.
constexpr std::uint64_t store_workspace_bytes_max = std::uint64_t{2} << 30;
/// Queries go to the device in pieces of at most this many bytes of components.
constexpr std::size_t query_bytes_max = std::size_t{64} << 20;
/// The number of matches for which there is room at first. The room grows if a scan finds more.
constexpr std::size_t matches_min = std::size_t{1} << 16;
/// The number of matches that are copied to the host together with their count. Further matches are
/// copied after the count is known.
constexpr std::size_t matches_at_once = 1024;

/// A device array and the pinned host memory that is copied to and from it.
template <class T>
struct Mirror {
  explicit Mirror(DeviceMemory& memory) : device(memory) {}
  PinnedBuffer<T> host;
  DeviceBuffer<T> device;

  void reserve(std::size_t count) {
    host.reserve(count);
    device.reserve(count);
  }
  void copy_to_device_async(std::size_t count, const CudaStream& stream) {
    gpu::copy_to_device_async(std::span<const T>(host.data(), count), device, stream);
  }
};

/// The memory of staged rows, which is freed only when no copy reads it any more.
class StagedMemory final : public PinnedMemory {
 public:
  explicit StagedMemory(const CudaStream& copies) : copies_(copies) {}

 private:
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    copies_.drain();
    PinnedMemory::do_deallocate(memory, bytes, alignment);
  }

  const CudaStream& copies_;
};

class CudaVectorStore final : public VectorStore {
 public:
  explicit CudaVectorStore(const VectorStoreOptions& options)
      : dimension_(options.dimension),
        recipe_(recipe_of(options.metric)),
        device_(use(options.device)),
        memory_(options.memory_bytes_max) {}

  std::string_view name() const override { return "cuda"; }
  std::uint64_t bytes_used() const override { return memory_.bytes_used(); }

  bool copy_ahead(unsigned half, VectorsView components, std::size_t copied) override;
  void apply(const VectorRows& rows) override;
  void wait() override;
  void nearest(std::span<const VectorQuery> queries, const VectorMasks& masks, std::uint32_t k,
               std::span<VectorNeighbor> lists) override;
  void near_applied(const VectorRows& applied, std::span<const VectorQuery> queries,
                    const VectorMasks& masks, std::vector<VectorMatch>& matches) override;
  void near_any(std::span<const VectorQuery> queries, const VectorMasks& masks,
                std::vector<VectorMatch>& matches) override;
  std::pmr::memory_resource* staging_memory() override { return &staged_memory_; }
  bool is_lost() const override { return is_lost_; }
  VectorDeviceTimes take_device_times() override { return std::exchange(times_, {}); }
  void read(std::span<const Slot> slots, std::span<float> components) const override;

 private:
  /// Selects the device, before memory or streams are made on it, and returns `device`.
  static int use(int device) {
    check(cudaSetDevice(device));
    return device;
  }

  std::uint32_t group_count() const { return group_count_of(dimension_); }
  /// Calls `act`, which uses the device. Notes whether the device is lost.
  template <class Act>
  void use_device(const Act& act) {
    try {
      check(cudaSetDevice(device_));
      act();
    } catch (const DeviceError& error) {
      is_lost_ = is_lost_ || error.is_final();
      throw;
    }
  }
  /// Calls `act`, which enqueues work, waits until the work is done, and adds its time to times_.
  template <class Act>
  void search_with(const Act& act) {
    use_device([&] {
      const DrainAtEnd drain(stream_);
      started_.record(stream_);
      act();
      finished_.record(stream_);
      stream_.wait();
      times_.search_ms += finished_.ms_since(started_);
    });
  }

  PanelsView panels() const { return {groups_.data(), group_count(), panel_rows}; }
  std::size_t queries_at_once() const {
    return std::clamp<std::size_t>(query_bytes_max / (dimension_ * sizeof(float)), 1,
                                   near_queries_max);
  }
  void grow(std::size_t slots);
  void apply_async(const VectorRows& rows);
  const float* copy_rest_async(const VectorRows& rows);
  void copy_masks_async(const VectorMasks& masks);
  void copy_queries_async(std::span<const VectorQuery> queries);
  void search(std::span<const VectorQuery> queries, const VectorMasks& masks, std::uint32_t k,
              std::span<VectorNeighbor> lists);
  /// Clears new device memory, because the first matches_at_once entries are copied to the host
  /// even if the scan has found fewer matches.
  void reserve_matches(std::size_t count) {
    matches_.host.reserve(count);
    matches_.device.reserve_cleared(count, stream_);
  }
  void append_near(NearScan scan, std::span<const VectorQuery> queries, const VectorMasks& masks,
                   std::vector<VectorMatch>& matches);

  const std::uint32_t dimension_;
  const Recipe recipe_;
  const int device_;
  DeviceMemory memory_;
  CudaStream stream_;
  CudaStream copies_;  ///< copies rows ahead
  StagedMemory staged_memory_{copies_};
  Event started_, finished_;
  Event apply_started_, apply_finished_;
  bool is_applying_ = false;  ///< apply has enqueued work, and wait() has not waited for it yet
  VectorDeviceTimes times_;   ///< times that take_device_times() has not returned yet
  bool is_lost_ = false;
  std::uint32_t slots_ = 0;  ///< one more than the largest slot so far
  DeviceBuffer<float4> groups_{memory_};

  /// The components of a half's rows. `copied` is recorded after the last copy ahead.
  struct HalfRows {
    DeviceBuffer<float> components;
    Event copied;
  };
  std::array<HalfRows, 2> halves_{HalfRows{DeviceBuffer<float>(memory_), {}},
                                  HalfRows{DeviceBuffer<float>(memory_), {}}};
  DeviceBuffer<float> loose_components_{memory_};  ///< components of rows that are in no half

  // The rows of the last apply:
  Mirror<Slot> applied_slots_{memory_};
  Mirror<std::uint64_t> applied_alive_{memory_};
  const float* applied_components_ = nullptr;
  DeviceBuffer<float4> applied_groups_{memory_};

  // The queries of the current call:
  Mirror<float> query_components_{memory_};
  Mirror<Slot> query_slots_{memory_};
  Mirror<RowFilter> filters_{memory_};
  Mirror<float> scores_max_{memory_};
  Mirror<std::uint64_t> mask_words_{memory_};
  DeviceBuffer<float4> query_groups_{memory_};
  Mirror<VectorNeighbor> lists_{memory_};
  Mirror<VectorMatch> matches_{memory_};
  Mirror<unsigned long long> match_count_{memory_};
  VectorWorkspace workspace_{memory_, store_workspace_bytes_max};
};

// Components of rows that were never written are NaN: all bits set.
void CudaVectorStore::grow(std::size_t slots) {
  const std::size_t panels_now = (std::size_t{slots_} + panel_rows - 1) / panel_rows;
  const std::size_t panels_wanted = (slots + panel_rows - 1) / panel_rows;
  const std::size_t panel_groups = std::size_t{group_count()} * panel_rows;
  groups_.reserve(panels_wanted * panel_groups, panels_now * panel_groups, stream_);
  if (panels_wanted > panels_now)
    check(cudaMemsetAsync(groups_.data() + panels_now * panel_groups, 0xff,
                          (panels_wanted - panels_now) * panel_groups * sizeof(float4),
                          stream_.get()));
  slots_ = static_cast<std::uint32_t>(std::max<std::size_t>(slots_, slots));
}

// If the buffer is too small, copies nothing; apply makes the buffer larger. Ignores errors,
// because apply then copies the rows.
bool CudaVectorStore::copy_ahead(unsigned half, VectorsView components, std::size_t copied) {
  HalfRows& to = halves_[half];
  if (components.components.size() > to.components.room()) return false;
  try {
    const BoundToDevice bound(device_);
    const auto rest = components.components.subspan(copied * dimension_);
    check(cudaMemcpyAsync(to.components.data() + copied * dimension_, rest.data(),
                          rest.size_bytes(), cudaMemcpyHostToDevice, copies_.get()));
    to.copied.record(copies_);
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

void CudaVectorStore::apply(const VectorRows& rows) {
  if (rows.slots.empty()) return;
  use_device([&] {
    try {
      apply_async(rows);
    } catch (const std::exception&) {
      copies_.drain();
      stream_.drain();
      throw;
    }
  });
}

void CudaVectorStore::wait() {
  if (!std::exchange(is_applying_, false)) return;
  use_device([&] {
    stream_.wait();
    times_.apply_ms += apply_finished_.ms_since(apply_started_);
  });
  loose_components_ = DeviceBuffer<float>(memory_);
}

/// Copies the components that were not copied ahead. Returns where the components of all rows are.
const float* CudaVectorStore::copy_rest_async(const VectorRows& rows) {
  const std::span<const float> all = rows.components.components;
  DeviceBuffer<float>& to =
      rows.half == VectorRows::no_half ? loose_components_ : halves_[rows.half].components;
  std::size_t copied = rows.copied * dimension_;
  if (copied > 0) stream_.begin_after(halves_[rows.half].copied);
  if (all.size() > to.room()) {
    stream_.wait();
    to.reserve(all.size());
    copied = 0;
  }
  const auto rest = all.subspan(copied);
  if (!rest.empty())
    check(cudaMemcpyAsync(to.data() + copied, rest.data(), rest.size_bytes(),
                          cudaMemcpyHostToDevice, stream_.get()));
  return to.data();
}

void CudaVectorStore::apply_async(const VectorRows& rows) {
  const std::size_t count = rows.slots.size();
  std::size_t slots = slots_;
  for (const Slot slot : rows.slots)
    if (slot != no_slot) slots = std::max(slots, std::size_t{slot} + 1);
  grow(slots);
  applied_slots_.reserve(count);
  applied_alive_.reserve(rows.alive.size());
  apply_started_.record(stream_);
  std::ranges::copy(rows.slots, applied_slots_.host.data());
  std::ranges::copy(rows.alive, applied_alive_.host.data());
  applied_slots_.copy_to_device_async(count, stream_);
  applied_alive_.copy_to_device_async(rows.alive.size(), stream_);
  applied_components_ = copy_rest_async(rows);
  AppliedRows applied;
  applied.components = applied_components_;
  applied.slots = applied_slots_.device.data();
  applied.alive = applied_alive_.device.data();
  applied.count = static_cast<std::uint32_t>(count);
  applied.dimension = dimension_;
  write_rows_async(applied, groups_.data(), stream_);
  apply_finished_.record(stream_);
  is_applying_ = true;
}

void CudaVectorStore::copy_masks_async(const VectorMasks& masks) {
  mask_words_.reserve(masks.words.size());
  std::ranges::copy(masks.words, mask_words_.host.data());
  mask_words_.copy_to_device_async(masks.words.size(), stream_);
}

// The components of a query come from the host, or from the query's own row in the store.
void CudaVectorStore::copy_queries_async(std::span<const VectorQuery> queries) {
  static_assert(no_mask == RowFilter::no_mask && no_slot == no_row);
  query_components_.reserve(queries.size() * dimension_);
  query_slots_.reserve(queries.size());
  filters_.reserve(queries.size());
  scores_max_.reserve(queries.size());
  float* to = query_components_.host.data();
  bool has_rows = false;  // whether a query has the components of a row
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const VectorQuery& query = queries[i];
    if (query.components != nullptr)
      std::copy_n(query.components, dimension_, to + i * dimension_);
    else
      has_rows = true;
    query_slots_.host[i] = query.components == nullptr ? query.self : no_slot;
    filters_.host[i] = {query.self, query.mask};
    scores_max_.host[i] = query.score_max;
  }
  query_components_.copy_to_device_async(queries.size() * dimension_, stream_);
  filters_.copy_to_device_async(queries.size(), stream_);
  scores_max_.copy_to_device_async(queries.size(), stream_);
  if (!has_rows) return;
  query_slots_.copy_to_device_async(queries.size(), stream_);
  gather_rows_async(panels(), query_slots_.device.data(),
                    static_cast<std::uint32_t>(queries.size()), dimension_,
                    query_components_.device.data(), stream_);
}

void CudaVectorStore::nearest(std::span<const VectorQuery> queries, const VectorMasks& masks,
                              std::uint32_t k, std::span<VectorNeighbor> lists) {
  if (slots_ == 0) {
    std::ranges::fill(lists, VectorNeighbor{std::numeric_limits<float>::infinity(), no_row});
    return;
  }
  search_with([&] { search(queries, masks, k, lists); });
}

void CudaVectorStore::search(std::span<const VectorQuery> queries, const VectorMasks& masks,
                             std::uint32_t k, std::span<VectorNeighbor> lists) {
  copy_masks_async(masks);
  CorpusView corpus;
  corpus.recipe = recipe_;
  corpus.rows = slots_;
  corpus.dimension = dimension_;
  corpus.panels = corpus.single_rows = panels();
  while (!queries.empty()) {
    const auto some = queries.first(std::min(queries.size(), queries_at_once()));
    const std::size_t entries = some.size() * k;
    copy_queries_async(some);
    lists_.reserve(entries);
    DeviceSearch search;
    search.queries = query_components_.device.data();
    search.count = static_cast<std::uint32_t>(some.size());
    search.k = k;
    search.lists = lists_.device.data();
    search.filters = filters_.device.data();
    search.masks = {mask_words_.device.data(), masks.words_each};
    workspace_.search_async(corpus, search, stream_);
    copy_to_host_async(static_cast<const VectorNeighbor*>(lists_.device.data()),
                       std::span(lists_.host.data(), entries), stream_);
    stream_.wait();
    std::copy_n(lists_.host.data(), entries, lists.begin());
    lists = lists.subspan(entries);
    queries = queries.subspan(some.size());
  }
}

void CudaVectorStore::near_applied(const VectorRows& applied, std::span<const VectorQuery> queries,
                                   const VectorMasks& masks, std::vector<VectorMatch>& matches) {
  if (applied.slots.empty()) return;
  search_with([&] {
    AppliedRows rows;
    rows.components = applied_components_;
    rows.alive = applied_alive_.device.data();
    rows.count = static_cast<std::uint32_t>(applied.slots.size());
    rows.dimension = dimension_;
    applied_groups_.reserve(packed_groups(rows.count, panel_rows, dimension_));
    write_rows_async(rows, applied_groups_.data(), stream_);
    NearScan scan;
    scan.rows = {applied_groups_.data(), group_count(), panel_rows};
    scan.row_count = rows.count;
    scan.slots = applied_slots_.device.data();
    append_near(scan, queries, masks, matches);
  });
}

void CudaVectorStore::near_any(std::span<const VectorQuery> queries, const VectorMasks& masks,
                               std::vector<VectorMatch>& matches) {
  if (slots_ == 0) return;
  search_with([&] {
    NearScan scan;
    scan.rows = panels();
    scan.row_count = slots_;
    append_near(scan, queries, masks, matches);
  });
}

void CudaVectorStore::append_near(NearScan scan, std::span<const VectorQuery> queries,
                                  const VectorMasks& masks, std::vector<VectorMatch>& matches) {
  copy_masks_async(masks);
  scan.recipe = recipe_;
  reserve_matches(matches_min);
  match_count_.reserve(1);
  std::uint32_t first_query = 0;
  while (!queries.empty()) {
    const auto some = queries.first(std::min(queries.size(), queries_at_once()));
    copy_queries_async(some);
    const auto count = static_cast<std::uint32_t>(some.size());
    query_groups_.reserve(packed_groups(count, query_tile_rows, dimension_));
    pack_async(query_components_.device.data(), count, dimension_, query_tile_rows,
               query_groups_.data(), stream_);
    scan.queries = {query_groups_.data(), group_count(), query_tile_rows};
    scan.query_count = count;
    scan.filters = filters_.device.data();
    scan.masks = {mask_words_.device.data(), masks.words_each};
    scan.scores_max = scores_max_.device.data();
    for (;;) {
      scan.matches = matches_.device.data();
      scan.room = matches_.device.room();
      scan.match_count = match_count_.device.data();
      check(cudaMemsetAsync(match_count_.device.data(), 0, sizeof(unsigned long long),
                            stream_.get()));
      near_scan_async(scan, stream_);
      copy_to_host_async(static_cast<const unsigned long long*>(match_count_.device.data()),
                         std::span(match_count_.host.data(), 1), stream_);
      copy_to_host_async(static_cast<const VectorMatch*>(matches_.device.data()),
                         std::span(matches_.host.data(), matches_at_once), stream_);
      stream_.wait();
      if (match_count_.host[0] <= scan.room) break;
      reserve_matches(match_count_.host[0]);  // then the scan is repeated, with room for all
    }
    const std::size_t found = match_count_.host[0];
    if (found > matches_at_once) {
      copy_to_host_async(static_cast<const VectorMatch*>(matches_.device.data()) + matches_at_once,
                         std::span(matches_.host.data(), found).subspan(matches_at_once), stream_);
      stream_.wait();
    }
    for (std::size_t i = 0; i < found; ++i) {
      matches.push_back(matches_.host[i]);
      matches.back().query += first_query;
    }
    first_query += count;
    queries = queries.subspan(some.size());
  }
}

void CudaVectorStore::read(std::span<const Slot> slots, std::span<float> components) const {
  check(cudaSetDevice(device_));
  DeviceMemory memory(std::numeric_limits<std::uint64_t>::max());
  const CudaStream stream;
  const std::size_t piece = std::min(queries_at_once(), std::max<std::size_t>(slots.size(), 1));
  DeviceBuffer<Slot> wanted(memory, piece);
  DeviceBuffer<float> gathered(memory, piece * dimension_);
  const DrainAtEnd drain(stream);
  while (!slots.empty()) {
    const auto some = slots.first(std::min(slots.size(), piece));
    copy_to_device_async(some, wanted, stream);
    gather_rows_async(panels(), wanted.data(), static_cast<std::uint32_t>(some.size()), dimension_,
                      gathered.data(), stream);
    copy_to_host_async(static_cast<const float*>(gathered.data()),
                       components.first(some.size() * dimension_), stream);
    stream.wait();
    components = components.subspan(some.size() * dimension_);
    slots = slots.subspan(some.size());
  }
}

}  // namespace

std::unique_ptr<VectorStore> make_vector_store(const VectorStoreOptions& options) {
  return std::make_unique<CudaVectorStore>(options);
}

}  // namespace starling::gpu
