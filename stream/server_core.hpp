// SPDX-License-Identifier: Apache-2.0
// A server without sockets, files, clock and threads of its own. It decodes requests, carries them
// out, runs ticks, keeps the log and recovers from it. Server passes it real sockets and files;
// tests/server_simulation passes a network, a disk and a clock that follow from a seed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "starling/knn/tables/processor.hpp"
#include "starling/protocol/wire/frame.hpp"
#include "starling/stream/access/access.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/operation/tick_trace.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/publishing/ticker.hpp"
#include "starling/stream/recovery/log_replay.hpp"
#include "starling/stream/request_intake.hpp"
#include "starling/stream/requests/requests.hpp"
#include "starling/stream/server_log.hpp"
#include "starling/stream/sockets/results.hpp"
#include "starling/stream/state/peer.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class ServerCore {
 public:
  /// What the core uses. The references must outlive it. The functions are called on the loop.
  struct Parts {
    Executor& executor;
    std::unique_ptr<Engine> engine;
    std::unique_ptr<ServerLog> log;
    Results& results;
    Metrics& metrics;
    Access& access;
    TickTrace* trace = nullptr;
    std::function<void(const Peer&, const protocol::Frame&)> send;
    std::function<Gauges()> gauges;
    /// Gets the messages of each tick, one for each plan, before they are sent.
    PublishingHook publishing;
    /// Called when the stop has ended and the loop has nothing more to do. May be called more than
    /// once.
    std::function<void()> stopped;
  };

  /// `options` are from completed() and must outlive the core.
  ServerCore(const ServerOptions& options, Parts parts);
  ServerCore(const ServerCore&) = delete;
  ServerCore& operator=(const ServerCore&) = delete;

  /// Applies what the log holds, if there is one. Call it once, before anything else. Calls
  /// `check_stop` again and again, which may throw to end it. Throws std::runtime_error, with one
  /// sentence.
  void recover(const std::function<void()>& check_stop);
  /// Begins to run ticks.
  void start();

  /// Its receive() takes each request of a client.
  RequestIntake& intake() { return intake_; }

  /// Begins to stop. The caller must pass no more requests. Requests that were passed are still
  /// applied and answered. Calls Parts::stopped after that. Does nothing when called again.
  void begin_stop();
  bool is_stopping() const { return is_stopping_; }
  /// Commits the records that wait. Throws std::runtime_error if the log has failed.
  void end() const;

  Processor& processor() { return tables_.processor(); }
  Requests& requests() { return requests_; }
  Ticker& ticker() { return ticker_; }
  const Publisher& publisher() const { return publisher_; }
  Tables& tables() { return tables_; }
  Journal* journal() const { return log_->journal(); }  ///< null: the server has no log

 private:
  Tables::Options tables_options(const Parts& parts);
  OutgrownQueries::Options outgrown_options();
  TickerOptions ticker_options(const Parts& parts) const;
  Callers::Parts caller_parts(Parts& parts);
  Families::Parts family_parts(Parts& parts);
  RequestIntake::Parts intake_parts(Parts& parts);
  LoggedTables logged_tables();
  void go_on();
  void stop_if_idle();

  const ServerOptions& options_;
  Executor& executor_;
  Access& access_;
  std::unique_ptr<ServerLog> log_;
  Publisher publisher_;
  Tables tables_;
  Ticker ticker_;
  Requests requests_;
  RequestIntake intake_;
  std::function<void()> stopped_;
  bool is_stopping_ = false;
  bool is_ticking_done_ = false;
};

}  // namespace starling::stream
