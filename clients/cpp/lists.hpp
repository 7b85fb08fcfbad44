// SPDX-License-Identifier: Apache-2.0
// Neighbour lists as ranges, for batches, ticks and questions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <starling.h>

#include "starling/clients/cpp/error.hpp"

namespace starling {
inline namespace v0 {

namespace detail {

/// An iterator for a view that makes its elements in operator[].
template <class View>
class Iterator {
 public:
  using value_type = decltype(std::declval<const View&>()[0]);
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::forward_iterator_tag;
  using iterator_category = std::input_iterator_tag;

  Iterator() = default;
  Iterator(const View& view, std::size_t at) : view_(view), at_(at) {}
  value_type operator*() const { return view_[at_]; }
  Iterator& operator++() {
    ++at_;
    return *this;
  }
  Iterator operator++(int) { return {view_, at_++}; }
  bool operator==(const Iterator& other) const { return at_ == other.at_; }

 private:
  View view_{};
  std::size_t at_ = 0;
};

}  // namespace detail

template <class Id>
struct Neighbor {
  Id id{};                                                     ///< object id, or row number
  double distance = std::numeric_limits<double>::quiet_NaN();  ///< metres; or the metric's value
};

/// A list of neighbours, nearest first: a range of Neighbor<Id>.
template <class Id>
struct NeighborList {
  std::span<const Id> ids;
  std::span<const double> distances;  ///< empty if the stream does not report them

  std::size_t size() const { return ids.size(); }
  bool empty() const { return ids.empty(); }
  Neighbor<Id> operator[](std::size_t i) const {
    Neighbor<Id> neighbor{.id = ids[i]};
    if (!distances.empty()) neighbor.distance = distances[i];
    return neighbor;
  }
  auto begin() const { return detail::Iterator<NeighborList>(*this, 0); }
  auto end() const { return detail::Iterator<NeighborList>(*this, size()); }
};

/// A list of a tick or of a question: a range of Neighbor. It is complete, and points into the
/// Result that owns it.
struct List : NeighborList<std::uint64_t> {
  std::string_view stream;               ///< "" in answers to questions
  std::uint64_t query = 0;               ///< query id, or the question's index
  std::optional<std::uint64_t> subject;  ///< object that owns this list of an every-object query
  bool is_removed = false;               ///< the list is gone
  bool is_unknown = false;               ///< the followed object is not in the tick
  std::span<const double> positions;     ///< 3 for each neighbour; empty if not reported
  std::span<const std::uint32_t> tags;   ///< 1 for each neighbour; empty if not reported
  std::optional<std::int64_t> vote;
  std::optional<double> mean;
};

/// The lists of one stream or of all: a range of List.
class Lists {
 public:
  Lists() = default;
  /// Makes a view of the lists [first, end), counted through all streams. The lists of stream i end
  /// before ends[i].
  Lists(std::span<const starling_lists> streams, std::span<const std::size_t> ends,
        std::size_t first, std::size_t end)
      : streams_(streams), ends_(ends), first_(first), size_(end - first) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  List operator[](std::size_t i) const {
    const auto at = std::ranges::upper_bound(ends_, first_ + i) - ends_.begin();
    const auto stream = static_cast<std::size_t>(at);
    return list_of(streams_[stream], first_ + i - (stream == 0 ? 0 : ends_[stream - 1]));
  }
  auto begin() const { return detail::Iterator<Lists>(*this, 0); }
  auto end() const { return detail::Iterator<Lists>(*this, size_); }

 private:
  static List list_of(const starling_lists& lists, std::size_t i) {
    const std::size_t first = lists.offsets[i];
    const std::size_t count = lists.offsets[i + 1] - first;
    const auto part = [&](auto* all, std::size_t width = 1) {
      return all == nullptr ? std::span(all, 0) : std::span(all + first * width, count * width);
    };
    List list;
    list.ids = part(lists.object_ids);
    list.distances = part(lists.distances);
    list.stream = lists.stream;
    list.query = lists.query_ids[i];
    if (lists.has_subject[i] != 0) list.subject = lists.subject_ids[i];
    list.is_removed = lists.events[i] == STARLING_LIST_REMOVED;
    list.is_unknown = lists.is_unknown != nullptr && lists.is_unknown[i] != 0;
    list.positions = part(lists.positions, 3);
    list.tags = part(lists.tags);
    if (lists.votes != nullptr && lists.votes[i] != STARLING_NO_LABEL) list.vote = lists.votes[i];
    if (lists.means != nullptr) list.mean = lists.means[i];
    return list;
  }

  std::span<const starling_lists> streams_;
  std::span<const std::size_t> ends_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

/// The lists that a tick changed, or the answers to questions: a range of List. Owns their arrays.
class Result {
 public:
  explicit Result(starling_result* handle) : handle_(handle) {
    detail::check(starling_result_info(handle, &info_));
    for (std::uint64_t i = 0; i < info_.stream_count; ++i) {
      streams_.push_back(detail::sized<starling_lists>());
      detail::check(starling_result_lists(handle, i, &streams_.back()));
      ends_.push_back(streams_.back().list_count + (ends_.empty() ? 0 : ends_.back()));
    }
  }

  /// Returns the number and time of the tick, the number of objects, the milliseconds of the
  /// stages, and a warning or "".
  const starling_tick_info& info() const { return info_; }
  std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  bool empty() const { return size() == 0; }
  List operator[](std::size_t i) const& { return lists()[i]; }
  List operator[](std::size_t i) const&& = delete;  // would dangle
  auto begin() const { return lists().begin(); }
  auto end() const { return lists().end(); }
  /// Returns the lists of a stream; empty if the result has no stream of this name.
  Lists of(std::string_view stream) const& {
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (streams_[i].stream == stream)
        return {streams_, ends_, i == 0 ? 0 : ends_[i - 1], ends_[i]};
    return {};
  }
  Lists of(std::string_view stream) const&& = delete;

 private:
  Lists lists() const { return {streams_, ends_, 0, size()}; }

  std::unique_ptr<starling_result, detail::Destroy<starling_result_destroy>> handle_;
  starling_tick_info info_ = detail::sized<starling_tick_info>();
  std::vector<starling_lists> streams_;
  std::vector<std::size_t> ends_;
};

}  // namespace v0
}  // namespace starling
