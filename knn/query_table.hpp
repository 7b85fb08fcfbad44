// Streams and their standing queries: ids to slots, leases, and the rows staged for the engine.
// Owned by Processor.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "knn/engine.hpp"
#include "knn/object_table.hpp"
#include "knn/query.hpp"

namespace starling {

/// Streams are numbered from 0 in the order they were first put; they are never removed.
enum class StreamId : std::uint32_t {};

struct QueryTableOptions {
  std::uint64_t queries_max = 1u << 24;
  std::uint32_t streams_max = 4096;
  std::uint32_t k_max = starling::k_max;
};

enum class StreamStatus : std::uint8_t {
  accepted,
  bad_name,  ///< empty, longer than stream_name_bytes_max, or with a NUL
  too_many_streams,
};
inline constexpr std::size_t stream_name_bytes_max = 255;

enum class QueryStatus : std::uint8_t {
  accepted,
  unknown_query,
  k_zero,
  k_too_large,
  too_many_queries,
  too_many_objects,  ///< no room to remember the followed id
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
  /// The begun tick takes the removals staged so far; call after the engine swapped its halves.
  void tick_begun();
  /// That tick has reported them; their slots may be used again.
  void tick_finished();

  /// The query's slot, or no_slot.
  Slot find(StreamId stream, QueryId id) const;
  std::vector<Slot> slots_of(StreamId stream) const;  ///< by query id

  /// Owner of a slot: valid from put until the tick that reports its removal has finished.
  StreamId stream_of(Slot slot) const { return entries_[slot].stream; }
  QueryId id_of(Slot slot) const { return entries_[slot].definition.id; }
  const QueryDefinition& definition_of(Slot slot) const { return entries_[slot].definition; }

  std::uint64_t query_count() const { return count_; }

  /// Not while a tick is under way.
  QueryTableState export_state() const;
  /// Only into an empty table; stages every query anew, as ObjectTable does.
  void import_state(const QueryTableState& state, Staging& staging);

 private:
  struct Stream {
    StreamDefinition definition;
    std::unordered_map<std::uint64_t, Slot> slots;    ///< by query id
    std::unordered_map<std::uint64_t, Slot> removed;  ///< of removed_staged_, by query id
  };
  struct Entry : QueryTableState::Entry {
    std::uint32_t staged_row = 0;  ///< valid if that row of the half is this slot's
  };

  QueryStatus check(const QueryDefinition& definition) const;
  Stream& stream_at(StreamId id) { return streams_[static_cast<std::size_t>(id)]; }
  Slot allocate(StreamId stream, QueryId id);
  void drop(Slot slot, ObjectTable& objects, Staging& staging);
  void stage(Slot slot, Staging& staging);

  QueryTableOptions options_;
  std::vector<Stream> streams_;
  std::unordered_map<std::string, StreamId> streams_by_name_;
  std::vector<Entry> entries_;
  std::vector<Slot> free_slots_;
  std::vector<Slot> removed_staged_;  ///< in the half being written
  std::vector<Slot> removed_begun_;   ///< in the tick under way
  std::uint64_t count_ = 0;
  std::int64_t earliest_lease_us_ = QueryDefinition::no_lease;  ///< lower bound
};

}  // namespace starling
