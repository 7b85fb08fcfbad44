// SPDX-License-Identifier: Apache-2.0
// Reads a server's log, and appends to it: see journal.hpp.
#include "starling/stream/journal/journal.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include <spdlog/spdlog.h>

#include "starling/log/identity.hpp"
#include "starling/log/record.hpp"
#include "starling/log/writer.hpp"

namespace starling::stream {

std::string_view to_string(Durability durability) {
  switch (durability) {
    case Durability::off:
      return "off";
    case Durability::tick:
      return "tick";
    case Durability::sync:
      return "sync";
  }
  return "unknown";
}

std::optional<Durability> durability_from_string(std::string_view text) {
  for (const Durability durability : {Durability::off, Durability::tick, Durability::sync})
    if (text == to_string(durability)) return durability;
  return std::nullopt;
}

Journal::Journal(Executor& executor, const JournalOptions& options, std::string kept,
                 std::function<std::uint64_t()> random)
    : executor_(executor),
      options_(options),
      random_(std::move(random)),
      found_(options, std::move(kept)),
      schedule_(options),
      commits_(executor, options) {}

void Journal::recover(const std::function<void(std::span<const JournalRecord>)>& apply) {
  try {
    begin_writing(read(apply));
  } catch (const log::IoError&) {
    found_.explain();
  } catch (const log::DamagedLog&) {
    found_.explain();
  } catch (const log::WriterDead&) {
    found_.explain();
  }
  places_.begin(found_.scan().ticks_under_way());
  if (found_.is_copy())
    spdlog::warn(
        "the log in {} was put back from a copy, and may lack what was acknowledged since then: "
        "it begins a new epoch, and subscribers and producers are told",
        options_.folder);
  begin_run();
}

log::LogSummary Journal::read(const std::function<void(std::span<const JournalRecord>)>& apply) {
  const std::int64_t since_us = executor_.now_us();
  std::uint64_t tail_bytes = 0;
  log::LogSummary summary = found_.read_and_mend([&](const DecodedRecords& part) {
    tail_bytes += part.bytes;
    apply(part.records);
  });
  const auto& snapshot = found_.snapshot();
  schedule_.begin({tail_bytes, since_us - found_.tail_age_us()}, snapshot ? snapshot->bytes : 0);
  if (summary.end)
    spdlog::info("the log is read: {} records in {} files, {} MB, in {} ms", summary.records,
                 summary.segments, summary.bytes / 1'000'000,
                 (executor_.now_us() - since_us) / 1000);
  return summary;
}

/// The identity of a new log comes before its first run, because a log that has runs and no
/// identity is taken for a copy. That of a copy comes after its new epoch: otherwise, after power
/// loss in between, the next start would not recognize the copy and would keep the old epoch.
void Journal::begin_writing(const log::LogSummary& summary) {
  auto writer = writer_for(summary);
  if (!log::has_identity(found_.files()) && !found_.is_copy())
    log::write_identity(found_.files(), false);
  const bool is_epoch_written = found_.is_epoch_new() && write_epoch(*writer);
  commits_.begin(std::move(writer));
  if (found_.is_epoch_new() && !is_epoch_written) {
    put(EpochRecord{found_.epoch()});
    return commits_.when_durable(end(), [this] { found_.write_identity(); });
  }
  // The Writer may replace a segment without groups, so the identity does not name it.
  const bool has_groups = summary.end && summary.end->last_group_offset > 0;
  if (has_groups || is_epoch_written) found_.write_identity();
}

std::unique_ptr<log::Writer> Journal::writer_for(const log::LogSummary& summary) {
  const log::WriterOptions options{.segment_bytes = options_.segment_bytes,
                                   .wall_us = options_.wall_now_us};
  if (summary.end) return std::make_unique<log::Writer>(found_.files(), *summary.end, options);
  const auto kept = std::as_bytes(std::span(found_.kept()));
  log::NewLog made{.id = {}, .user = {kept.begin(), kept.end()}};
  const std::array<std::uint64_t, 2> bits{random_(), random_()};
  static_assert(sizeof(bits) == sizeof(made.id));
  std::memcpy(made.id.data(), bits.data(), sizeof(bits));
  return std::make_unique<log::Writer>(found_.files(), made, options);
}

/// Returns when the epoch is on the disk: a client that was told of an epoch which a crash then
/// lost would take the next start for another history. On a full disk, throws for a new log, and
/// returns false for a copy that was put back: it starts without the record and answers questions.
bool Journal::write_epoch(log::Writer& writer) try {
  record_.clear();
  encode(EpochRecord{found_.epoch()}, record_);
  log::PendingGroup group(writer.next_sequence());
  group.append(record_type::epoch, record_version, record_);
  writer.commit(group);
  schedule_.appended(log::record_bytes(record_.size()));
  return true;
} catch (const log::NoSpace&) {
  if (!found_.is_copy()) throw;
  return false;
}

void Journal::begin_run() {
  protocol::Run run{.id = 0, .begun = end()};
  while (run.id == 0) run.id = random_();
  found_.add_run(run);
  append(RunRecord{found_.runs()});
}

void Journal::append_record(log::RecordType type) {
  commits_.append(type, record_);
  schedule_.appended(log::record_bytes(record_.size()));
}

void Journal::append(const RequestNote& note, std::span<const std::byte> change) {
  record_.clear();
  encode(note, change, record_);
  append_record(record_type::request);
  if (is_of_stream(change)) places_.stream_changed(end());
  if (is_of_queries(change)) places_.queries_changed(end());
  make_snapshot_if_due();
}

void Journal::append_outgrown(Tick tick, std::span<const OutgrownQuery> removed,
                              const QueryTable& queries) {
  while (!removed.empty()) {
    // A record has queries of one stream. The order of the queries stays.
    const StreamId stream = removed.front().stream;
    OutgrownRecord record{.tick = tick, .stream = queries.stream(stream).name, .ids = {}};
    for (const OutgrownQuery& each : removed) {
      if (each.stream != stream || record.ids.size() == OutgrownRecord::queries_max) break;
      record.ids.push_back(to_number(each.id));
    }
    removed = removed.subspan(record.ids.size());
    put(record);
    is_mark_next_ = true;
  }
}

void Journal::append(const TickBegunRecord& record) {
  put(record);
  is_mark_next_ = false;
  places_.tick_begun(record.tick, end(), commits_.durable());
  commits_.commit_now();
}

void Journal::append(const TickFinishedRecord& record) {
  put(record);
  places_.tick_finished(!record.error.empty(), end());
  make_snapshot_if_due();
}

void Journal::know(std::uint32_t principal, std::string_view name) {
  if (known_principals_.contains(principal)) return;
  append(PrincipalRecord{principal, std::string(name)});
  known_principals_.insert(principal);
}

/// A snapshot may stand only for records after which no tick is under way or about to begin.
void Journal::make_snapshot_if_due() {
  if (places_.is_tick_under_way() || is_mark_next_ || !wants_pause()) return;
  schedule_.begin_one();
  commits_.when_durable(end(), [this, place = end()] { schedule_.make(place); });
}

Journal::Counts Journal::counts() const {
  return {.tail_bytes = schedule_.tail().bytes,
          .tail_age_us = executor_.now_us() - schedule_.tail().since_us,
          .free_bytes = log::free_bytes_if_known(found_.files()).value_or(0),
          .waiting_records = end() - commits_.durable(),
          .commits = commits_.count(),
          .full_us = commits_.full_us(),
          .snapshot_bytes = schedule_.snapshot_bytes(),
          .snapshots = schedule_.made(),
          .snapshots_failed = schedule_.failed()};
}

}  // namespace starling::stream
