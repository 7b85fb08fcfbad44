// Sequence numbers and headers, then the encoded messages: see publisher.hpp. Called by Ticker.
#include "stream/publisher.hpp"

namespace starling::stream {

std::vector<StreamPlan> Publisher::plan(const TickReport& report, const QueryTable& queries) {
  std::vector<StreamPlan> plans;
  plans.reserve(report.streams.size());
  for (const StreamReport& stream : report.streams) {
    // Streams are numbered as they come, and from its first tick on a stream is in every report.
    const auto number = static_cast<std::size_t>(stream.stream);
    if (number >= first_ticks_.size()) first_ticks_.resize(number + 1, to_number(report.tick));
    const StreamDefinition& definition = queries.stream(stream.stream);
    plans.push_back(
        {.stream = definition.name,
         .header = {.epoch = epoch_,
                    .tick = report.tick,
                    .tau_us = report.tau_us,
                    .newest_time_us = report.newest_time_us.value_or(protocol::TickHeader::no_time),
                    .sequence = sequence(stream.stream, report.tick),
                    .failed = !report.error.empty(),
                    .object_count = report.objects,
                    .space = space_,
                    .on = definition.on,
                    .with = definition.with}});
  }
  return plans;
}

std::uint64_t Publisher::sequence(StreamId stream, Tick tick) const {
  const auto number = static_cast<std::size_t>(stream);
  if (number >= first_ticks_.size() || to_number(tick) < first_ticks_[number]) return 0;
  return to_number(tick) - first_ticks_[number] + 1;
}

std::vector<protocol::TickMessage> encode_report(const std::vector<StreamPlan>& plans,
                                                 const TickReport& report, const Lattice& lattice) {
  std::vector<protocol::TickMessage> messages;
  messages.reserve(plans.size());
  for (std::size_t index = 0; index < plans.size(); ++index) {
    const StreamPlan& plan = plans[index];
    messages.push_back(protocol::encode_tick(
        plan.stream, plan.header,
        {.reports = report.streams[index].queries, .with = plan.header.with, .lattice = &lattice}));
  }
  return messages;
}

}  // namespace starling::stream
