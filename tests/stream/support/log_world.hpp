// SPDX-License-Identifier: Apache-2.0
// A server's log on a simulated disk, without a server: the test commits, and moves the clock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "starling/stream/journal/journal.hpp"
#include "starling/stream/journal/kept_options.hpp"
#include "tests/stream/journal/cut_disk.hpp"
#include "tests/stream/support/manual_executor.hpp"

namespace starling::stream {

struct LogWorld {
  LogWorld() {
    options.folder = "simulated";
    options.durability = Durability::tick;
    options.segment_bytes = 4096;
    options.open = [this](const std::string&, log::FolderUse) { return disk.open(); };
    options.wall_now_us = [this] { return executor.now_us(); };
    options.run_commits = [this](log::GroupCommit& made) { commits = &made; };
  }

  /// Opens the log, or opens it again. `recovered` then has its records.
  Journal& start(const std::string& kept = to_text(KeptOptions{})) {
    journal.reset();
    recovered.clear();
    journal = std::make_unique<Journal>(executor, options, kept, [this] { return ++random; });
    journal->look_through();
    journal->recover([this](std::span<const JournalRecord> records) {
      recovered.insert(recovered.end(), records.begin(), records.end());
    });
    return *journal;
  }

  /// Commits what is due now, and runs what waited for it.
  void commit() {
    while (commits->due_in_us() == 0) commits->step();
    executor.run();
  }
  /// Commits all records that wait, and runs what waited for them.
  void commit_all() {
    journal->commits().commit_now();
    commit();
  }

  CutDisk disk{1};
  ManualExecutor executor;
  JournalOptions options;
  log::GroupCommit* commits = nullptr;
  std::uint64_t random = 0;
  std::vector<JournalRecord> recovered;
  std::unique_ptr<Journal> journal;  ///< declared last, so that it ends before its disk
};

}  // namespace starling::stream
