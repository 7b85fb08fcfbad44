// SPDX-License-Identifier: Apache-2.0
// GetNeighbors: one-shot questions about the last tick, and about a tick of the past. A question
// that the engine does not answer at once is a job of FairJobs, which divide the engine's time
// between payers. A question about the past is one, too: one after the other reads the log.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "starling/knn/engine/answers.hpp"
#include "starling/knn/engine/engine_answers.hpp"
#include "starling/protocol/rows/served_space.hpp"
#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/owners.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/callers/request_log.hpp"
#include "starling/stream/operation/options.hpp"
#include "starling/stream/pools/executor.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/recovery/past_reader.hpp"
#include "starling/stream/requests/prepare.hpp"
#include "starling/stream/tables/tables.hpp"
#include "starling/stream/turns/fair_jobs.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class QuestionRequests {
 public:
  /// `past` is null if the server has no log.
  QuestionRequests(const ServerOptions& options, Executor& executor, Tables& tables,
                   const Publisher& publisher, RequestLog& log, Replies& replies, Owners& owners,
                   PastReader* past)
      : options_(options),
        executor_(executor),
        tables_(tables),
        publisher_(publisher),
        log_(log),
        replies_(replies),
        owners_(owners),
        past_(past),
        searches_({.jobs_max = options.searches_max,
                   .long_us = tables.processor().engine().answers_short_beside_long()
                                  ? long_search_us
                                  : std::numeric_limits<std::int64_t>::max()}),
        past_searches_({.jobs_max = options.searches_max, .running_max = 1}) {}

  void get(const Caller& caller, PreparedRequest& request);

  /// Returns the number of requests that wait for the engine or are being answered.
  std::size_t under_way() const { return searches_.count(); }
  /// Returns the time, on the steady clock, when a question last arrived or was answered.
  std::int64_t last_us() const { return last_us_; }

 private:
  struct Asked;
  void search(const Caller& caller, const protocol::GetNeighbors& request,
              std::vector<OneShotQuery> questions);
  bool begin_search(Asked& asked);
  void ask_past(const Caller& caller, const protocol::GetNeighbors& request,
                std::vector<OneShotQuery> questions);
  bool begin_past(const Caller& caller, const std::shared_ptr<PastQuestions>& asked);
  void send_past(const Caller& caller, const PastReader::Outcome& outcome);
  void send(const Caller& caller, const Answers& answers);

  const ServerOptions& options_;
  Executor& executor_;
  Tables& tables_;
  const Publisher& publisher_;
  RequestLog& log_;
  Replies& replies_;
  Owners& owners_;
  PastReader* past_;
  FairJobs searches_;
  FairJobs past_searches_;  ///< about the past
  std::int64_t last_us_ = std::numeric_limits<std::int64_t>::min() / 2;
};

}  // namespace starling::stream
