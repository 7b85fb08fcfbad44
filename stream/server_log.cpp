// SPDX-License-Identifier: Apache-2.0
// Opens the log of a server and applies it: see server_log.hpp.
#include "starling/stream/server_log.hpp"

#include <future>
#include <utility>

#include "starling/stream/recovery/make_snapshot.hpp"

namespace starling::stream {

ServerLog::ServerLog(Executor& executor, const ServerOptions& options)
    : executor_(executor), options_(options) {
  if (!options.journal.is_on()) return;
  journal_ = std::make_unique<Journal>(executor, options.journal, to_text(kept_options(options)),
                                       options.random);
  past_ = past_reader();
  const FoundLog& found = journal_->found();
  if (!found.snapshot()) {
    journal_->look_through();
    return;
  }
  const auto policy = options.journal.has_threads() ? std::launch::async : std::launch::deferred;
  auto reading =
      std::async(policy, [&] { return read_state(found.files(), *found.snapshot()).state; });
  journal_->look_through();
  try {
    state_ = reading.get();
  } catch (...) {
    found.explain();
  }
}

std::unique_ptr<PastReader> ServerLog::past_reader() const {
  const JournalOptions& journal = options_.journal;
  if (!journal.make_engine) return nullptr;
  return std::make_unique<PastReader>(
      executor_, [&journal] { return journal.open(journal.folder, log::FolderUse::read); },
      journal.make_engine);
}

std::unique_ptr<Engine> ServerLog::skipping(std::unique_ptr<Engine> engine) {
  if (!journal_) return engine;
  auto made = std::make_unique<SkippingEngine>(std::move(engine));
  skipping_ = made.get();
  return made;
}

void ServerLog::recover(const LoggedTables& tables, LogReplay& replay,
                        std::function<bool()> do_lists_fit,
                        const std::function<void()>& check_stop) {
  if (state_) import_state(*std::exchange(state_, {}), tables, replay);
  const LogScan& scan = journal_->found().scan();
  skipping_->skip_before(scan.first_needed_tick());
  skipping_->skip(scan.failed_ticks());
  skipping_->search_if(std::move(do_lists_fit), scan.last_finished());
  journal_->recover([&](std::span<const JournalRecord> records) {
    check_stop();
    replay.apply(records);
  });
  replay.apply(JournalRecord(RunRecord{journal_->found().runs()}));
}

void ServerLog::make_snapshots() {
  if (!options_.journal.make_engine) return;
  snapshots_ = std::make_unique<SnapshotMaker>(
      executor_,
      SnapshotTask{.files = journal_->found().files(),
                   .make_engine = options_.journal.make_engine,
                   .sessions = options_.sessions,
                   .keep_us = options_.journal.keep_us},
      options_.wall_now_us,
      [this](const std::optional<log::SnapshotInfo>& made) { journal_->snapshot_ended(made); });
  journal_->make_snapshots_with([this](std::uint64_t place) { snapshots_->make(place); });
}

}  // namespace starling::stream
