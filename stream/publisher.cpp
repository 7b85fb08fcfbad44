// SPDX-License-Identifier: Apache-2.0
// Chooses each message's sequence number, and encodes header and chunks: see publisher.hpp.
#include "starling/stream/publisher.hpp"

namespace starling::stream {

std::vector<StreamPlan> Publisher::plan(const TickReport& report, const QueryTable& queries) {
  std::vector<StreamPlan> plans;
  plans.reserve(report.streams.size());
  for (const StreamReport& stream : report.streams) {
    // StreamIds count up from 0. A stream that is in one report is in every later report, so a
    // number beyond the end of first_ticks_ belongs to a new stream.
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
                                                 const TickReport& report, const ServedSpace& space,
                                                 EncodeHelpers& helpers) {
  struct Piece {
    std::size_t stream;
    std::size_t part;
  };
  std::vector<protocol::TickEncoding> encodings;
  std::vector<Piece> pieces;
  encodings.reserve(plans.size());
  for (std::size_t stream = 0; stream < plans.size(); ++stream) {
    const StreamPlan& plan = plans[stream];
    encodings.emplace_back(plan.stream, plan.header,
                           space.source_of(report.streams[stream].queries, plan.header.with));
    for (std::size_t part = 0; part < encodings.back().part_count(); ++part)
      pieces.push_back({stream, part});
  }
  const auto encode = [&](std::size_t piece) {
    encodings[pieces[piece].stream].encode_part(pieces[piece].part);
  };
  // If every stream has only one part, encoding takes less time than waking the helpers.
  if (pieces.size() > plans.size())
    helpers.run(pieces.size(), encode);
  else
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) encode(piece);
  std::vector<protocol::TickMessage> messages;
  messages.reserve(encodings.size());
  for (protocol::TickEncoding& encoding : encodings) messages.push_back(encoding.finish());
  return messages;
}

}  // namespace starling::stream
