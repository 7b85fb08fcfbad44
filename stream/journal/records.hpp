// SPDX-License-Identifier: Apache-2.0
// What the server writes to its log: one struct for each type of record. A record says what was
// done, with everything that clocks, limits and rights decided, so that it can be applied again
// without them. RequestLog and Ticker write records; recovery reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "starling/knn/tables/object_table.hpp"
#include "starling/knn/words/query.hpp"
#include "starling/log/record.hpp"
#include "starling/protocol/wire/run.hpp"
#include "starling/stream/state/session_table.hpp"

namespace starling::stream {

/// The types of the log's records. The numbers are part of the format.
namespace record_type {
inline constexpr log::RecordType epoch{1};
inline constexpr log::RecordType principal{2};
inline constexpr log::RecordType session_opened{3};
inline constexpr log::RecordType session_ended{4};
inline constexpr log::RecordType leases_moved{5};
inline constexpr log::RecordType tick_begun{6};
inline constexpr log::RecordType tick_finished{7};
inline constexpr log::RecordType published{8};
inline constexpr log::RecordType request{9};
inline constexpr log::RecordType run{33};  ///< 10 to 32 are sections of snapshots
inline constexpr log::RecordType outgrown{34};
}  // namespace record_type

/// The version of all payloads that this code writes and reads.
inline constexpr std::uint16_t record_version = 1;

/// From here on, messages carry this epoch.
struct EpochRecord {
  std::uint64_t epoch = 0;
};

/// A server begins to write to the log. Messages that follow carry this run.
struct RunRecord {
  static constexpr std::size_t runs_max = 64;

  /// This run and those before it, the newest first. Each begins at the place of its record.
  std::vector<protocol::Run> runs;
};

/// From here on, the number means the principal of this name.
struct PrincipalRecord {
  std::uint32_t principal = 0;
  std::string name;
};

struct SessionOpenedRecord {
  std::uint64_t session = 0;
  std::uint32_t principal = 0;
  std::uint64_t first_sequence = 1;
  std::uint64_t replaced = 0;  ///< the logged session that gave way to this one; 0: there is none
};

struct SessionEndedRecord {
  std::uint64_t session = 0;
};

/// All leases end later, because the server's time follows a step of the wall clock.
struct LeasesMovedRecord {
  std::int64_t duration_us = 0;
};

/// The tick removes these queries, because their lists have outgrown a limit. Stands before the
/// tick's mark. Several records of a tick count in order. If the run of the server ended before the
/// mark, the record means nothing.
struct OutgrownRecord {
  static constexpr std::size_t queries_max = 4096;

  Tick tick{};
  std::string stream;
  std::vector<std::uint64_t> ids;
};

/// A tick took the rows of all records before this one.
struct TickBegunRecord {
  Tick tick{};
  std::int64_t tau_us = 0;
  // The request that asked for the tick. A tick of the wall clock has session 0.
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;
  std::uint64_t body_hash = 0;
};

/// The tables took a tick's result. From here on, the slots and names of everything that the tick
/// removed are free.
struct TickFinishedRecord {
  Tick tick{};
  std::string error;  ///< empty, or why the tick failed
};

/// The hash of all messages of a tick: XXH3 of their frames in the order of publication. LogRun
/// compares it with the messages of a tick that runs again. Recovery ignores it.
struct PublishedRecord {
  Tick tick{};
  std::uint32_t messages = 0;
  std::uint64_t hash = 0;
};

/// Rows of objects that were accepted or late, in order.
struct ObjectsChange {
  std::vector<ObjectUpdate> rows;
};
struct VectorsChange {
  std::uint32_t dimension = 1;
  std::vector<VectorUpdate> rows;
  std::vector<float> components;  ///< prepared for the metric, `dimension` for each row
};
struct TagsChange {
  bool may_change_others = false;
  std::vector<TagUpdate> rows;
};
struct RemovalsChange {
  std::vector<ObjectRemoval> rows;
};
/// Queries that were accepted. Their leases are times, not durations.
struct QueriesChange {
  std::string stream;
  std::vector<QueryDefinition> rows;
};
struct QueryRemovalsChange {
  std::string stream;
  std::vector<std::uint64_t> ids;
};
struct NamesChange {
  std::vector<std::uint64_t> ids;
  std::vector<std::string> texts;
};
struct StreamChange {
  std::string name;
  ReportOn on = ReportOn::order;
  ReportWith with{};
};
struct StreamRemovalChange {
  std::string name;
};

/// What a request changed; std::monostate: nothing but its session.
using Change = std::variant<std::monostate, ObjectsChange, VectorsChange, TagsChange,
                            RemovalsChange, QueriesChange, QueryRemovalsChange, NamesChange,
                            StreamChange, StreamRemovalChange>;

/// A request that was applied, its reply, and what it changed.
struct RequestRecord {
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;
  std::uint64_t body_hash = 0;
  std::uint32_t principal = 0;
  SequencedReply reply;
  Change change;
};

using JournalRecord =
    std::variant<EpochRecord, RunRecord, PrincipalRecord, SessionOpenedRecord, SessionEndedRecord,
                 LeasesMovedRecord, OutgrownRecord, TickBegunRecord, TickFinishedRecord,
                 PublishedRecord, RequestRecord>;

}  // namespace starling::stream
