// Neighbour lists as a client holds them, by query and subject. Filled from chunks by a
// subscription and by one-shot answers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/list_chunk.hpp"

namespace starling::protocol {

struct ListKey {
  QueryId query{};
  bool has_subject = false;  ///< from an every-object query: the list of object `subject`
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
  std::vector<HeldState> states{};        ///< one a neighbour, or empty: the stream carries neither
  Label vote = no_label;  ///< of the neighbours' labels, if the query votes and any has one
  bool operator==(const HeldList&) const = default;
};

using ListStore = std::unordered_map<ListKey, HeldList, ListKeyHash>;

ListKey key_of(const ListChunk& chunk, std::size_t list);
HeldList list_of(const ListChunk& chunk, std::size_t list);

/// Takes lists out. A key without a subject takes all lists of its query with it.
void remove_lists(ListStore& lists, std::span<const ListKey> keys);

}  // namespace starling::protocol
