// SPDX-License-Identifier: Apache-2.0
// GetSnapshot: all lists of a stream, or of some queries, at one tick, in pages. A thread beside
// the loop encodes the pages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "starling/knn/engine/answers.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/page_reads.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/callers/request_log.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/pools/ordered_pool.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/requests/prepare.hpp"
#include "starling/stream/state/snapshot_store.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class SnapshotRequests {
 public:
  SnapshotRequests(const ServerOptions& options, Executor& executor, Tables& tables,
                   const Publisher& publisher, RequestLog& log, Replies& replies, PageReads& pages,
                   SnapshotStore& snapshots, OrderedPool& beside)
      : options_(options),
        executor_(executor),
        tables_(tables),
        publisher_(publisher),
        log_(log),
        replies_(replies),
        pages_(pages),
        snapshots_(snapshots),
        beside_(beside) {}

  void get(const Caller& caller, PreparedRequest& request);

 private:
  struct Asked;
  void get_page(const Caller& caller, std::uint64_t name);
  void begin(const Caller& caller, PreparedRequest& request, StreamId stream);
  bool collect_some(Asked& asked);
  void read(const std::shared_ptr<Asked>& asked);
  void make(const std::shared_ptr<Asked>& asked, Answers answers);
  void keep(const std::shared_ptr<Asked>& asked, const std::shared_ptr<const Snapshot>& snapshot,
            const std::shared_ptr<protocol::Frame>& first_page, std::uint64_t number);
  protocol::Frame encode_page(const Caller& caller, const Snapshot& snapshot, std::uint64_t number,
                              std::size_t page) const;
  std::uint64_t place_of(Tick tick) const;
  protocol::Problem beyond_places(const SnapshotStore::Reservation& refused,
                                  std::uint64_t bytes) const;
  std::optional<protocol::Problem> beyond_quota(const Caller& caller,
                                                std::uint64_t more_bytes) const;

  const ServerOptions& options_;
  Executor& executor_;
  Tables& tables_;
  const Publisher& publisher_;
  RequestLog& log_;
  Replies& replies_;
  PageReads& pages_;
  SnapshotStore& snapshots_;
  OrderedPool& beside_;
};

}  // namespace starling::stream
