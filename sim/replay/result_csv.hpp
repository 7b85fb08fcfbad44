// Results as CSV, everywhere the same: tick,time_us,query_id,rank,object_id,distance_m, sorted by
// tick, query and rank; of lists that vote a column more, and of `starling subscribe`, which writes
// it as `starling replay` does, one for subjects.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "knn/words/types.hpp"
#include "protocol/client/list_store.hpp"
#include "sim/files/text_output.hpp"
#include "sim/traces/name_table.hpp"

namespace starling::sim {

/// What depends on the space, the stream and the reader.
struct ResultCsvColumns {
  bool is_vector = false;  ///< distances as the shortest text that reads back to the same number
  bool votes = false;      ///< a column `vote` follows: the label, or nothing where there is none
  /// A column `subject` follows, empty for lists without one, and query_id is the query's own id.
  /// Without it a list with a subject bears the subject's id there.
  bool subjects = false;
  /// A list without neighbours has one row, in which rank, object and distance are empty.
  bool empty_lists = false;
};

/// Decimal ids come first, by number; other ids follow, by their bytes.
class ResultCsv {
 public:
  /// "-" is the standard output; a name that ends in .gz or .zst is compressed. The tables give
  /// queries and objects (also as subjects) their original ids, and must outlive the writer. Throws
  /// std::runtime_error as do the members.
  ResultCsv(const std::string& path, const NameTable& query_names, const NameTable& object_names,
            const ResultCsvColumns& columns = {});

  /// One tick's lists; each gives as many rows as it has neighbours, but for `empty_lists`.
  void write_tick(Tick tick, std::int64_t tau_us, const protocol::ListStore& lists);

  /// Hands everything written so far to the system, for a reader that follows along.
  void flush();

  /// Completes the file. The destructor only releases it, so that an unfinished file is known by an
  /// exception and not by silence.
  void close();

 private:
  /// What an id sorts by.
  struct SortedId {
    bool is_text = false;
    std::string_view text{};  ///< of ids that are not their number
    std::uint64_t number = 0;
    auto operator<=>(const SortedId&) const = default;
  };
  struct Entry {
    SortedId whose;    ///< what stands under query_id
    SortedId subject;  ///< where there is a column for it
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
