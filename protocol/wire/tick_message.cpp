// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes a tick's message: see tick_message.hpp.
#include "starling/protocol/wire/tick_message.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "starling/knn/base/times.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/protocol/wire/wire.hpp"

namespace starling::protocol {
namespace {

// A part of this many lists takes about 700 KB if k is 10. A part therefore stays in a core's cache
// from one pass over it to the next.
constexpr std::size_t lists_per_part = 4096;

Frame encode_header(const TickHeader& header) {
  flatbuffers::FlatBufferBuilder builder(256);
  const wire::Run run(header.at.run.id, header.at.run.begun);
  builder.Finish(
      wire::CreateTickHeader(
          builder, protocol_version, header.epoch, to_number(header.tick), header.tau_us,
          header.newest_time_us, header.sequence, header.failed, header.object_count,
          header.chunk_count, header.list_count, header.removal_count,
          static_cast<wire::Space>(header.space), static_cast<wire::ReportOn>(header.on),
          header.with.distance, header.with.position, header.with.tags, header.stream_removed,
          header.at.run.id == 0 ? nullptr : &run, header.at.run_before, header.at.place),
      tick_header_identifier);
  return Frame(builder.Release());
}

Frame encode_chunk(const ListSource& source) {
  flatbuffers::FlatBufferBuilder builder(chunk_bytes(source));
  builder.Finish(add_lists(builder, source), list_chunk_identifier);
  return Frame(builder.Release());
}

std::optional<Problem> read_header(const AlignedBytes& frame, TickHeader& header) {
  const auto* table = verified_root<wire::TickHeader>(frame.bytes(), tick_header_identifier, 1);
  if (table == nullptr)
    return malformed(
        "The frame after the topic is not a FlatBuffer of the table TickHeader with the file "
        "identifier STTH.");
  if (table->version() != protocol_version)
    return Problem{ErrorCode::wrong_version,
                   "The tick is of protocol version " + std::to_string(table->version()) +
                       "; this client speaks version " + std::to_string(protocol_version) + "."};
  if (table->space() > wire::Space::MAX || table->on() > wire::ReportOn::MAX)
    return malformed("The tick's space or on is not one of protocol version 1.");
  if (!is_time(table->tau_us()) ||
      (table->newest_time_us() != TickHeader::no_time && !is_time(table->newest_time_us())))
    return malformed("A time of the tick is beyond +-2^61 microseconds.");
  header = {.epoch = table->epoch(),
            .tick = Tick{table->tick()},
            .tau_us = table->tau_us(),
            .newest_time_us = table->newest_time_us(),
            .sequence = table->sequence(),
            .failed = table->failed(),
            .object_count = table->object_count(),
            .chunk_count = table->chunk_count(),
            .list_count = table->list_count(),
            .removal_count = table->removal_count(),
            .space = static_cast<Space>(table->space()),
            .on = static_cast<ReportOn>(table->on()),
            .with = {.distance = table->with_distance(),
                     .position = table->with_position(),
                     .tags = table->with_tags()},
            .stream_removed = table->stream_removed(),
            .at = {.run_before = table->run_before(), .place = table->place()}};
  if (const wire::Run* run = table->run()) header.at.run = {run->id(), run->begun()};
  return std::nullopt;
}

std::optional<Problem> read_chunks(std::span<const AlignedBytes> frames, DecodedTick& message) {
  std::uint64_t lists = 0;
  std::uint64_t removals = 0;
  for (const AlignedBytes& frame : frames) {
    const auto* table = verified_root<wire::ListChunk>(frame.bytes(), list_chunk_identifier, 1);
    if (table == nullptr)
      return malformed(
          "A chunk is not a FlatBuffer of the table ListChunk with the file identifier STLC.");
    ListChunk& chunk = message.chunks.emplace_back();
    if (auto problem = read_lists(table, chunk)) return problem;
    if (auto problem = check_columns(message.header.with, chunk)) return problem;
    const auto removed = static_cast<std::uint64_t>(
        std::ranges::count_if(chunk.events, [](std::uint8_t event) { return event != 0; }));
    removals += removed;
    lists += chunk.list_count() - removed;
  }
  if (lists == message.header.list_count && removals == message.header.removal_count)
    return std::nullopt;
  return malformed("A tick's chunks do not hold the number of lists that its header says.");
}

}  // namespace

std::string topic_of(std::string_view stream) {
  std::string topic(stream);
  topic.push_back('\0');
  return topic;
}

std::size_t TickMessage::bytes() const {
  std::size_t sum = topic.size() + header.size();
  for (const Frame& chunk : chunks) sum += chunk.size();
  return sum;
}

TickEncoding::TickEncoding(std::string_view stream, const TickHeader& header,
                           const ListSource& lists)
    : topic_(topic_of(stream)),
      header_(header),
      lists_(lists),
      parts_((lists.reports.size() + lists_per_part - 1) / lists_per_part) {
  header_.with = carried_columns(lists);
}

void TickEncoding::encode_part(std::size_t number) {
  Part& part = parts_[number];
  const std::size_t begin = number * lists_per_part;
  auto rest =
      lists_.reports.subspan(begin, std::min(lists_per_part, lists_.reports.size() - begin));
  part.removal_count = static_cast<std::uint64_t>(std::ranges::count(
      rest, ListEvent::removed, [](const QueryReport& report) { return report.event; }));
  while (!rest.empty()) {
    const std::size_t count = lists_that_fit(rest, lists_.with);
    ListSource some = lists_;
    some.reports = rest.first(count);
    some.with = header_.with;
    part.chunks.push_back(encode_chunk(some));
    rest = rest.subspan(count);
  }
}

TickMessage TickEncoding::finish() {
  TickMessage message;
  message.topic = std::move(topic_);
  for (Part& part : parts_) {
    header_.removal_count += part.removal_count;
    std::ranges::move(part.chunks, std::back_inserter(message.chunks));
  }
  header_.list_count = lists_.reports.size() - header_.removal_count;
  header_.chunk_count = static_cast<std::uint32_t>(message.chunks.size());
  message.header = encode_header(header_);
  return message;
}

TickMessage encode_tick(std::string_view stream, const TickHeader& header,
                        const ListSource& lists) {
  TickEncoding encoding(stream, header, lists);
  for (std::size_t part = 0; part < encoding.part_count(); ++part) encoding.encode_part(part);
  return encoding.finish();
}

DecodedTick decode_tick(std::span<const AlignedBytes> frames) {
  DecodedTick message;
  if (frames.empty()) {
    message.problem = malformed("A tick's message has no header.");
    return message;
  }
  message.problem = read_header(frames.front(), message.header);
  if (message.problem) return message;
  const auto chunks = frames.subspan(1);
  if (chunks.size() != message.header.chunk_count) {
    message.problem =
        malformed("A tick's message has " + std::to_string(chunks.size()) +
                  " chunks; its header says " + std::to_string(message.header.chunk_count) + ".");
    return message;
  }
  message.problem = read_chunks(chunks, message);
  return message;
}

}  // namespace starling::protocol
