// SPDX-License-Identifier: Apache-2.0
// A server without its sockets, files, clock and threads, which it is given. It decodes requests,
// carries them out, runs ticks, keeps the log and recovers from it. Server gives it the real ones;
// tests/server_simulation gives it a network, a disk and a clock that follow from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/stream/access/access.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/operation/tick_trace.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/pools/ordered_pool.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/publishing/ticker.hpp"
#include "starling/stream/recovery/logged_state.hpp"
#include "starling/stream/recovery/past_reader.hpp"
#include "starling/stream/recovery/skipping_engine.hpp"
#include "starling/stream/recovery/snapshot_maker.hpp"
#include "starling/stream/requests/requests.hpp"
#include "starling/stream/sockets/results.hpp"
#include "starling/stream/state/credit_ledger.hpp"
#include "starling/stream/state/peer.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// The log of a server, and what its last snapshot has.
struct OpenedLog {
  std::unique_ptr<Journal> journal;  ///< null: the server has no log
  std::optional<LoggedState> state;
};
/// Opens the log of a server, looks through it and reads its snapshot, side by side. Throws
/// std::runtime_error, with one sentence. `options` are completed.
OpenedLog open_log(Executor& executor, const ServerOptions& options);

/// Only the loop calls the functions.
class ServerCore {
 public:
  /// What the core uses. The references must outlive it. The functions are called on the loop.
  struct Parts {
    Executor& executor;
    std::unique_ptr<Engine> engine;
    OpenedLog log;  ///< what open_log returned
    Results& results;
    Metrics& metrics;
    Access& access;
    TickTrace* trace = nullptr;
    std::function<void(const Peer&, const protocol::Frame&)> send;
    std::function<Gauges()> gauges;
    /// Gets the messages of each tick, one for each plan, before they are sent.
    std::function<void(const std::vector<StreamPlan>&, const std::vector<protocol::TickMessage>&)>
        publishing;
    /// may_read() has returned false, and would now return true.
    std::function<void()> read_on;
    /// The stop has ended: the loop has nothing more to do. May be called more than once.
    std::function<void()> stopped;
  };

  /// `options` are completed.
  ServerCore(const ServerOptions& options, Parts parts);
  ServerCore(const ServerCore&) = delete;
  ServerCore& operator=(const ServerCore&) = delete;

  /// Applies what the log holds, if there is one. Call it once, before anything else. Throws
  /// std::runtime_error, with one sentence.
  void recover();
  /// Begins to run ticks.
  void start();

  /// Takes a request. Decoding a short one costs less than handing it to a worker. A short request
  /// that changes nothing does not wait for earlier batches, even if they are of the same session.
  void receive(Peer peer, ReceivedBytes received);
  /// Refuses a message that is not a request.
  void refuse_malformed(const Peer& peer);
  /// Returns whether a further request may come. If not, Parts::read_on is called later.
  bool may_read();
  /// Runs `function` on a decode worker, and what it returns on the loop. `bytes` count as those of
  /// a request meanwhile.
  void work_beside(std::size_t bytes, std::function<std::function<void()>()> function);

  /// The caller must pass no more requests. Those that it has passed are still applied and
  /// answered. Calls Parts::stopped when that is done. Does nothing when called again.
  void begin_stop();
  bool is_stopping() const { return is_stopping_; }
  /// Commits what waits for the log. Throws std::runtime_error if the log has failed.
  void end() const;

  Processor& processor() { return processor_; }
  Requests& requests() { return requests_; }
  Ticker& ticker() { return ticker_; }
  const Publisher& publisher() const { return publisher_; }
  const CreditLedger& credit() const { return credit_; }
  Tables& tables() { return tables_; }
  TickTime& time() { return time_; }
  Journal* journal() const { return parts_.log.journal.get(); }
  std::size_t decoding_requests() const { return decoder_.waiting(); }
  std::size_t decoding_bytes() const { return decoding_bytes_; }

 private:
  std::unique_ptr<PastReader> past_reader();
  Callers::Parts caller_parts();
  Families::Parts family_parts();
  LoggedTables logged_tables();
  TickTimeOptions time_options() const;
  Tables::Options tables_options();
  TickerOptions ticker_options() const;
  OrderedPool::Rounds decoder_rounds();
  bool has_room() const;
  bool may_change() const;
  void go_on();
  void decode(Peer peer, ReceivedBytes received);
  PreparedRequest prepare(const Peer& peer, ReceivedBytes received);
  OrderedPool::Completion completion_of(Peer peer, PreparedRequest request);
  void ended();
  void stop_if_idle();

  const ServerOptions options_;
  Parts parts_;
  protocol::ServedSpace space_;
  Publisher publisher_;
  CreditLedger credit_;
  SkippingEngine* skipping_;  ///< owned by the processor; null: there is no log
  Processor processor_;
  std::unique_ptr<PastReader> past_;  ///< null: there is no log
  TickTime time_;
  Tables tables_;
  Ticker ticker_;
  Requests requests_;
  OrderedPool decoder_;
  std::size_t decoding_bytes_ = 0;
  bool is_reading_paused_ = false;
  std::unique_ptr<SnapshotMaker> snapshots_;  ///< null: the log gets none
  bool is_stopping_ = false;
  bool is_ticking_done_ = false;
};

}  // namespace starling::stream
