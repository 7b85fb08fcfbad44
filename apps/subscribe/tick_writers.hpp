// What `starling subscribe` shows of a tick, and the writers that show it: CSV and NDJSON here, the
// table in live_table.hpp.
#pragma once

#include <memory>
#include <ostream>
#include <vector>

#include "knn/engine/engine.hpp"
#include "protocol/client/list_store.hpp"
#include "protocol/wire/tick_message.hpp"
#include "sim/traces/name_table.hpp"

namespace starling::apps {

struct ShownList {
  protocol::ListKey key;
  ListEvent event = ListEvent::updated;
  const protocol::HeldList* list = nullptr;  ///< null where removed
};

/// All ids of queries, subjects and neighbours in these lists, some more than once.
std::vector<std::uint64_t> ids_in(const std::vector<ShownList>& lists);

/// A tick as a subscription applied it.
struct ShownTick {
  protocol::TickHeader header;
  bool is_whole = false;         ///< everything held, after a snapshot; else what the tick reported
  std::vector<ShownList> lists;  ///< by key
  bool has_votes = false;        ///< some of the stream's queries vote
};

class TickWriter {
 public:
  virtual ~TickWriter() = default;
  /// Throws std::runtime_error if the stream lacks what the format needs, or the output fails.
  virtual void write(const ShownTick& tick) = 0;
  /// Nothing more comes. Throws as write() does.
  virtual void end() {}
};

/// To the standard output. A list that had neighbours and has none now, or is gone, has one row
/// without rank, object and distance, after a snapshot too. Ids with a name in `names`, which must
/// outlive it, are written as that. The first line comes with the first lists, or at the end:
/// whether these vote and have subjects decides whether there are columns for it.
std::unique_ptr<TickWriter> make_csv_writer(const sim::NameTable& names);

/// A line a list; ids are strings, since JSON's numbers end at 2^53. A whole tick begins with a
/// line of event "whole": lists held before it that do not follow are gone. Where a stream votes,
/// each list has a `vote`, a string as ids are, or null. An id with a name in
/// `names` is followed by it. Both arguments must outlive it.
std::unique_ptr<TickWriter> make_ndjson_writer(std::ostream& out, const sim::NameTable& names);

}  // namespace starling::apps
