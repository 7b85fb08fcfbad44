// SPDX-License-Identifier: Apache-2.0
// Writes results as CSV with the columns tick,time_us,query_id,rank,object_id,distance_m. Rows are
// sorted by tick, query and rank. Columns for votes, means and subjects are optional. `starling
// replay` and `starling subscribe` use ResultCsv.
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
#include "starling/sim/files/text_output.hpp"
#include "starling/sim/traces/name_table.hpp"

namespace starling::sim {

/// Options that depend on the space, the stream and the command.
struct ResultCsvColumns {
  /// True: each distance is the shortest text that reads back to the same float64. False: three
  /// decimals, so a distance given back as a limit may leave out its neighbour.
  bool exact_distances = false;
  bool votes = false;  ///< true: adds the column `vote`, empty if the list has no vote
  bool means = false;  ///< true: adds the column `value`, empty if the list has no mean
  /// True: adds the column `subject`, which is empty for a list without a subject, and query_id is
  /// always the query's id. False: query_id is the subject's id if the list has a subject.
  bool subjects = false;
  /// True: an empty list gets one row with empty rank, object and distance. False: no row.
  bool empty_lists = false;

  // Columns that the user asks for with --with; they follow all others in this order.
  bool iso_time = false;   ///< adds `time`, the tick's time as ISO 8601
  bool positions = false;  ///< adds the neighbour's position from HeldList::states: see `space`
  /// Adds `change`: `entered` or `stayed` since the list was last written. Objects that have left
  /// get a row of their own after the list, with empty rank, distance and position, and `left`.
  bool changes = false;
  /// For `changes`: a list that a tick does not have is gone, and all its objects have left.
  bool absent_is_gone = false;
  Space space = Space::planar2;  ///< names the columns of the position: x, y[, z] or lon, lat, alt
};

/// The columns that --with takes.
inline constexpr std::array<const char*, 3> columns_on_request{"time", "position", "change"};

/// Sets the members for these columns, which are some of columns_on_request.
void request(std::span<const std::string> names, ResultCsvColumns& columns);

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

  /// Writes one tick's lists, one row per neighbour.
  void write_tick(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists);

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
    const protocol::ListStore::value_type* list = nullptr;
  };

  static SortedId sorted_id(std::uint64_t id, const NameTable& names);
  bool shows_subject_as_query(const protocol::ListKey& key) const {
    return key.has_subject && !columns_.subjects;
  }
  Entry entry_of(const protocol::ListStore::value_type& list) const;
  void write_list(std::string_view tick_prefix, const Entry& entry);
  void write_left(const protocol::ListKey& key, std::span<const ObjectId> before,
                  std::vector<ObjectId> now);
  void end_row(const Position* position, const char* change);
  void add_gone(const protocol::ListStore& lists);
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
  std::string iso_time_;  ///< of the tick that is being written
  protocol::ListStore gone_;
  /// For `changes`: the objects of each list that is not empty as it was last written, sorted by
  /// id.
  std::unordered_map<protocol::ListKey, std::vector<ObjectId>, protocol::ListKeyHash> written_;
};

}  // namespace starling::sim
