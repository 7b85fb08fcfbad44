// SPDX-License-Identifier: Apache-2.0
// ReportReceived and GetStats: what subscribers have lost, and the server's counters.
#pragma once

#include <functional>
#include <utility>

#include "starling/stream/callers/caller.hpp"
#include "starling/stream/callers/replies.hpp"
#include "starling/stream/operation/metrics.hpp"
#include "starling/stream/publishing/publisher.hpp"
#include "starling/stream/state/subscriber_losses.hpp"
#include "starling/stream/tables/tables.hpp"

namespace starling::stream {

/// Only the loop calls the functions.
class ReportRequests {
 public:
  /// `gauges` returns the present values.
  ReportRequests(Tables& tables, const Publisher& publisher, SubscriberLosses& losses,
                 Metrics& metrics, Replies& replies, std::function<Gauges()> gauges)
      : tables_(tables),
        publisher_(publisher),
        losses_(losses),
        metrics_(metrics),
        replies_(replies),
        gauges_(std::move(gauges)) {}

  void report_received(const Caller& caller, const protocol::ReportReceived& request);
  void get_stats(const Caller& caller);

 private:
  Tables& tables_;
  const Publisher& publisher_;
  SubscriberLosses& losses_;
  Metrics& metrics_;
  Replies& replies_;
  std::function<Gauges()> gauges_;
};

}  // namespace starling::stream
