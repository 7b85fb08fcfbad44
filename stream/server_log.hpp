// SPDX-License-Identifier: Apache-2.0
// The log of a server, and the engines that read it: one skips ticks while the server starts, one
// makes snapshots, and one answers questions about the past. ServerCore owns it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "starling/knn/engine/engine.hpp"
#include "starling/stream/journal/journal.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/recovery/log_replay.hpp"
#include "starling/stream/recovery/logged_state.hpp"
#include "starling/stream/recovery/past_reader.hpp"
#include "starling/stream/recovery/skipping_engine.hpp"
#include "starling/stream/recovery/snapshot_maker.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class ServerLog {
 public:
  /// Opens the log, and looks through it while another thread reads its snapshot. Opens nothing if
  /// the options have no log. Throws std::runtime_error, with one sentence. `options` are from
  /// completed() and must outlive the ServerLog.
  ServerLog(Executor& executor, const ServerOptions& options);
  ServerLog(const ServerLog&) = delete;
  ServerLog& operator=(const ServerLog&) = delete;

  /// Null: the server has no log.
  Journal* journal() const { return journal_.get(); }
  /// Null: the server answers no questions about the past.
  PastReader* past() const { return past_.get(); }

  /// Wraps the engine, so that recover() can make it skip ticks. Without a log, returns it as it
  /// is.
  std::unique_ptr<Engine> skipping(std::unique_ptr<Engine> engine);
  /// Applies what the log holds to `tables`. `do_lists_fit` says whether the lists of a tick that
  /// begins now fit in memory. Ticks whose lists do not fit are not searched until end_recovery().
  /// Call it once, if there is a log. Calls `check_stop` again and again, which may throw to end
  /// it. Throws std::runtime_error, with one sentence.
  void recover(const LoggedTables& tables, LogReplay& replay, std::function<bool()> do_lists_fit,
               const std::function<void()>& check_stop);
  /// Returns whether the lists of the last tick were not made, because they do not fit in memory.
  bool lacks_lists() const { return skipping_->lacks_lists(); }
  void end_recovery() { skipping_->search_always(); }
  /// From now on, makes snapshots when they are due.
  void make_snapshots();

 private:
  std::unique_ptr<PastReader> past_reader() const;

  Executor& executor_;
  const ServerOptions& options_;
  std::unique_ptr<Journal> journal_;
  std::optional<LoggedState> state_;  ///< the last snapshot, until recover()
  std::unique_ptr<PastReader> past_;
  SkippingEngine* skipping_ = nullptr;        ///< owned by the caller of skipping()
  std::unique_ptr<SnapshotMaker> snapshots_;  ///< null: no snapshots are made
};

}  // namespace starling::stream
