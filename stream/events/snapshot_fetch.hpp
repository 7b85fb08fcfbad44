// SPDX-License-Identifier: Apache-2.0
// Fetches the lists of streams from the server itself, page by page through the wire's GetSnapshot,
// and makes them JSON on a thread beside the loop. EventHub owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "starling/protocol/wire/errors.hpp"
#include "starling/protocol/wire/messages.hpp"
#include "starling/stream/events/list_text.hpp"
#include "starling/stream/events/stream_snapshot.hpp"
#include "starling/stream/http/stream_questions.hpp"
#include "starling/stream/http/wire_gateway.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/turns/fair_jobs.hpp"

namespace boost::asio {
class io_context;
}

namespace starling::stream {

/// Only the loop calls the functions.
class SnapshotFetch {
 public:
  using PrincipalId = zmtp::PrincipalId;
  struct Parts {
    boost::asio::io_context& loop;
    Executor& beside;  ///< the thread that makes the JSON
    /// WireGateway's functions of the same names. `send` also gets the principal that asks.
    std::function<void(PrincipalId, WireGateway::Make, WireGateway::Take, WireSender)> send;
    std::function<std::shared_ptr<const void>()> reply_owner;
    const ListForm& form;
    std::size_t bytes_max = 0;  ///< the most bytes of the JSON of one snapshot
  };

  /// `snapshot` is null if there is a problem.
  struct Result {
    std::shared_ptr<const StreamSnapshot> snapshot;
    std::optional<protocol::Problem> problem;
  };
  using Done = std::function<void(Result)>;

  /// The objects that `parts` names must live as long as the loop and the thread run.
  explicit SnapshotFetch(Parts parts);

  /// Fetches the lists of these queries, or of all queries if `query_ids` is empty. Fetches of
  /// different payers have turns. Calls `done` later, on the loop; not if the client no longer
  /// waits when its turn comes. If too many fetches wait, refuses the last of the owner with the
  /// most.
  void fetch(ListsReader reader, std::string stream, std::vector<std::uint64_t> query_ids,
             Done done);

 private:
  struct Fetch {
    ListsReader reader;
    std::string stream;
    std::vector<std::uint64_t> query_ids;
    Done done;
    StreamSnapshot snapshot{};
    std::optional<protocol::Problem> problem{};
  };

  void ask(const std::shared_ptr<Fetch>& fetch, std::uint64_t page);
  void take(const std::shared_ptr<Fetch>& fetch, const protocol::ReplyBody& reply);
  void add_page(const std::shared_ptr<Fetch>& fetch, const protocol::SnapshotPage& page);
  void append(Fetch& fetch, const protocol::ListChunk& lists) const;
  void end(const std::shared_ptr<Fetch>& fetch);
  protocol::Problem too_long() const;

  Parts parts_;
  FairJobs fetches_;
};

}  // namespace starling::stream
