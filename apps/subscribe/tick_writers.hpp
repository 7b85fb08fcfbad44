// SPDX-License-Identifier: Apache-2.0
// The part of a tick that `starling subscribe` shows, and the writers for CSV and NDJSON. The table
// is in live_table.hpp.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "starling/knn/engine/engine.hpp"
#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/sim/data/traces/name_table.hpp"

namespace starling::apps {

struct ShownList {
  protocol::ListKey key;
  ListEvent event = ListEvent::updated;
  const protocol::HeldList* list = nullptr;  ///< null if the list is removed
};

/// Returns all ids of queries, subjects and neighbours in these lists. An id can occur several
/// times.
std::vector<std::uint64_t> ids_in(const std::vector<ShownList>& lists);

/// A tick as a subscription has applied it.
struct ShownTick {
  protocol::TickHeader header;
  bool is_whole = false;         ///< true: all lists held after a snapshot; false: reported lists
  std::vector<ShownList> lists;  ///< sorted by key
  bool has_votes = false;        ///< at least one query of the stream votes
  bool has_means = false;        ///< at least one query of the stream asks for a mean
};

class TickWriter {
 public:
  virtual ~TickWriter() = default;
  /// Throws std::runtime_error if the stream lacks a field that the format needs, or if writing to
  /// the output fails.
  virtual void write(const ShownTick& tick) = 0;
  /// Call after the last tick. Throws as write() does.
  virtual void end() {}
};

/// Writes CSV to the standard output: see sim::ResultCsv for empty and removed lists. If `names`
/// has a name for an id, the writer writes the name. `names` must outlive the writer. The first
/// line is written with the first lists, because they decide whether there are columns for votes,
/// means and subjects. If no lists come, end() writes the first line. `with` names further columns:
/// see sim::columns_on_request. `exact`: see ResultCsvColumns::exact_distances; true in a vector
/// space.
std::unique_ptr<TickWriter> make_csv_writer(const sim::NameTable& names,
                                            const std::vector<std::string>& with = {},
                                            bool exact = false);

/// Writes NDJSON, one line per list. Ids are strings, because numbers in JSON are exact only up to
/// 2^53. If a tick is whole, its first line has the event "whole", and every earlier list that does
/// not come again in this tick is gone. If the stream votes, each list has a `vote`: a string, as
/// ids are, or null. If the stream has means, each list has a `value`: a finite number, or null. If
/// `names` has a name for an id, the name follows the id. `out` and `names`
/// must outlive the writer.
std::unique_ptr<TickWriter> make_ndjson_writer(std::ostream& out, const sim::NameTable& names);

}  // namespace starling::apps
