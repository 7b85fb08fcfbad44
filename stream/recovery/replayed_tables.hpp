// SPDX-License-Identifier: Apache-2.0
// Tables of their own for a log that is read beside a server, or without one: to make a snapshot,
// and to run its ticks again.
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

/// Makes an engine for a space.
using EngineMaker = std::function<std::unique_ptr<Engine>(const SpaceOptions& space)>;

class ReplayedTables {
 public:
  /// `kept` is what the header of each file of the log says (kept_options.hpp). The tables have no
  /// limits but the engine's. Throws std::runtime_error, with a sentence, if this program does not
  /// know an option of it.
  ReplayedTables(const std::string& kept, const EngineMaker& make_engine,
                 const SessionLimits& sessions);

  LogReplay& replay() { return replay_; }
  SkippingEngine& engine() { return *engine_; }
  Processor& processor() { return processor_; }
  Publisher& publisher() { return publisher_; }
  const NameTable& names() const { return names_; }
  /// Asks the engine, and waits for the answers: from the last finished tick.
  Answers ask(std::vector<OneShotQuery> questions);
  /// The epoch of the messages from here on.
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
