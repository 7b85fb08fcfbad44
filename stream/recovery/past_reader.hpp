// SPDX-License-Identifier: Apache-2.0
// Answers questions about a tick of the past from a server's log, on a thread of its own, with a
// low priority, while the server goes on. ServerLog owns it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "starling/knn/engine/engine.hpp"
#include "starling/log/files.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/recovery/log_run.hpp"

namespace starling::stream {

/// Questions about the last tick at or before a time.
struct PastQuestions {
  std::int64_t at_us = 0;  ///< tau
  std::vector<OneShotQuery> questions;
  std::vector<ObjectId> objects;  ///< the objects that questions follow; one for each question
};

/// The log has no tick at or before the time.
class BeforeTheLog : public std::runtime_error {
 public:
  explicit BeforeTheLog(std::optional<std::int64_t> first_us);
  const std::optional<std::int64_t> first_us;  ///< tau of the first tick that the log has
};

/// Brings the tables of the log to the last tick at or before `asked.at_us`, and answers the
/// questions from it. Call it once for each LogRun. The options of the LogRun must name the same
/// time. Throws BeforeTheLog, and what LogRun throws.
Answers answer_from(LogRun& log, PastQuestions asked);

class PastReader {
 public:
  /// Opens the log to read it beside its writer. Called on the reader's thread.
  using OpenLog = std::function<std::unique_ptr<log::Files>()>;
  PastReader(Executor& executor, OpenLog open, EngineMaker make_engine);
  /// Cancels what is under way, and waits until its thread has ended.
  ~PastReader() { is_cancelled_ = true; }

  struct Outcome {
    Answers answers;
    std::string refusal;  ///< why the log has no tick at or before at_us; otherwise empty
    std::string failure;  ///< why the log could not be read; otherwise empty
    std::int64_t us = 0;  ///< processor time of the reading and the search
  };
  /// Calls `answered` on the loop later. Answers one after the other.
  void ask(PastQuestions questions, std::function<void(const Outcome&)> answered);

 private:
  void answer_beside(PastQuestions questions, Outcome& outcome) const;

  Executor& executor_;
  OpenLog open_;
  EngineMaker make_engine_;
  std::atomic<bool> is_cancelled_{false};
  std::unique_ptr<Threads> thread_;  ///< declared last, so that it ends first
};

}  // namespace starling::stream
