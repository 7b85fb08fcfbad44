// SPDX-License-Identifier: Apache-2.0
// Counts lost ticks and reads the metrics: see report_requests.hpp.
#include "starling/stream/requests/report_requests.hpp"

#include "starling/protocol/wire/reply_codec.hpp"

namespace starling::stream {

void ReportRequests::report_received(const Caller& caller,
                                     const protocol::ReportReceived& request) {
  const Processor& processor = tables_.settled();
  const auto stream = processor.queries().find_stream(request.stream);
  if (!stream) return replies_.refuse(caller, unknown_stream(request.stream));
  protocol::Done reply;
  if (request.epoch == publisher_.epoch()) {
    const Tick last = processor.last_tick();
    metrics_.lost_by_subscribers(losses_.report(caller.head.session, *stream, request.lost,
                                                publisher_.message_count(*stream, last)));
    reply.sequence = publisher_.sequence(*stream, last);
  }
  replies_.send(caller, protocol::encode_done(caller.reply_head(), reply));
}

void ReportRequests::get_stats(const Caller& caller) {
  const auto samples = metrics_.samples(gauges_());
  protocol::Stats stats;
  for (const Sample& sample : samples) stats.counters.push_back({sample.name, sample.value});
  replies_.send(caller, protocol::encode_stats(caller.reply_head(), stats));
}

}  // namespace starling::stream
