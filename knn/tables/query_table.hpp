// Streams and their standing queries: ids to slots, leases, and the rows staged for the engine.
// Owned by Processor.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "starling/knn/engine/staging.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

/// Streams are numbered from 0 in the order they were first put; they are never removed.
enum class StreamId : std::uint32_t {};

struct QueryTableOptions {
  std::uint64_t queries_max = 1u << 24;
  std::uint64_t owner_queries_max = std::numeric_limits<std::uint64_t>::max();  ///< of one owner
  std::uint32_t streams_max = 4096;
  std::uint32_t k_max = starling::k_max;
  /// Neighbours that all lists together may hold, 20 bytes each in every copy that the engine
  /// keeps. A fixed or following query counts k; an every-object query counts k for each object
  /// alive, whatever its subject filter, since tags change.
  std::uint64_t neighbors_max = std::uint64_t{1} << 27;
  std::uint32_t dimension = 0;  ///< of a vector space, else 0; Processor sets it
};

enum class StreamStatus : std::uint8_t {
  accepted,
  bad_name,  ///< empty, longer than stream_name_bytes_max, or with a NUL
  too_many_streams,
};

enum class QueryStatus : std::uint8_t {
  accepted,
  unknown_query,
  k_zero,
  k_too_large,
  too_many_queries,
  too_many_queries_of_owner,
  too_many_objects,    ///< no room to remember the followed id
  too_many_neighbors,  ///< all lists together would pass neighbors_max
  wrong_dimension,     ///< components of a fixed anchor are not as many as the space's
  no_labels,           ///< a vote outside of vector spaces
};

std::string_view to_string(StreamStatus status);
std::string_view to_string(QueryStatus status);

/// The whole table, for export and import.
struct QueryTableState {
  struct Entry {
    StreamId stream{};
    QueryDefinition definition;
    Slot object = no_slot;         ///< follow: the object's slot
    std::uint32_t generation = 0;  ///< even: removed or free
  };
  std::vector<StreamDefinition> streams;
  std::vector<Entry> entries;  ///< by slot
  std::vector<Slot> free_slots;
  std::vector<Slot> removed;  ///< not yet taken by a tick
};

class QueryTable {
 public:
  explicit QueryTable(const QueryTableOptions& options) : options_(options) {}

  StreamStatus put_stream(const StreamDefinition& definition, Staging& staging);
  std::optional<StreamId> find_stream(std::string_view name) const;
  const StreamDefinition& stream(StreamId id) const {
    return streams_[static_cast<std::size_t>(id)].definition;
  }
  std::size_t stream_count() const { return streams_.size(); }

  QueryStatus put(StreamId stream, const QueryDefinition& definition, ObjectTable& objects,
                  Staging& staging);
  QueryStatus remove(StreamId stream, QueryId id, ObjectTable& objects, Staging& staging);

  /// Removes queries whose lease ended before `tau_us`.
  void prepare_tick(std::int64_t tau_us, ObjectTable& objects, Staging& staging);
  /// Objects came since the puts: removes as many every-object queries, the largest k first, as it
  /// takes for all lists to fit neighbors_max again, and says how many. Call once the objects are
  /// as the tick will see them.
  std::uint64_t remove_outgrown(ObjectTable& objects, Staging& staging);
  /// The begun tick takes the removals staged so far; call after the engine swapped its halves.
  void tick_begun();
  /// That tick has reported them; their slots may be used again.
  void tick_finished();
  /// That tick has reported nothing; the next one takes them again.
  void tick_failed();

  /// The query's slot, or no_slot.
  Slot find(StreamId stream, QueryId id) const;
  std::vector<Slot> slots_of(StreamId stream) const;  ///< by query id

  /// Owner of a slot: valid from put until the tick that reports its removal has finished.
  StreamId stream_of(Slot slot) const { return entries_[slot].stream; }
  QueryId id_of(Slot slot) const { return entries_[slot].definition.id; }
  const QueryDefinition& definition_of(Slot slot) const { return entries_[slot].definition; }

  std::uint64_t query_count() const { return count_; }
  /// Of the owner who has the most.
  std::uint64_t owner_query_count_most() const;
  /// Neighbours that all lists may hold now, as neighbors_max counts them.
  std::uint64_t neighbor_count(const ObjectTable& objects) const;

  /// Not while a tick is under way.
  QueryTableState export_state() const;
  /// Only into an empty table; stages every query anew, as ObjectTable does.
  void import_state(const QueryTableState& state, Staging& staging);

 private:
  struct Stream {
    StreamDefinition definition;
    std::unordered_map<std::uint64_t, Slot> slots;  ///< by query id
  };
  struct Entry : QueryTableState::Entry {
    std::uint32_t staged_row = 0;  ///< valid if that row of the half is this slot's
  };
  /// Slots of removed queries by who had them. Until its removal is reported, a query has one slot.
  using RemovedSlots = std::map<std::pair<StreamId, QueryId>, Slot>;
  /// What the lists of live queries need.
  struct Room {
    std::uint64_t neighbors = 0;             ///< of lists whose number is known
    std::uint64_t neighbors_per_object = 0;  ///< of every-object queries

    std::uint64_t& of(const QueryDefinition& definition) {
      return definition.anchor.kind == AnchorKind::every_object ? neighbors_per_object : neighbors;
    }
  };

  QueryStatus check(const QueryDefinition& definition) const;
  bool fits(const Room& room, const ObjectTable& objects) const;
  bool may_own(std::uint64_t owner, Slot slot) const;
  void enter(Slot slot);
  void leave(Slot slot);
  Stream& stream_at(StreamId id) { return streams_[static_cast<std::size_t>(id)]; }
  Slot allocate(StreamId stream, QueryId id);
  void drop(Slot slot, ObjectTable& objects, Staging& staging);
  void stage(Slot slot, Staging& staging);

  QueryTableOptions options_;
  std::vector<Stream> streams_;
  std::unordered_map<std::string, StreamId> streams_by_name_;
  std::vector<Entry> entries_;
  std::vector<Slot> free_slots_;
  RemovedSlots removed_staged_;  ///< in the half being written
  RemovedSlots removed_begun_;   ///< in the tick under way
  std::uint64_t count_ = 0;
  Room room_;
  std::unordered_map<std::uint64_t, std::uint64_t> owner_query_counts_;  ///< none is 0
  std::set<std::pair<std::int64_t, Slot>> leases_;                       ///< by end, in us
  std::set<std::pair<std::uint32_t, Slot>> every_object_;                ///< by k
};

}  // namespace starling
