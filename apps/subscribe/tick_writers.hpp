// SPDX-License-Identifier: Apache-2.0
// The part of a tick that `starling subscribe` shows, and the writers for CSV and NDJSON. The table
// is in live_table.hpp.
#pragma once

#include <memory>
#include <ostream>
#include <vector>

#include "starling/knn/engine/engine.hpp"
#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/sim/traces/name_table.hpp"

namespace starling::apps {

struct ShownList {
  protocol::ListKey key;
  ListEvent event = ListEvent::updated;
  const protocol::HeldList* list = nullptr;  ///< null if removed
};

/// Returns all ids of queries, subjects and neighbours in these lists. An id can occur several
/// times.
std::vector<std::uint64_t> ids_in(const std::vector<ShownList>& lists);

/// A tick as a subscription has applied it.
struct ShownTick {
  protocol::TickHeader header;
  bool is_whole = false;         ///< true: all lists held after a snapshot; false: those reported
  std::vector<ShownList> lists;  ///< sorted by key
  bool has_votes = false;        ///< at least one query of the stream votes
};

class TickWriter {
 public:
  virtual ~TickWriter() = default;
  /// Throws std::runtime_error if the stream lacks a field that the format needs, or the output
  /// fails.
  virtual void write(const ShownTick& tick) = 0;
  /// Call after the last tick. Throws as write() does.
  virtual void end() {}
};

/// Writes CSV to the standard output. A list that had neighbours and has none now, or is gone, gets
/// one row without rank, object and distance; this holds after a snapshot too. An id that has a
/// name in `names` is written as that name. `names` must outlive the writer. The first line is
/// written with the first lists, or in end(): those lists decide whether there are columns for
/// votes and subjects.
std::unique_ptr<TickWriter> make_csv_writer(const sim::NameTable& names);

/// Writes NDJSON, one line per list. Ids are strings, because numbers in JSON are exact only up to
/// 2^53. A whole tick begins with a line of event "whole"; earlier lists that do not follow that
/// line are gone. If the stream votes, each list has a `vote`: a string, as ids are, or null. The
/// name of an id in `names`, if there is one, follows the id. Both arguments must outlive the
/// writer.
std::unique_ptr<TickWriter> make_ndjson_writer(std::ostream& out, const sim::NameTable& names);

}  // namespace starling::apps
