// SPDX-License-Identifier: Apache-2.0
// Writes results as CSV with the columns tick,time_us,query_id,rank,object_id,distance_m. Rows are
// sorted by tick, query and rank. Columns for votes, means and subjects are optional. `starling
// replay` and `starling subscribe` use ResultCsv.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/words/types.hpp"
#include "starling/protocol/client/list_store.hpp"
#include "starling/sim/files/text_output.hpp"
#include "starling/sim/traces/name_table.hpp"

namespace starling::sim {

/// Options that depend on the space, the stream and the command.
struct ResultCsvColumns {
  /// True: distances as the shortest exact text. False: distances with three decimals.
  bool is_vector = false;
  bool votes = false;  ///< true: adds the column `vote`, empty if the list has no vote
  bool means = false;  ///< true: adds the column `value`, empty if the list has no mean
  /// True: adds the column `subject`, which is empty for a list without a subject, and query_id is
  /// always the query's id. False: query_id is the subject's id if the list has a subject.
  bool subjects = false;
  /// True: an empty list gets one row with empty rank, object and distance. False: no row.
  bool empty_lists = false;
};

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
};

}  // namespace starling::sim
