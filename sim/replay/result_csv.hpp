// SPDX-License-Identifier: Apache-2.0
// Writes results as CSV with the columns tick,time_us,query_id,rank,object_id,distance_m. Rows are
// sorted by tick, query and rank. Columns for votes, means and subjects are optional. `starling
// replay`, `subscribe` and `ask` use ResultCsv.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "starling/knn/words/space.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/client/list_store.hpp"
#include "starling/sim/data/files/text_output.hpp"
#include "starling/sim/data/traces/name_table.hpp"

namespace starling::sim {

/// Options that depend on the space, the stream and the command.
struct ResultCsvColumns {
  /// True: each distance is the shortest text that reads back to the same float64. False: three
  /// decimals; a rounded distance that is used as a limit may exclude its own neighbour.
  bool exact_distances = false;
  bool votes = false;  ///< true: adds the column `vote`, empty if the list has no vote
  bool means = false;  ///< true: adds the column `value`, empty if the list has no mean
  /// True: adds the column `subject`, which is empty for a list without a subject, and query_id is
  /// always the query's id. False: query_id is the subject's id if the list has a subject.
  bool subjects = false;

  // Columns that the user asks for with --with; they follow all others in this order.
  bool iso_time = false;   ///< adds `time`, the tick's time as ISO 8601
  bool positions = false;  ///< adds the neighbour's position from HeldList::states: see `space`
  /// Adds `change`: `entered` or `stayed` since the list was last written. Objects that have left
  /// get a row of their own after the list, with empty rank, distance and position, and `left`.
  bool changes = false;
  Space space = Space::planar2;  ///< names the columns of the position: x, y[, z] or lon, lat, alt
};

/// The columns that --with takes.
inline constexpr std::array<const char*, 3> columns_on_request{"time", "position", "change"};

/// Sets the members for `names`, which are entries of columns_on_request.
void request(std::span<const std::string> names, ResultCsvColumns& columns);

/// A list has one row for each neighbour, with ranks from 1. An empty list has one row of rank 0,
/// with empty object and distance. A file has either all lists of each tick, by write_tick, or only
/// the lists that changed, by write_changes and write_snapshot. Among changes, a removed list has
/// one row with empty rank, object and distance. Among all lists, it has no row.
///
/// The rows of a tick are sorted by query_id, then by subject. Decimal ids come first, in numeric
/// order. Other ids follow in the order of their bytes.
class ResultCsv {
 public:
  /// "-" is the standard output. A file whose name ends in .gz or .zst is compressed. The writer
  /// takes the original ids of queries, objects and subjects from the name tables, which must
  /// outlive it. The constructor and all members throw std::runtime_error on failure.
  ResultCsv(const std::string& path, const NameTable& query_names, const NameTable& object_names,
            const ResultCsvColumns& columns = {},
            TextOutput::Appears appears = TextOutput::Appears::at_once);

  /// Writes all lists of a tick.
  void write_tick(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists);

  /// Writes the lists that a tick reports, and a row of removal for each key in `removed` that is
  /// not in `lists`. A key without a subject removes all lists of its query.
  void write_changes(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists,
                     std::span<const protocol::ListKey> removed);

  /// Writes all lists of a tick that follows a gap, and a row of removal for each other list that
  /// was written.
  void write_snapshot(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists);

  /// Passes everything written so far to the operating system, so that other programs can read it.
  void flush();

  /// Completes the file. The destructor does not complete the file, because a destructor cannot
  /// report an error.
  void close();

 private:
  /// The sort key of an id.
  struct SortedId {
    bool is_text = false;
    std::string_view text{};  ///< empty for decimal ids
    std::uint64_t number = 0;
    auto operator<=>(const SortedId&) const = default;
  };
  struct Entry {
    SortedId whose;    ///< the id in column query_id
    SortedId subject;  ///< the id in column subject
    const protocol::ListKey* key = nullptr;
    const protocol::HeldList* list = nullptr;  ///< null if the list is removed
  };
  enum class Content { all, changes };

  static SortedId sorted_id(std::uint64_t id, const NameTable& names);
  bool shows_subject_as_query(const protocol::ListKey& key) const {
    return key.has_subject && !columns_.subjects;
  }
  Entry entry_of(const protocol::ListKey& key, const protocol::HeldList* list) const;
  void collect_absent(const protocol::ListStore& lists);
  void collect_removed(const protocol::ListStore& lists,
                       std::span<const protocol::ListKey> removed);
  void write(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists, Content content);
  void write_list(std::string_view tick_prefix, const Entry& entry, Content content);
  void write_neighbors(const protocol::HeldList& list, std::span<const ObjectId> before);
  void write_row_without_object(std::string_view rank);
  void write_left(std::span<const ObjectId> before, std::span<const ObjectId> now);
  void end_row(const Position* position, const char* change);
  static void append_id(std::string& text, std::uint64_t id, const NameTable& names);
  void write_buffer();

  const NameTable& query_names_;
  const NameTable& object_names_;
  ResultCsvColumns columns_;
  TextOutput output_;
  std::string buffer_;
  std::string row_prefix_;
  std::string row_suffix_;
  std::vector<Entry> entries_;
  std::string iso_time_;                    ///< tau of the tick that is being written
  std::vector<protocol::ListKey> removed_;  ///< lists that get a row of removal in this tick
  /// The lists that were written and not removed, with their objects sorted by id if
  /// columns_.changes. A file of all lists needs them only for the column `change`.
  std::unordered_map<protocol::ListKey, std::vector<ObjectId>, protocol::ListKeyHash> written_;
};

}  // namespace starling::sim
