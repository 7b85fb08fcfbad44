// SPDX-License-Identifier: Apache-2.0
// Defines the reading of a whole log: see reader.hpp.
#include "starling/log/reader.hpp"

#include "starling/log/segment_reader.hpp"

namespace starling::log {
namespace {

/// The reading of one log, segment by segment.
class LogReading {
 public:
  LogReading(Files& files, const GroupHandler& handler) : files_(files), handler_(handler) {}

  /// Reads a segment. `is_last` says that no segment follows.
  void read(const std::string& name, bool is_last) {
    const auto file = files_.open(name);
    SegmentHeader header = read_segment_header(*file, name);
    if (summary_.end) check_order(name, header);
    ++summary_.segments;
    SegmentReader reader(*file, name, header);
    summary_.bytes += reader.offset();
    while (reader.next()) take(reader);
    if (reader.torn_bytes() != 0 && !is_last) throw reader.bad();
    if (reader.torn_bytes() != 0) summary_.torn_tail = {name, reader.offset(), reader.torn_bytes()};
    summary_.end = {std::move(header), name, reader.group_offset(), reader.offset(),
                    reader.position()};
  }

  /// Lets the next segment begin anywhere.
  void forget_order() { summary_.end.reset(); }
  LogSummary& summary() { return summary_; }

 private:
  void take(const SegmentReader& reader) {
    const Group group = reader.group();
    ++summary_.groups;
    summary_.records += group.records.size();
    summary_.bytes += reader.offset() - reader.group_offset();
    handler_(group);
  }

  /// Checks that a segment follows the one before it.
  void check_order(const std::string& name, const SegmentHeader& header) const {
    const LogEnd& before = *summary_.end;
    if (header.id != before.header.id) throw DamagedLog(name, 0, "the file is of another log");
    if (header.user != before.header.user)
      throw DamagedLog(name, 0,
                       "the user's part of the header differs from that of " + before.file);
    if (header.number != before.header.number + 1)
      throw DamagedLog(name, 0,
                       "it is segment " + std::to_string(header.number) + ", and segment " +
                           std::to_string(before.header.number) + " is before it");
    if (header.begin != before.position)
      throw DamagedLog(before.file, before.offset,
                       "groups are missing: " + name + " begins with group " +
                           std::to_string(header.begin.next_group) + ", not with group " +
                           std::to_string(before.position.next_group));
  }

  Files& files_;
  const GroupHandler& handler_;
  LogSummary summary_;
};

}  // namespace

LogSummary read_log(Files& files, const GroupHandler& handler) {
  LogReading reading(files, handler);
  const auto names = segment_names(files);
  for (const std::string& name : names) reading.read(name, name == names.back());
  return std::move(reading.summary());
}

LogCheck check_log(Files& files) {
  const GroupHandler ignore = [](const Group&) {};
  LogReading reading(files, ignore);
  LogCheck check;
  const auto names = segment_names(files);
  for (const std::string& name : names) {
    try {
      reading.read(name, name == names.back());
    } catch (const DamagedLog& damage) {
      check.damage.push_back(damage);
      reading.forget_order();
    }
  }
  check.read = std::move(reading.summary());
  return check;
}

}  // namespace starling::log
