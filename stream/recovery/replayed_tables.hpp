// SPDX-License-Identifier: Apache-2.0
// A set of tables for a log that is read beside a server or without one. make_snapshot() and LogRun
// make it, and LogReplay fills it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "starling/stream/recovery/logged_state.hpp"
#include "starling/stream/recovery/skipping_engine.hpp"

namespace starling::stream {

struct KeptOptions;

using EngineMaker = std::function<std::unique_ptr<Engine>(const SpaceOptions& space)>;

class ReplayedTables {
 public:
  /// `kept` is the text in the header of each file of the log (kept_options.hpp). The tables have
  /// no limits but the engine's. Throws std::runtime_error, with a sentence, if this program does
  /// not know an option in `kept`.
  ReplayedTables(const std::string& kept, const EngineMaker& make_engine,
                 const SessionLimits& sessions);

  LogReplay& replay() { return replay_; }
  SkippingEngine& engine() { return *engine_; }
  Processor& processor() { return processor_; }
  Publisher& publisher() { return publisher_; }
  const NameTable& names() const { return names_; }
  /// Lets the engine answer from the last finished tick, and waits for the answers.
  Answers ask(std::vector<OneShotQuery> questions);
  /// Sets the epoch of later messages.
  void set_epoch(std::uint64_t epoch) { publisher_.set_epoch(epoch); }

  LoggedState export_state();
  void import_state(LoggedState state);

 private:
  ReplayedTables(const KeptOptions& kept, const EngineMaker& make_engine,
                 const SessionLimits& sessions);
  ReplayedTables(const KeptOptions& kept, std::unique_ptr<SkippingEngine> engine,
                 const SessionLimits& sessions);
  LoggedTables tables();
  PrincipalId principal_id(const std::string& name);

  bool has_keys_;
  SkippingEngine* engine_;  ///< owned by processor_
  Processor processor_;
  Publisher publisher_;
  SessionTable sessions_;
  NameTable names_;
  Accounts accounts_;
  std::map<std::string, PrincipalId> principals_;
  RecoveredTicks ticks_;
  LogReplay replay_;
};

}  // namespace starling::stream
