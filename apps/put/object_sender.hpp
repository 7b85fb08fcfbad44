// SPDX-License-Identifier: Apache-2.0
// Sends rows of objects to a server in batches, within the credit that the server gives, and adds
// up the replies. `starling put` uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "starling/apps/put/object_rows.hpp"
#include "starling/apps/shared/server/row_totals.hpp"
#include "starling/protocol/client/client.hpp"

namespace starling::apps {

class ObjectSender {
 public:
  /// The client must outlive the sender.
  explicit ObjectSender(protocol::Client& client);

  /// Keeps the row for the next batch, and sends the batch if it is full. Throws
  /// std::runtime_error if the id has the same 64-bit hash as another text id of the server.
  void add(const ObjectRow& row);
  /// Sends the rows that are kept, without waiting for the reply.
  void send();
  /// Sends the rows that are kept and waits for all replies.
  void finish();

  const RowTotals& totals() const { return totals_; }
  RowTotals& totals() { return totals_; }
  /// Returns the number of names for which the server had no room. Their objects are put
  /// nevertheless, and are shown by their numbers.
  std::uint64_t nameless() const { return nameless_; }

 private:
  void keep_name(std::uint64_t id, std::string_view text);
  void send_names();
  void clear();

  protocol::Client& client_;
  std::size_t rows_max_;
  RowTotals totals_;
  std::uint64_t nameless_ = 0;
  /// Names that the server has got. Emptied when full, because sending a name twice does no harm.
  std::unordered_map<std::uint64_t, std::string> told_;

  // The rows of the next batch. Either all rows have tags, or none has.
  std::vector<std::uint64_t> ids_;
  std::vector<std::int64_t> times_us_;
  std::vector<Position> positions_;
  std::vector<std::uint32_t> tags_;
  bool has_z_ = false;
  std::vector<std::uint64_t> name_ids_;
  std::vector<std::string> name_texts_;
};

}  // namespace starling::apps
