// SPDX-License-Identifier: Apache-2.0
// Writes an event for each span of time, in a lane for each kind of work: see tick_trace.hpp.
#include "starling/stream/operation/tick_trace.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <spdlog/spdlog.h>

namespace starling::stream {
namespace {

enum Lane : int { updates_lane, copy_in_lane, compute_lane, copy_out_lane, loop_lane, encode_lane };

constexpr std::uint64_t updates_per_tick_max = 1000;

std::int64_t to_us(double ms) {
  return static_cast<std::int64_t>(ms * 1e3);
}

}  // namespace

TickTrace::TickTrace(const std::string& path, std::uint64_t ticks_max)
    : path_(path),
      file_(path, std::ios::trunc),
      ticks_left_(ticks_max),
      updates_left_(ticks_max * updates_per_tick_max) {
  file_ << "[";
  name_lane(updates_lane, "updates");
  name_lane(copy_in_lane, "copy in (device)");
  name_lane(compute_lane, "compute (engine)");
  name_lane(copy_out_lane, "copy out (device)");
  name_lane(loop_lane, "report and send (loop)");
  name_lane(encode_lane, "encode");
  file_.flush();
  if (!file_)
    throw std::runtime_error("cannot write the trace " + path + ": " + std::strerror(errno) +
                             "; give --trace a path that can be written");
}

TickTrace::~TickTrace() {
  if (ticks_left_ > 0) end();
}

void TickTrace::tick(const TickTimeline& timeline) {
  if (ticks_left_ == 0) return;
  const auto stage = [&](int lane, std::string_view name, std::int64_t end_us, double ms) {
    if (end_us == 0 || ms == 0) return end_us;
    span(lane, name, end_us - to_us(ms), end_us, "tick", to_number(timeline.tick));
    return end_us - to_us(ms);
  };
  const StageTimes& times = timeline.stages;
  for (const StageEnds::Span& part : timeline.ends.copied_ahead)
    span(copy_in_lane, "copy in ahead", part.begin_us, part.end_us, "tick",
         to_number(timeline.tick));
  stage(copy_in_lane, "copy in", timeline.ends.copied_in_us, times.copy_in_ms);
  const std::int64_t searched_us =
      stage(compute_lane, "diff", timeline.ends.computed_us, times.diff_ms);
  const std::int64_t built_us = stage(compute_lane, "search", searched_us, times.search_ms);
  stage(compute_lane, "build", built_us, times.build_ms);
  stage(copy_out_lane, "copy out", timeline.ends.copied_out_us, times.copy_out_ms);
  const auto own = [&](int lane, std::string_view name, std::int64_t begin_us,
                       std::int64_t end_us) {
    span(lane, name, begin_us, end_us, "tick", to_number(timeline.tick));
  };
  own(loop_lane, "begin", timeline.begun_us, timeline.begun_us + 1);
  own(loop_lane, "sort by stream", timeline.arrived_us, timeline.sorted_us);
  own(encode_lane, "encode", timeline.encode_us, timeline.encoded_us);
  own(loop_lane, "sent", timeline.sent_us, timeline.sent_us + 1);
  if (--ticks_left_ == 0) end();
}

void TickTrace::updates(std::int64_t begin_us, std::int64_t end_us, std::size_t rows) {
  if (ticks_left_ == 0 || updates_left_ == 0) return;
  --updates_left_;
  span(updates_lane, "apply updates", begin_us, end_us, "rows", rows);
}

void TickTrace::span(int lane, std::string_view name, std::int64_t begin_us, std::int64_t end_us,
                     std::string_view argument, std::uint64_t value) {
  file_ << ",\n{\"name\":\"" << name << "\",\"ph\":\"X\",\"pid\":1,\"tid\":" << lane
        << ",\"ts\":" << begin_us << ",\"dur\":" << end_us - begin_us << ",\"args\":{\"" << argument
        << "\":" << value << "}}";
}

void TickTrace::name_lane(int lane, std::string_view name) {
  file_ << (lane == 0 ? "\n" : ",\n")
        << "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":" << lane
        << ",\"args\":{\"name\":\"" << name << "\"}}";
}

void TickTrace::end() {
  file_ << "\n]\n";
  file_.close();
  if (file_.fail())
    spdlog::warn("the trace {} could not be written; is the disk full?", path_);
  else
    spdlog::info("the trace {} is complete", path_);
}

}  // namespace starling::stream
