// SPDX-License-Identifier: Apache-2.0
// Searches the classes of k (see k_class_limits) one after another. Then copies counts and
// neighbours to the host, and closes the gaps between lists. See questions.hpp.
#include "starling/gpu/points/questions.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "starling/gpu/points/lists/list_copies.hpp"

namespace starling::gpu {

template <int dimensions>
void Questions<dimensions>::answer(std::span<const OneShotQuery> queries,
                                   const TickIndex<dimensions>& index, const ObjectsView& objects,
                                   std::int64_t tau_us, Answers& answers) {
  if (queries.empty()) return;
  lay_out(queries);
  const DrainAtEnd drain(stream_);
  stream_.begin_after(index.ready());
  copy_to_device_async(std::span<const SearchSpec>(host_specs_), specs_, stream_);
  copy_to_device_async(std::span<const std::uint64_t>(host_rooms_), rooms_, stream_);
  copy_to_device_async(std::span<const std::uint32_t>(host_order_), order_, stream_);
  const auto k_of = [this](std::uint32_t number) { return host_specs_[number].k; };
  for (std::uint32_t begin = 0; begin < host_order_.size();) {
    SearchBatch batch;
    batch.specs = specs_.data();
    batch.rooms = rooms_.data();
    batch.order = order_.data() + begin;
    const std::size_t k_class_of_batch = k_class(k_of(host_order_[begin]));
    for (; begin < host_order_.size() && k_class(k_of(host_order_[begin])) == k_class_of_batch;
         ++begin) {
      ++batch.count;
      batch.k_max = std::max(batch.k_max, k_of(host_order_[begin]));
    }
    batch.tau_us = tau_us;
    batch.few_max = few_max_;
    batch.counts = counts_.data();
    batch.neighbors = neighbors_.data();
    batch.slots = slots_.data();
    batch.leaves = batch.postponed = notes_.data();
    index.search_async(objects, batch, stream_);
  }
  const std::uint64_t first = answers.neighbors.size();
  host_counts_.resize(queries.size());
  answers.neighbors.resize(first + room_);
  find_followed_async(objects);
  copy_to_host_async(counts_.data(), std::span(host_counts_), stream_);
  copy_to_host_async(neighbors_.data(), std::span(answers.neighbors).subspan(first), stream_);
  stream_.wait();
  auto is_alive = host_alive_.begin();
  for (std::uint32_t i = 0; i < queries.size(); ++i) {
    Answers::List& list = answers.lists.emplace_back();
    list.query = i;
    list.count = host_counts_[i];
    list.first = first + host_rooms_[i];
    if (queries[i].anchor == AnchorKind::follow) list.is_unknown = *is_alive++ == 0;
  }
  close_gaps(answers);
}

/// Enqueues work that finds which followed objects are alive, and copies the result to host_alive_.
template <int dimensions>
void Questions<dimensions>::find_followed_async(const ObjectsView& objects) {
  host_alive_.resize(host_followed_.size());
  if (host_followed_.empty()) return;
  copy_to_device_async(std::span<const Slot>(host_followed_), followed_, stream_);
  find_alive_async(followed_.data(), static_cast<std::uint32_t>(host_followed_.size()), objects,
                   alive_.data(), stream_);
  copy_to_host_async(alive_.data(), std::span(host_alive_), stream_);
}

template <int dimensions>
void Questions<dimensions>::lay_out(std::span<const OneShotQuery> queries) {
  host_specs_.clear();
  host_rooms_.clear();
  host_followed_.clear();
  room_ = 0;
  for (const OneShotQuery& query : queries) {
    SearchSpec& spec = host_specs_.emplace_back();
    spec = {query.position, no_slot, query.k, 0, query.filter};
    if (query.anchor == AnchorKind::follow) {
      spec.anchor = query.object;
      spec.position.x = nowhere;  // if query.object is no_slot, the list stays empty
      host_followed_.push_back(query.object);
    }
    host_rooms_.push_back(room_);
    room_ += query.k;
  }
  host_order_.resize(queries.size());
  std::iota(host_order_.begin(), host_order_.end(), 0u);
  std::ranges::stable_sort(host_order_, {},
                           [this](std::uint32_t i) { return k_class(host_specs_[i].k); });
  specs_.reserve(queries.size());
  rooms_.reserve(queries.size());
  order_.reserve(queries.size());
  counts_.reserve(queries.size());
  neighbors_.reserve_cleared(room_, stream_);  // the copy includes room that lists do not fill
  slots_.reserve(room_);
  notes_.reserve(queries.size() + 1);
  followed_.reserve(host_followed_.size());
  alive_.reserve(host_followed_.size());
}

template class Questions<2>;
template class Questions<3>;

}  // namespace starling::gpu
