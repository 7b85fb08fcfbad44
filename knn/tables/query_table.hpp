// SPDX-License-Identifier: Apache-2.0
// The table of streams and standing queries: the slot of each id, leases, and the rows staged for
// the engine. Processor owns the table.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "starling/knn/base/lazy_memory.hpp"
#include "starling/knn/base/segmented_vector.hpp"
#include "starling/knn/engine/staging.hpp"
#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/tables/query_registry.hpp"
#include "starling/knn/words/metric.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/query_slot.hpp"
#include "starling/knn/words/types.hpp"

namespace starling {

struct QueryTableOptions {
  std::uint64_t queries_max = 1u << 24;
  /// The most queries of an owner without QueryOwner::queries_max.
  std::uint64_t owner_queries_max = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t streams_max = 4096;
  std::uint32_t k_max = starling::k_max;
  /// The limit on the neighbours in all lists together. The engine keeps copies of the lists, with
  /// 20 bytes for each neighbour in each copy. A fixed or following query counts k. An every-object
  /// query counts k for each object alive. Its subject filter does not lower this number, because
  /// tags may change.
  std::uint64_t neighbors_max = std::uint64_t{1} << 27;
  std::uint32_t dimension = 0;  ///< dimension of a vector space, else 0; Processor sets it
  Metric metric = Metric::l2;   ///< metric of a vector space; Processor sets it
  /// The seed of the hash of query ids. Clients choose the ids, so the server draws a secret seed.
  std::uint64_t hash_seed = 0;
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
  too_many_objects,       ///< the object table has no room for the followed id
  too_many_neighbors,     ///< all lists together would exceed neighbors_max
  too_many_list_bytes,    ///< all lists together would exceed QueryTable::set_list_bytes_max
  wrong_dimension,        ///< a fixed anchor has another number of components than the space
  no_labels,              ///< a vote is asked for outside a vector space
  no_values,              ///< a mean is asked for outside a vector space
  no_weights,             ///< a mean is to be weighted by inner products, which may be negative
  not_owner,              ///< the query belongs to another owner
  beyond_query_quota,     ///< QueryOwner::queries_max
  beyond_neighbor_quota,  ///< QueryOwner::neighbors_max
};

/// The owner that puts or removes queries, with its rights and quotas.
struct QueryOwner {
  std::uint64_t owner = 0;        ///< QueryDefinition::owner of its queries
  bool may_change_others = true;  ///< may also replace and remove the queries of other owners
  /// The most queries of this owner; std::nullopt: QueryTableOptions::owner_queries_max.
  std::optional<std::uint64_t> queries_max{};
  /// The most neighbours in the lists of its queries, which count as for
  /// QueryTableOptions::neighbors_max. An every-object query counts k at least.
  std::optional<std::uint64_t> neighbors_max{};
};

/// Returns QueryOwner::neighbors_max of the owner of this number, as it is now.
using NeighborQuotas = std::function<std::optional<std::uint64_t>(std::uint64_t owner)>;

/// An every-object query that was removed, because its lists have outgrown a limit.
struct OutgrownQuery {
  enum class Limit : std::uint8_t {
    of_owner,  ///< the quota of its owner
    of_table,  ///< QueryTableOptions::neighbors_max
    memory,    ///< QueryTable::set_list_bytes_max
  };

  StreamId stream{};
  QueryId id{};
  std::uint64_t owner = 0;
  std::uint32_t k = 0;
  Limit limit{};
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
  std::vector<StreamId> free_streams;     ///< numbers of streams that are gone
  std::vector<StreamId> removed_streams;  ///< streams whose removal no tick has taken yet
  std::vector<Entry> entries;             ///< [slot]
  /// The slots of all live queries, in the order in which they become members of their streams.
  /// Empty in states of older versions: queries then become members in the order of slots.
  std::vector<Slot> members;
  std::vector<Slot> free_slots;
  std::vector<Slot> removed;  ///< slots of queries whose removal no tick has taken yet
};

/// The table of queries, which finds a query by stream and id or by slot. Programs read the table
/// through Processor::queries and change it through Processor::put_queries. Throws
/// std::invalid_argument for a number that no stream has and for a slot that no query has. Example:
/// examples/own_clock.cpp
///
///     processor.put_queries(*processor.queries().find_stream("riders"), queries, statuses);
class QueryTable {
 public:
  explicit QueryTable(const QueryTableOptions& options)
      : options_(options), registry_(options.hash_seed) {}

  /// Adds a stream, or changes what an existing stream reports. The rows of the stream's queries
  /// change with the next tick: see prepare_tick.
  StreamStatus put_stream(const StreamDefinition& definition);
  /// Removes the stream and all its queries. find_stream does not find it any more. The next tick
  /// that finishes without an error reports the removals, and frees the stream's number. If a
  /// stream of the same name is put before that, it gets the same number.
  void remove_stream(StreamId id, ObjectTable& objects, Staging& staging);
  /// Removes a stream in slices. Call begin_remove_stream once, then remove_some until it returns
  /// true, before the next tick begins and before anything else changes the table. Each call
  /// removes at most `queries_max` queries.
  void begin_remove_stream(StreamId id);
  bool remove_some(StreamId id, std::size_t queries_max, ObjectTable& objects, Staging& staging);
  std::optional<StreamId> find_stream(std::string_view name) const;
  /// Returns the definition of a stream. It is valid until a new stream gets the stream's number.
  const StreamDefinition& stream(StreamId id) const { return known(id).definition; }
  std::size_t stream_count() const { return stream_count_; }
  /// Every StreamId is less than this number.
  std::size_t stream_id_end() const { return streams_.size(); }
  /// Returns whether the stream was put and not removed. False for a number that no stream has.
  bool is_live(StreamId id) const { return is_known(id) && known(id).state == StreamState::live; }
  /// Throws std::invalid_argument unless the stream is live. The sentence begins with `function`.
  void check_live(const char* function, StreamId id) const;
  /// Returns whether a tick that finishes now reports the stream: it is live, or no tick has
  /// reported its removal yet.
  bool is_reported(StreamId id) const {
    return is_known(id) && known(id).state != StreamState::gone;
  }
  std::uint64_t query_count(StreamId id) const { return known(id).members.size(); }
  /// Returns how many of the stream's queries have another owner than the stream.
  std::uint64_t foreign_query_count(StreamId id) const { return known(id).foreign_count; }
  /// Returns the streams whose removal the oldest tick under way has taken. Empty if no tick is
  /// under way.
  std::span<const StreamId> leaving_streams() const {
    if (removed_begun_.empty()) return {};
    return removed_begun_.front().streams;
  }

  /// Adds a query to a live stream, or replaces the stream's query with this id. The query then
  /// belongs to `owner.owner`. Without the argument `owner`, it belongs to definition.owner, and
  /// may replace the query of any owner.
  QueryStatus put(StreamId stream, const QueryDefinition& definition, ObjectTable& objects,
                  Staging& staging);
  QueryStatus put(StreamId stream, const QueryDefinition& definition, const QueryOwner& owner,
                  ObjectTable& objects, Staging& staging);
  QueryStatus remove(StreamId stream, QueryId id, const QueryOwner& owner, ObjectTable& objects,
                     Staging& staging);

  /// After set_may_grow(false), put accepts only a query that replaces another and has no larger k.
  /// It refuses all others as if the table were full.
  void set_may_grow(bool may_grow) { may_grow_ = may_grow; }

  /// Moves the end of every lease by `duration_us`.
  void move_leases(std::int64_t duration_us);
  /// Stages the queries of streams whose definition has changed, and removes queries whose lease
  /// ended before `tau_us`. Each call takes at most `queries_max` queries. Returns true if the
  /// table is ready. If it returns false, call it again before anything else changes the table.
  bool prepare_tick(std::int64_t tau_us, std::size_t queries_max, ObjectTable& objects,
                    Staging& staging);
  /// Removes every-object queries whose lists have outgrown a limit, because objects were added
  /// after the queries or because the limit is lower now. First, an owner beyond its quota loses
  /// its queries, those with the largest k first, until the rest fits. Then queries are removed
  /// until all lists fit neighbors_max and the bytes of set_list_bytes_max. Each time, the owner
  /// whose every-object queries hold the most neighbours loses the query with its largest k. So a
  /// small owner keeps its queries while a large owner has any. If owners tie, the query with the
  /// larger k goes first, then the query in the higher slot. Removes at most `queries_max` queries,
  /// and returns them in order; fewer than `queries_max`: the rest fits. Call when the table of
  /// objects is ready for the tick. `quotas` may be empty.
  std::vector<OutgrownQuery> remove_outgrown(const NeighborQuotas& quotas, std::size_t queries_max,
                                             ObjectTable& objects, Staging& staging);
  /// Call after the engine has swapped its halves. The tick that has begun has then taken all
  /// removals that were staged.
  void tick_begun();
  /// Call if the oldest tick under way has finished. It has reported the removals that it took, so
  /// the slots of the removed queries are free again.
  void tick_finished();
  /// Call if the oldest tick under way has failed. It has reported nothing, so the next tick, which
  /// may have begun already, takes the same removals again.
  void tick_failed();

  /// Returns the slot of the query, or no_slot.
  Slot find(StreamId stream, QueryId id) const;
  /// Returns a stream's queries, in no particular order. The span is valid until a query of the
  /// stream is put or removed.
  std::span<const QuerySlot> members_of(StreamId stream) const { return known(stream).members; }

  /// Return the stream, the id and the definition of the query in a slot. They are valid from put
  /// until the tick that reports the query's removal has finished.
  StreamId stream_of(Slot slot) const { return known(slot).stream; }
  QueryId id_of(Slot slot) const { return known(slot).definition.id; }
  const QueryDefinition& definition_of(Slot slot) const { return known(slot).definition; }
  /// Every slot of a query is less than this number.
  Slot slot_end() const { return static_cast<Slot>(entries_.size()); }
  bool is_live(Slot slot) const {
    return slot < entries_.size() && is_alive(entries_[slot].generation);
  }
  /// Prefetches what stream_of and id_of read.
  void prefetch(Slot slot) const;

  std::uint64_t query_count() const { return count_; }
  /// Returns the largest number of queries that one owner has.
  std::uint64_t owner_query_count_most() const;
  /// Returns the number of neighbours that all lists may hold now, as neighbors_max counts them.
  std::uint64_t neighbor_count(const ObjectTable& objects) const;

  /// Returns about how many bytes all lists may take now, with the engine's copies, the reports and
  /// the messages of a tick that reports every list.
  std::uint64_t list_bytes(const ObjectTable& objects) const;
  /// From now on, put refuses a query with which list_bytes would grow beyond `bytes`, and
  /// remove_outgrown keeps to this limit, too. Before the first call, the bytes have no limit.
  void set_list_bytes_max(std::uint64_t bytes) { list_bytes_max_ = bytes; }

  /// Call only between ticks.
  QueryTableState export_state() const;
  /// Call only on an empty table. Stages every query again.
  void import_state(const QueryTableState& state, Staging& staging);

 private:
  enum class StreamState : std::uint8_t {
    live,
    leaving,  ///< removed, but no tick has reported it yet
    gone,     ///< its number is free
  };
  struct Stream {
    StreamDefinition definition;
    StreamState state = StreamState::live;
    std::uint64_t foreign_count = 0;  ///< number of queries that have another owner than the stream
    bool is_restaged = false;         ///< the stream is in restaged_
    std::pmr::vector<QuerySlot> members{lazy_memory()};  ///< the stream's live queries
  };
  struct Entry : QueryTableState::Entry {
    std::uint32_t staged_row = 0;  ///< valid only if that row of the staging half has this slot
    std::uint32_t place = 0;       ///< a live query's index in Stream::members
    // A slot without a live query is in a SlotList. These are the slots before and after it in that
    // list, and the number of the Removals to which it was added.
    Slot before = no_slot;
    Slot after = no_slot;
    std::uint64_t removals = 0;
  };
  /// A list of slots without live queries, linked through their entries. Removing a slot and
  /// joining two lists take constant time.
  struct SlotList {
    Slot first = no_slot;
    Slot last = no_slot;
  };
  /// The slots of removed queries. A query that is put again before its removal is reported gets
  /// the same slot.
  struct Removals {
    std::uint64_t number = 1;
    SlotList queries;
    std::vector<StreamId> streams;
  };
  /// The live queries of one owner, as its quotas count them.
  /// The order of owners in remove_outgrown: the last owner loses a query first.
  struct OwnerRank {
    std::uint64_t neighbors_per_object = 0;
    std::pair<std::uint32_t, Slot> largest;  ///< k and slot of the query that the owner loses first

    auto operator<=>(const OwnerRank&) const = default;
  };
  /// Every-object queries of one owner.
  struct OwnerLists {
    std::uint64_t neighbors_per_object = 0;
    std::set<std::pair<std::uint32_t, Slot>> queries;  ///< ordered by k

    OwnerRank rank() const { return {neighbors_per_object, *queries.rbegin()}; }
  };
  /// A stream whose queries are staged again with the next tick, from the member `next` on.
  struct Restaged {
    StreamId stream{};
    std::size_t next = 0;
  };
  /// Lists, and the neighbours for which they have room.
  struct Lists {
    std::uint64_t count = 0;
    std::uint64_t neighbors = 0;
  };
  /// The lists of live queries.
  struct Room {
    Lists once;        ///< lists of fixed and following queries
    Lists per_object;  ///< lists of every-object queries, for each object

    void add(const QueryDefinition& definition);
    void subtract(const QueryDefinition& definition);
    Lists& of(const QueryDefinition& definition) {
      return definition.anchor.kind == AnchorKind::every_object ? per_object : once;
    }
    // At most `countless`, which is beyond every limit.
    std::uint64_t neighbors(std::uint64_t objects) const;
    std::uint64_t bytes(std::uint64_t objects) const;
  };
  /// The live queries of one owner, as its quotas count them.
  struct OwnerTaken {
    std::uint64_t queries = 0;
    Room room;
  };

  bool is_known(StreamId id) const { return static_cast<std::size_t>(id) < streams_.size(); }
  const Stream& known(StreamId id) const {
    if (!is_known(id)) [[unlikely]]
      refuse(id);
    return streams_[static_cast<std::size_t>(id)];
  }
  const Entry& known(Slot slot) const {
    if (slot >= entries_.size()) [[unlikely]]
      refuse(slot);
    return entries_[slot];
  }
  [[noreturn]] void refuse(StreamId id) const;
  [[noreturn]] void refuse(Slot slot) const;
  QueryStatus check(const QueryDefinition& definition) const;
  bool fits(const Room& room, const ObjectTable& objects) const;
  bool fits_memory(const Room& room, const ObjectTable& objects) const;
  OutgrownQuery drop_outgrown(Slot slot, OutgrownQuery::Limit limit, ObjectTable& objects,
                              Staging& staging);
  QueryStatus check_owner(const QueryDefinition& definition, const QueryOwner& owner, Slot slot,
                          const ObjectTable& objects) const;
  bool is_foreign(Slot slot) const;
  void enter(Slot slot);
  void leave(Slot slot);
  Stream& stream_at(StreamId id) { return streams_[static_cast<std::size_t>(id)]; }
  void put_known_stream(StreamId id, const StreamDefinition& definition);
  /// Returns `slot` if it has a live query, else no_slot.
  Slot if_live(Slot slot) const { return is_live(slot) ? slot : no_slot; }
  bool has_place(Slot known) const;
  Slot allocate(StreamId stream, QueryId id, Slot known);
  void push_back(SlotList& list, Slot slot);
  void unlink(SlotList& list, Slot slot);
  void append(SlotList& list, SlotList& appended);
  SlotList& list_of(Slot slot);
  std::vector<Slot> slots_in(const SlotList& list) const;
  static std::vector<Slot> members_in(const QueryTableState& state);
  void add_member(Slot slot, QueryId id);
  void drop(Slot slot, ObjectTable& objects, Staging& staging);
  void stage(Slot slot, Staging& staging);

  QueryTableOptions options_;
  std::vector<Stream> streams_;
  std::map<std::string, StreamId, std::less<>> streams_by_name_;  ///< live and leaving streams
  std::deque<Restaged> restaged_;
  std::vector<StreamId> free_streams_;
  std::size_t stream_count_ = 0;  ///< number of live streams
  SegmentedVector<Entry> entries_;
  QueryRegistry registry_;  ///< ids of live queries, and of the last query in each other slot
  SlotList free_slots_;
  Removals removed_staged_;             ///< removals in the half that is written now
  std::uint64_t reported_ = 0;          ///< number of the last Removals that a tick has reported
  std::deque<Removals> removed_begun_;  ///< removals that each tick under way has taken
  std::uint64_t count_ = 0;
  Room room_;
  std::uint64_t list_bytes_max_ = std::numeric_limits<std::uint64_t>::max();
  bool may_grow_ = true;
  /// [owner]; only owners with queries.
  std::unordered_map<std::uint64_t, OwnerTaken> taken_;
  std::set<std::pair<std::int64_t, Slot>> leases_;  ///< ordered by end, in us
  /// [owner]; only owners with every-object queries.
  std::map<std::uint64_t, OwnerLists> every_object_;
  std::set<OwnerRank> every_object_ranks_;  ///< the owners in every_object_, ranked
};

}  // namespace starling
