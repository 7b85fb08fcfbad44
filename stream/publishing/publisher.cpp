// SPDX-License-Identifier: Apache-2.0
// Chooses each message's sequence number, and encodes header and chunks: see publisher.hpp.
#include "starling/stream/publishing/publisher.hpp"

#include <algorithm>
#include <utility>

namespace starling::stream {

void Publisher::open(StreamId stream) {
  const auto index = static_cast<std::size_t>(stream);
  if (index >= state_.numbers.size()) state_.numbers.resize(index + 1);
  if (state_.numbers[index].opening != 0) return;
  state_.numbers[index] = {.opening = ++state_.last_opening, .before = state_.last_removed};
}

std::vector<StreamPlan> Publisher::plan(const TickReport& report, const QueryTable& queries,
                                        std::uint64_t place) {
  protocol::RunPlace at = at_;
  if (at.run.id != 0) at.place = place;
  std::vector<StreamPlan> plans = std::exchange(spare_, {});
  plans.clear();
  plans.reserve(report.streams.size());
  for (std::size_t index = 0; index < report.streams.size(); ++index) {
    const StreamReport& stream = report.streams[index];
    if (stream.is_gone) continue;
    open(stream.stream);
    Numbers& numbers = state_.numbers[static_cast<std::size_t>(stream.stream)];
    if (numbers.first_tick == 0) numbers.first_tick = to_number(report.tick);
    const std::uint64_t number = sequence(stream.stream, report.tick);
    if (stream.is_last) {
      state_.last_removed = std::max(state_.last_removed, number);
      numbers = {};
    }
    const StreamDefinition& definition = queries.stream(stream.stream);
    plans.push_back(
        {.stream = definition.name,
         .report = index,
         .header = {.epoch = epoch_,
                    .tick = report.tick,
                    .tau_us = report.tau_us,
                    .newest_time_us = report.newest_time_us.value_or(protocol::TickHeader::no_time),
                    .sequence = number,
                    .failed = !report.error.empty(),
                    .object_count = report.objects,
                    .space = space_,
                    .on = definition.on,
                    .with = definition.with,
                    .stream_removed = stream.is_last,
                    .at = at}});
  }
  return plans;
}

std::uint64_t Publisher::sequence(StreamId stream, Tick tick) const {
  return numbers(stream).before + message_count(stream, tick);
}

std::uint64_t Publisher::message_count(StreamId stream, Tick tick) const {
  const std::uint64_t first_tick = numbers(stream).first_tick;
  return first_tick == 0 || to_number(tick) < first_tick ? 0 : to_number(tick) - first_tick + 1;
}

Publisher::Numbers Publisher::numbers(StreamId stream) const {
  const auto index = static_cast<std::size_t>(stream);
  return index < state_.numbers.size() ? state_.numbers[index] : Numbers{};
}

std::vector<protocol::TickMessage> encode_report(const std::vector<StreamPlan>& plans,
                                                 const TickReport& report,
                                                 const protocol::ServedSpace& space,
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
                           space.source_of(report.streams[plan.report].queries, plan.header.with));
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
