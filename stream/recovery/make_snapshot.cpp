// SPDX-License-Identifier: Apache-2.0
// Applies the log to new tables, and writes their state: see make_snapshot.hpp.
#include "starling/stream/recovery/make_snapshot.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "starling/stream/journal/log_scan.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/recovery/state_codec.hpp"

namespace starling::stream {
namespace {

template <class Function>
void for_each_record(const SnapshotTask& task, const log::LogRange& range,
                     const Function& function) {
  const auto handler = [&](const log::Group& group) {
    if (task.is_cancelled()) throw SnapshotCancelled();
    for (const log::Record& record : group.records) function(record);
  };
  log::read_log(task.files, handler, range);
}

LogScan scan_of(const SnapshotTask& task, const log::LogRange& range) {
  LogScan scan;
  for_each_record(task, range, [&](const log::Record& record) { scan.look_at(record); });
  return scan;
}

log::SnapshotInfo write(const SnapshotTask& task, const log::SegmentHeader& header,
                        std::uint64_t until, const SnapshotState& state) {
  log::SnapshotWriter writer(task.files, header, until, task.created_us);
  RecordBytes epoch;
  encode(EpochRecord{state.epoch}, epoch);
  writer.append(record_type::epoch, record_version, epoch);
  if (!state.runs.empty()) {
    RecordBytes runs;
    encode(RunRecord{state.runs}, runs);
    writer.append(record_type::run, record_version, runs);
  }
  encode_state(state.state, [&](log::RecordType type, std::span<const std::byte> payload) {
    if (task.is_cancelled()) throw SnapshotCancelled();
    writer.append(type, state_version, payload);
  });
  return writer.finish();
}

/// Removes all files before the newest snapshot that is at least keep_us old. With a keep_us of 0,
/// removes all files before the new snapshot.
SnapshotMade drop_old_files(const SnapshotTask& task, const log::SnapshotInfo& made) {
  SnapshotMade result{.snapshot = made};
  try {
    if (task.keep_us == 0) {
      result.dropped_files = log::drop_before(task.files, made);
      return result;
    }
    const auto all = log::snapshots(task.files);
    const auto oldest = std::find_if(all.rbegin(), all.rend(), [&](const log::SnapshotInfo& each) {
      return each.created_us <= task.created_us - task.keep_us;
    });
    if (oldest != all.rend()) result.dropped_files = log::drop_before(task.files, *oldest);
  } catch (const log::IoError& error) {
    result.not_dropped = error.what();
  } catch (const log::DamagedLog& error) {
    result.not_dropped = error.what();
  }
  return result;
}

}  // namespace

SnapshotState read_state(log::Files& files, const log::SnapshotInfo& snapshot) {
  SnapshotState read;
  log::read_snapshot(files, snapshot, [&](const log::Record& record) {
    if (record.type == record_type::epoch)
      read.epoch = std::get<EpochRecord>(decode(record)).epoch;
    else if (record.type == record_type::run)
      read.runs = std::get<RunRecord>(decode(record)).runs;
    else
      decode_state(record, read.state);
    return true;
  });
  return read;
}

std::optional<std::int64_t> last_tau_us(log::Files& files, const log::SnapshotInfo& snapshot) {
  LoggedState state;
  log::read_snapshot(files, snapshot, [&](const log::Record& record) {
    if (record.type == record_type::epoch || record.type == record_type::run) return true;
    decode_state(record, state);
    return false;  // the first section has the last tau
  });
  return state.processor.last_tau_us;
}

std::optional<SnapshotMade> make_snapshot(const SnapshotTask& task) {
  const auto header = log::newest_header(task.files);
  if (!header) return std::nullopt;
  const auto old = log::newest_snapshot(task.files);
  log::LogRange range = log::range_behind(old);
  range.until = task.until;
  LogScan scan = scan_of(task, range);
  if (scan.clean_end() <= range.from) return std::nullopt;
  if (task.until == log::LogRange::no_end) {
    range.until = scan.clean_end();
    scan = scan_of(task, range);
  }
  SnapshotState state;
  {
    const std::string kept(reinterpret_cast<const char*>(header->user.data()), header->user.size());
    ReplayedTables tables(kept, task.make_engine, task.sessions);
    if (old) {
      state = read_state(task.files, *old);
      tables.import_state(std::exchange(state.state, {}));
    }
    tables.engine().skip_before(scan.first_needed_tick());
    tables.engine().skip(scan.failed_ticks());
    for_each_record(task, range,
                    [&](const log::Record& record) { tables.replay().apply(decode(record)); });
    if (scan.epoch()) state.epoch = *scan.epoch();
    if (!scan.runs().empty()) state.runs = scan.runs();
    state.state = tables.export_state();
  }
  const log::SnapshotInfo made = write(task, *header, range.until, state);
  return drop_old_files(task, made);
}

}  // namespace starling::stream
