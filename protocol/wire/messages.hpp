// SPDX-License-Identifier: Apache-2.0
// Every request and reply of the commands socket as a plain C++ struct. Encoders read these structs
// and decoders fill them. The spans and string views of a decoded message point into its frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "starling/knn/words/filter.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/knn/words/rectangle.hpp"
#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/list_chunk.hpp"
#include "starling/protocol/wire/run.hpp"

namespace starling::protocol {

struct RequestHead {
  std::uint64_t request_id = 0;  ///< the client's choice, echoed in the reply
  std::uint64_t session = 0;     ///< session of the HelloReply; 0 in Hello
  std::uint64_t sequence = 0;    ///< 1, 2, 3, ... without gaps in sequenced requests; else 0
  bool operator==(const RequestHead&) const = default;
};

struct Hello {
  std::string_view client{};         ///< a name for logs
  std::string_view key{};            ///< reserved for access rights; leave it empty
  std::uint64_t resume_session = 0;  ///< the session to continue, or 0
  std::uint64_t first_sequence = 1;  ///< first sequence number, if this Hello begins a session
};

/// The columns that a row of an UpdateBatch may leave out, as bits of UpdateBatch::row_columns.
enum RowColumn : std::uint8_t { tags_column = 1, label_column = 2, value_column = 4 };
inline constexpr std::uint8_t all_row_columns = tags_column | label_column | value_column;

/// Positions or vectors, each with its time. Either `coordinates` or `coordinates_f32` holds the
/// rows one after another, with `components_a_row()` numbers in each row.
struct UpdateBatch {
  std::span<const std::uint64_t> ids{};
  std::span<const std::int64_t> times_us{};
  std::uint8_t components = 2;  ///< numbers in each row; not used in a vector space
  std::span<const double> coordinates{};
  std::span<const float> coordinates_f32{};
  std::span<const std::uint32_t> tags{};  ///< empty: tags stay as they are
  std::uint32_t dimension = 0;            ///< numbers in each row of a vector space; else 0
  std::span<const Label> labels{};   ///< empty: labels stay as they are; no_label removes a label
  std::span<const double> values{};  ///< empty: values stay as they are; NaN removes a value
  /// The columns that each row has, as bits of RowColumn. `tags`, `labels` and `values` then have
  /// entries for the rows with their bit alone, and nothing for the other rows, which keep theirs.
  /// Empty: each of these arrays has an entry for every row, or for no row.
  std::span<const std::uint8_t> row_columns{};

  std::size_t components_a_row() const { return dimension != 0 ? dimension : components; }
};

struct UpdateTags {
  std::span<const std::uint64_t> ids{};
  std::span<const std::int64_t> times_us{};
  std::span<const std::uint32_t> set{};
  std::span<const std::uint32_t> clear{};
};

struct RemoveObjects {
  std::span<const std::uint64_t> ids{};
  std::span<const std::int64_t> times_us{};
};

struct PutNames {
  std::span<const std::uint64_t> ids{};
  std::vector<std::string_view> texts{};
};

struct PutStream {
  std::string_view name{};
  ReportOn on = ReportOn::order;
  ReportWith with{};
};

/// A standing query, or a one-shot question of GetNeighbors, as it is sent on the wire.
struct QuerySpec {
  static constexpr double any_distance_m = std::numeric_limits<double>::infinity();

  QueryId id{};
  std::uint32_t k = 1;
  AnchorKind anchor = AnchorKind::fixed;
  Position position{};          ///< position of a fixed anchor, except in a vector space
  std::vector<float> vector{};  ///< vector of a fixed anchor in a vector space
  ObjectId object{};            ///< the object that a follow anchor follows
  TagFilter tags{};
  double distance_max_m = any_distance_m;  ///< not NaN; may be negative for inner_product only
  std::int64_t age_max_us = Filter::any_age;
  TagFilter subject{};         ///< filter of an every_object anchor: which objects get a list
  std::uint64_t lease_ms = 0;  ///< 0: the query stays until it is removed
  /// Report each list's vote, in a vector space only (see knn/vectors/vote.hpp).
  bool vote = false;
  /// In a vector space: report each list's mean (see knn/vectors/regression.hpp).
  RegressionWeights regress = RegressionWeights::none;
  bool operator==(const QuerySpec&) const = default;
};

struct PutQueries {
  std::string_view stream{};
  std::vector<QuerySpec> queries{};
};

struct RemoveQueries {
  std::string_view stream{};
  std::span<const std::uint64_t> ids{};
};

struct GetSnapshot {
  std::string_view stream{};
  std::span<const std::uint64_t> query_ids{};  ///< empty: all queries of the stream
  std::uint64_t page = 0;  ///< 0: the first page; else next_page of the page before
};

/// One-shot questions about the last finished tick. Only fixed and follow anchors are allowed. Ids
/// and leases are ignored.
struct GetNeighbors {
  std::vector<QuerySpec> questions{};
  /// Time in microseconds since 1970. If it is set, the questions are about the last tick at or
  /// before this time, from the server's log.
  std::optional<std::int64_t> at_us{};
};

struct GetStats {};

struct AdvanceTick {
  std::int64_t tau_us = 0;
};

struct ReportReceived {
  std::string_view stream{};
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;  ///< sequence of the newest message received
  std::uint64_t lost = 0;      ///< ticks of this epoch lost since the client subscribed
};

/// Asks for the texts that PutNames gave for these ids.
struct GetNames {
  std::span<const std::uint64_t> object_ids{};
};

/// Asks for the streams of the server. ListStreams, ListQueries and GetObjects are answered in
/// pages: `page` is 0 for the first page, or next_page of the page before. `rows_max` limits the
/// rows of the page; 0: as many as the server allows.
struct ListStreams {
  std::uint64_t page = 0;
  std::uint32_t rows_max = 0;
};

/// Asks for the standing queries of a stream, page by page as in ListStreams.
struct ListQueries {
  std::string_view stream{};
  std::uint64_t page = 0;
  std::uint32_t rows_max = 0;
};

/// Removes a stream and all its queries.
struct RemoveStream {
  std::string_view name{};
};

/// Asks for objects by their ids, in one page, or for all objects in a rectangle, page by page.
struct GetObjects {
  std::span<const std::uint64_t> object_ids{};
  std::optional<Rectangle> rectangle{};  ///< std::nullopt: `object_ids` names the objects
  std::uint64_t page = 0;
  std::uint32_t rows_max = 0;
};

/// Ends the session that sends it. Send it after all other requests of the session are answered.
struct EndSession {};

using RequestBody =
    std::variant<Hello, UpdateBatch, UpdateTags, RemoveObjects, PutNames, PutStream, PutQueries,
                 RemoveQueries, GetSnapshot, GetNeighbors, GetStats, AdvanceTick, ReportReceived,
                 GetNames, ListStreams, ListQueries, RemoveStream, GetObjects, EndSession>;

/// Returns how many of the rows [first, first + count) have an entry in the array of `column`. Call
/// it for a batch with `row_columns`.
std::size_t entries_in(const UpdateBatch& batch, RowColumn column, std::size_t first,
                       std::size_t count);

/// Returns true if the request changes the server's state and therefore carries a sequence number.
/// These requests are the batches, PutStream, RemoveStream and AdvanceTick.
bool is_sequenced(const RequestBody& body);

/// Returns a lower bound of the encoded request's length, without encoding it. The bound is the
/// bytes of these arrays: ids, times_us, coordinates, labels, values, the tags and row_columns of
/// an UpdateBatch, and the vectors of queries. In a long UpdateBatch, these arrays have nearly all
/// bytes.
std::size_t array_bytes(const RequestBody& body);

/// Returns the rows of credit that the request uses until it is answered: for a batch its number of
/// rows, for any other request 0. A batch also uses credit for the bytes of its frame.
std::uint64_t credit_rows(const RequestBody& body);
bool is_batch(const RequestBody& body);

struct ReplyHead {
  std::uint64_t request_id = 0;
  std::uint64_t sequence = 0;  ///< sequence of the answered request
  /// The record of the request is before this place of the server's log. 0: the request changes
  /// nothing, or the server has no log.
  std::uint64_t place = 0;
  bool operator==(const ReplyHead&) const = default;
};

struct ErrorReply {
  Problem problem{};
  std::uint64_t sequence_expected = 0;  ///< the session's next number; 0: the session is not known
};

struct HelloReply {
  std::uint64_t session = 0;
  bool resumed = false;  ///< false: the session is new, without the state of an older one
  std::uint64_t last_sequence = 0;  ///< all requests up to this number are applied
  std::uint64_t epoch = 0;          ///< random; a different epoch means a different history
  std::string_view server{};        ///< program and version, for logs
  SpaceOptions space{};
  bool manual_ticks = false;
  Limits limits{};                    ///< limits.space equals space.space
  std::uint64_t session_idle_ms = 0;  ///< the server forgets a session that is silent for longer
  std::vector<Run> runs{};            ///< latest runs of the log, the newest first
  /// The session's next sequence number: all requests with lower numbers are in the server's tables
  /// and log. 0: the server has no log, or is older than this field.
  std::uint64_t next_sequence = 0;
  /// The endpoint on which the results socket listens, as in the server's options: its host may be
  /// a wildcard. Empty: the server is older than this field. See results_of().
  std::string results{};
};

struct ReasonCount {
  RowReason reason = RowReason::none;
  std::uint64_t count = 0;
  /// The limit that the rows would have exceeded. Its name is empty if the reason is not a limit.
  ReachedLimit limit{};
  bool operator==(const ReasonCount&) const = default;
};

struct RejectedRow {
  static constexpr std::uint32_t no_column = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t index = 0;
  RowReason reason = RowReason::none;
  std::uint32_t column = no_column;  ///< index of the vector component that was rejected
  bool operator==(const RejectedRow&) const = default;
};

/// accepted + late + rejected is the number of rows. Accepted means staged for the next tick.
struct BatchReply {
  std::uint64_t accepted = 0;
  std::uint64_t late = 0;
  std::uint64_t rejected = 0;
  std::vector<ReasonCount> reasons{};         ///< reasons of the rejected rows
  std::vector<RejectedRow> first_rejected{};  ///< at most rejected_rows_listed_max
  bool operator==(const BatchReply&) const = default;
};

/// The reply to PutStream, RemoveStream, EndSession and ReportReceived.
struct Done {
  /// In the reply to ReportReceived, the number of the stream's newest message; 0: the stream has
  /// no message, the report has another epoch, or the server is older than this field.
  std::uint64_t sequence = 0;
};

/// A page of a snapshot, without the page's lists. All pages of a snapshot are of the same tick.
struct SnapshotHead {
  std::string_view stream{};
  std::uint64_t epoch = 0;
  Tick tick{};
  std::int64_t tau_us = 0;
  std::uint64_t sequence = 0;    ///< number of the stream's message of this tick; 0: no message yet
  std::uint64_t next_page = 0;   ///< 0: this is the last page
  std::uint64_t list_count = 0;  ///< number of lists in all pages together
  /// The columns that the lists have. encode_snapshot_page does not read this: it takes the columns
  /// from its `lists`.
  ReportWith with{};
  std::vector<Run> runs{};  ///< latest runs of the log, the newest first
  std::uint64_t place = 0;  ///< the lists depend only on records before this place of the log
};

struct SnapshotPage {
  SnapshotHead head{};
  ListChunk lists{};
};

struct NeighborsHead {
  std::uint64_t epoch = 0;
  Tick tick{};
  std::int64_t tau_us = 0;
};

/// The answers to GetNeighbors. The query id of each list is the index of its question.
struct Neighbors {
  NeighborsHead head{};
  ListChunk lists{};
  /// Indexes, in ascending order, of the questions that follow an object which is not alive in the
  /// tick. Their lists are empty.
  std::span<const std::uint32_t> unknown{};
};

struct Counter {
  std::string_view name{};
  double value = 0;
};

struct Stats {
  std::vector<Counter> counters{};
};

struct TickDone {
  Tick tick{};
  std::int64_t tau_us = 0;
  std::uint64_t object_count = 0;   ///< live objects in the snapshot
  std::uint64_t list_count = 0;     ///< updated lists reported, of all streams together
  std::uint64_t removal_count = 0;  ///< lists reported as removed
  double build_ms = 0;
  double search_ms = 0;
  double diff_ms = 0;
};

/// The reply to GetNames. The server adds names, but never changes or removes one. So a client asks
/// again for an id without a name only when `epoch` or `name_count` has changed.
struct Names {
  std::uint64_t epoch = 0;
  std::uint64_t name_count = 0;           ///< all names that the server knows
  std::vector<std::string_view> texts{};  ///< one per id, in the order asked; empty: no name
};

struct StreamInfo {
  std::string_view name{};
  ReportOn on = ReportOn::order;
  ReportWith with{};
  std::uint64_t query_count = 0;
  std::uint64_t subscription_count = 0;
  std::uint64_t sequence = 0;  ///< number of the last message; see SnapshotHead::sequence
  bool operator==(const StreamInfo&) const = default;
};

/// A page of the reply to ListStreams.
struct Streams {
  std::uint64_t epoch = 0;
  std::uint64_t next_page = 0;     ///< 0: this is the last page
  std::uint64_t stream_count = 0;  ///< all streams of the server
  std::vector<StreamInfo> streams{};
};

/// A page of the reply to ListQueries. The queries have the values that the server uses: a position
/// rounded to the lattice, a vector prepared for the metric. `lease_ms` is the rest of the lease.
struct Queries {
  std::uint64_t epoch = 0;
  std::uint64_t next_page = 0;
  std::uint64_t query_count = 0;  ///< all queries of the stream
  std::vector<QuerySpec> queries{};
};

/// A page of the reply to GetObjects: one element of each array for each object.
struct Objects {
  std::uint64_t epoch = 0;
  std::uint64_t next_page = 0;
  std::uint64_t object_count = 0;  ///< all objects of the server that are alive
  std::span<const std::uint64_t> ids{};
  std::span<const std::int64_t> times_us{};
  std::span<const double> positions{};  ///< three numbers for each object; none in a vector space
  std::span<const std::uint32_t> tags{};
  /// One name for each object; an empty text means no name. Empty if no object has a name.
  std::vector<std::string_view> names{};
  std::span<const std::uint64_t> missing_ids{};  ///< the requested ids that are not alive
};

using ReplyBody = std::variant<ErrorReply, HelloReply, BatchReply, Done, SnapshotPage, Neighbors,
                               Stats, TickDone, Names, Streams, Queries, Objects>;

}  // namespace starling::protocol
