// SPDX-License-Identifier: Apache-2.0
// Copies the lists of a chunk out of its arrays: see list_store.hpp.
#include "starling/protocol/client/list_store.hpp"

#include <cmath>
#include <functional>
#include <unordered_set>

#include "starling/knn/base/usage.hpp"

namespace starling::protocol {
namespace {

// An entry of a ListStore, and what the map and the allocator add.
constexpr std::size_t held_list_bytes = sizeof(ListStore::value_type) + 4 * sizeof(void*);

void check_list(const char* function, const ListChunk& chunk, std::size_t list) {
  check_usage(list < chunk.list_count(), function, ": the chunk has ", chunk.list_count(),
              " lists, so there is no list ", list);
}

}  // namespace

std::size_t ListKeyHash::operator()(const ListKey& key) const {
  const std::hash<std::uint64_t> hash;
  // The factor is 2^64 divided by the golden ratio. Without a factor, two keys whose query and
  // subject are exchanged would have the same hash.
  return hash(to_number(key.query) * 0x9e3779b97f4a7c15ULL + to_number(key.subject) +
              (key.has_subject ? 1 : 0));
}

ListKey key_of(const ListChunk& chunk, std::size_t list) {
  check_list("key_of", chunk, list);
  ListKey key{.query = QueryId{chunk.query_ids[list]}};
  if (chunk.subject_of(list)) {
    key.has_subject = true;
    key.subject = ObjectId{chunk.subject_ids[list]};
  }
  return key;
}

HeldList list_of(const ListChunk& chunk, std::size_t list) {
  check_list("list_of", chunk, list);
  HeldList held;
  held.vote = chunk.vote_of(list);
  if (const double mean = chunk.mean_of(list); !std::isnan(mean)) held.mean = mean;
  const std::size_t count = chunk.neighbor_count(list);
  const bool has_states = !chunk.positions.empty() || !chunk.tags.empty();
  held.neighbors.resize(count);
  if (has_states) held.states.resize(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    const std::size_t at = chunk.offsets[list] + rank;
    held.neighbors[rank].object = ObjectId{chunk.object_ids[at]};
    if (!chunk.distances_m.empty()) held.neighbors[rank].distance_m = chunk.distances_m[at];
    if (!chunk.positions.empty())
      for (std::size_t axis = 0; axis < 3; ++axis)
        held.states[rank].position[axis] = chunk.positions[3 * at + axis];
    if (!chunk.tags.empty()) held.states[rank].tags = chunk.tags[at];
  }
  return held;
}

std::size_t bytes_of(const HeldList& list) {
  return held_list_bytes + list.neighbors.size() * sizeof(HeldNeighbor) +
         list.states.size() * sizeof(HeldState);
}

std::size_t bytes_of(const ListChunk& chunk) {
  const bool has_states = !chunk.positions.empty() || !chunk.tags.empty();
  return chunk.list_count() * held_list_bytes +
         chunk.object_ids.size() * (sizeof(HeldNeighbor) + (has_states ? sizeof(HeldState) : 0));
}

std::size_t bytes_of(const ListStore& lists) {
  std::size_t bytes = 0;
  for (const auto& [key, list] : lists) bytes += bytes_of(list);
  return bytes;
}

void remove_lists(ListStore& lists, std::span<const ListKey> keys) {
  // A query has either one list without a subject, or one list for each subject. If a key has no
  // subject and erase() finds no list, all lists of the key's query are erased below. One pass over
  // `lists` does this for all these keys together.
  std::unordered_set<std::uint64_t> queries;
  for (const ListKey& key : keys)
    if (lists.erase(key) == 0 && !key.has_subject) queries.insert(to_number(key.query));
  if (queries.empty()) return;
  std::erase_if(lists,
                [&](const auto& entry) { return queries.contains(to_number(entry.first.query)); });
}

}  // namespace starling::protocol
