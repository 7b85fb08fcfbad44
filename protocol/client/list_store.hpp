// SPDX-License-Identifier: Apache-2.0
// The neighbour lists that a client holds, keyed by query and subject. A subscription and one-shot
// answers copy their lists from chunks.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/list_chunk.hpp"

namespace starling::protocol {

struct ListKey {
  QueryId query{};
  bool has_subject = false;  ///< true: the list of `subject` in an every-object query
  ObjectId subject{};
  auto operator<=>(const ListKey&) const = default;
};

struct ListKeyHash {
  std::size_t operator()(const ListKey& key) const;
};

struct HeldNeighbor {
  ObjectId object{};
  double distance_m = 0;  ///< 0 if the stream carries no distances
  bool operator==(const HeldNeighbor&) const = default;
};

struct HeldState {
  Position position{};     ///< zeros if the stream carries no positions
  std::uint32_t tags = 0;  ///< 0 if the stream carries no tags
  bool operator==(const HeldState&) const = default;
};

struct HeldList {
  std::vector<HeldNeighbor> neighbors{};  ///< nearest first
  /// One per neighbour; empty if the stream carries neither positions nor tags.
  std::vector<HeldState> states{};
  /// The label for which the neighbours vote; no_label if the query does not vote or no neighbour
  /// has a label.
  Label vote = no_label;
  /// The mean of the neighbours' values; std::nullopt if the query asks for no mean or no neighbour
  /// has a value.
  std::optional<double> mean{};
  bool operator==(const HeldList&) const = default;
};

using ListStore = std::unordered_map<ListKey, HeldList, ListKeyHash>;

ListKey key_of(const ListChunk& chunk, std::size_t list);
HeldList list_of(const ListChunk& chunk, std::size_t list);

/// Returns about how much memory the lists take. Takes time linear in the number of lists.
std::size_t bytes_of(const ListStore& lists);
/// Returns about how much memory a list takes in a ListStore.
std::size_t bytes_of(const HeldList& list);
/// Returns about how much memory the chunk's lists would take in an empty ListStore.
std::size_t bytes_of(const ListChunk& chunk);

/// Erases the lists of `keys`. A key without a subject erases all lists of the key's query.
void remove_lists(ListStore& lists, std::span<const ListKey> keys);

}  // namespace starling::protocol
