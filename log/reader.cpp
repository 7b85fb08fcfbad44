// SPDX-License-Identifier: Apache-2.0
// Reads segment after segment, and checks that they follow one another: see reader.hpp.
#include "starling/log/reader.hpp"

#include <algorithm>

#include "starling/log/segment_reader.hpp"

namespace starling::log {
namespace {

/// Reads one log segment by segment and sums up what it read. read_log and check_log share it.
class LogReading {
 public:
  LogReading(Files& files, const GroupHandler& handler, const LogRange& range)
      : files_(files), handler_(handler), range_(range) {}

  /// Returns the names of the segments that have records of the range, oldest first. Throws
  /// DamagedLog if the first records are missing.
  std::vector<std::string> names() const {
    auto all = segment_names(files_);
    const auto first = std::ranges::find_if(
        all, [&](const std::string& name) { return *sequence_of_name(name) > range_.from; });
    if (first == all.begin() && (!all.empty() || range_.from > 1))
      throw DamagedLog(
          all.empty() ? segment_name(range_.from) : all.front(), 0,
          "the file before it, with record " + std::to_string(range_.from) + ", is missing");
    if (!all.empty()) all.erase(all.begin(), first - 1);
    return all;
  }

  /// Reads a segment. `is_last` says that no segment follows.
  void read(const std::string& name, bool is_last) {
    const auto file = files_.open(name);
    SegmentHeader header = read_segment_header(*file, name);
    if (range_.id && header.id != *range_.id)
      throw DamagedLog(name, 0, "the file is of another log than the snapshot");
    if (summary_.end) check_order(name, header);
    ++summary_.segments;
    SegmentReader reader(*file, name, header);
    summary_.bytes += reader.offset();
    while (reader.position().next_sequence < range_.until && reader.next()) take(reader);
    if (reader.position().next_sequence >= range_.until) is_done_ = true;
    if (reader.torn_bytes() != 0 && !is_last) throw reader.bad();
    if (reader.torn_bytes() != 0) summary_.torn_tail = {name, reader.offset(), reader.torn_bytes()};
    summary_.end = {std::move(header), name, reader.group_offset(), reader.offset(),
                    reader.position()};
  }

  /// Throws DamagedLog if the log ends before the range begins: otherwise new records would get the
  /// numbers of records in the snapshot.
  void check_end() const {
    if (!summary_.end || summary_.end->position.next_sequence >= range_.from) return;
    throw DamagedLog(summary_.end->file, summary_.end->offset,
                     "the log ends before record " + std::to_string(range_.from) +
                         ", where its snapshot ends: the last groups are missing");
  }
  /// Whether the whole range is read.
  bool is_done() const { return is_done_; }
  /// Makes read() skip the check that the next segment follows the one before it.
  void forget_order() { summary_.end.reset(); }
  LogSummary& summary() { return summary_; }

 private:
  void take(const SegmentReader& reader) {
    const Group group = reader.group();
    ++summary_.groups;
    summary_.records += group.records.size();
    summary_.bytes += reader.offset() - reader.group_offset();
    const std::uint64_t first = reader.position().next_sequence - group.records.size();
    const auto index_of = [&](std::uint64_t sequence) {
      return std::clamp<std::uint64_t>(sequence, first, reader.position().next_sequence) - first;
    };
    const std::uint64_t begin = index_of(range_.from);
    const std::uint64_t end = index_of(range_.until);
    if (begin < end) handler_({group.number, group.records.subspan(begin, end - begin)});
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
  LogRange range_;
  bool is_done_ = false;
  LogSummary summary_;
};

}  // namespace

LogSummary read_log(Files& files, const GroupHandler& handler, const LogRange& range) {
  LogReading reading(files, handler, range);
  const auto names = reading.names();
  for (const std::string& name : names) {
    reading.read(name, name == names.back());
    if (reading.is_done()) break;
  }
  reading.check_end();
  return std::move(reading.summary());
}

bool has_first_record(const Files& files) {
  const auto names = segment_names(files);
  return !names.empty() && sequence_of_name(names[0]) == 1;
}

LogCheck check_log(Files& files, const LogRange& range, const GroupHandler& handler) {
  LogReading reading(files, handler, range);
  LogCheck check;
  const auto note_damage = [&](const auto& function) {
    try {
      function();
    } catch (const DamagedLog& damage) {
      check.damage.push_back(damage);
      reading.forget_order();
    }
  };
  std::vector<std::string> names = segment_names(files);
  note_damage([&] { names = reading.names(); });
  for (const std::string& name : names)
    note_damage([&] { reading.read(name, name == names.back()); });
  note_damage([&] { reading.check_end(); });
  check.read = std::move(reading.summary());
  return check;
}

}  // namespace starling::log
