// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of servers with a log: folders that vanish, a disk that the test holds, and a
// random script whose transcript does not depend on restarts.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/log/support/simulated_files.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {

/// A folder that is removed with the object.
class JournalFolder {
 public:
  JournalFolder();
  ~JournalFolder() { std::filesystem::remove_all(path_); }
  JournalFolder(const JournalFolder&) = delete;
  JournalFolder& operator=(const JournalFolder&) = delete;
  const std::string& path() const { return path_; }
  /// The files of the log, oldest first.
  std::vector<std::filesystem::path> files() const;

 private:
  std::string path_;
};

/// Returns options with manual ticks, a small table, and a log in the folder.
ServerOptions journal_options(const std::string& folder);

/// Makes the engines that snapshots and LogRun use.
std::unique_ptr<Engine> engine_for(const SpaceOptions& space);

/// A disk that outlives the servers that use it.
struct TestDisk {
  log::SimulatedFiles files;
  std::atomic<bool> is_full{false};  ///< whether the disk has no room for new files
};
/// Returns options like those of journal_options(folder), with smaller segments and a log on a
/// simulated disk.
ServerOptions journal_options(const std::shared_ptr<TestDisk>& disk);

/// When a JournalScript makes snapshots of the log.
enum class Snapshots {
  never,
  beside_server,       ///< a snapshot is made whenever the log has grown a little
  between_two_servers  ///< a snapshot is made before each restart
};

/// Runs a random script on a server, and restarts the server now and then.
class JournalScript {
 public:
  /// Without a folder, the server has no log and is never restarted.
  JournalScript(std::uint64_t seed, std::optional<std::string> folder,
                Snapshots snapshots = Snapshots::never);
  ~JournalScript();

  /// Returns the replies, the messages of all ticks without their epoch, and in the end all that
  /// the server answers about its state.
  std::vector<std::string> run(int steps, int restart_every);
  int restarts() const { return restarts_; }
  /// Returns how many different snapshots were seen in the folder at restarts.
  std::size_t snapshots() const { return snapshot_names_.size(); }

 private:
  void start();
  void restart();
  void subscribe();
  void step();
  void tick();
  void receive_messages(std::size_t count);
  void tell_state();
  void update_objects();
  void change_tags();
  void remove_objects();
  void put_names();
  void put_stream();
  void remove_stream();
  void put_queries();
  void remove_queries();
  std::string any_stream();
  double place();

  void look_at_snapshots();

  Snapshots snapshots_;
  std::set<std::string> snapshot_names_;
  ServerOptions options_;
  test::Random random_;
  zmq::context_t context_;
  std::unique_ptr<RunningServer> server_;
  std::unique_ptr<protocol::Client> client_;
  std::unique_ptr<zmq::socket_t> results_;
  std::set<std::string> live_;     ///< streams that exist
  std::set<std::string> removed_;  ///< streams that were removed since the last tick
  std::int64_t tau_us_ = 1;
  std::uint64_t epoch_ = 0;
  int restarts_ = 0;
  std::vector<std::string> said_;
};

}  // namespace starling::stream
