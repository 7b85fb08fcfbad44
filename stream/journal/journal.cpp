// SPDX-License-Identifier: Apache-2.0
// Reads and writes the server's log: see journal.hpp. Commits run on a thread of log::GroupCommit,
// whose words come to the loop.
#include "starling/stream/journal/journal.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include <spdlog/spdlog.h>

#include "starling/knn/base/assert.hpp"
#include "starling/log/identity.hpp"
#include "starling/log/recovery.hpp"
#include "starling/log/segment.hpp"
#include "starling/stream/journal/decoded_log.hpp"
#include "starling/stream/journal/kept_options.hpp"
#include "starling/stream/journal/log_scan.hpp"

namespace starling::stream {

namespace {

/// While less than this is free of the buffer, no further change is applied. More than the records
/// of the updates that are applied together.
constexpr std::uint64_t behind_bytes = std::uint64_t{32} << 20;
/// More than the records of a new session, and of all that end at one moment.
constexpr std::uint64_t session_bytes = std::uint64_t{8} << 20;

log::CommitPolicy policy_of(const JournalOptions& options) {
  return options.durability == Durability::sync ? log::CommitPolicy::sync : log::CommitPolicy::tick;
}

}  // namespace

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
                 const std::function<std::uint64_t()>& random)
    : executor_(executor), options_(options), kept_(std::move(kept)), random_(random) {
  try {
    files_ = options_.open(options_.folder, log::FolderUse::write);
    snapshot_ = log::newest_snapshot(*files_);
  } catch (...) {
    explain();
  }
}

void Journal::look_through() {
  try {
    look_at_all();
  } catch (...) {
    explain();
  }
}

void Journal::explain() const {
  try {
    throw;
  } catch (const log::FolderLocked& error) {
    throw std::runtime_error("journal: " + std::string(error.what()) +
                             "; stop that server, or give another folder");
  } catch (const log::NoSpace& error) {
    throw std::runtime_error("journal: " + std::string(error.what()) +
                             "; free space there, or give another folder");
  } catch (const log::DamagedLog& error) {
    throw std::runtime_error("journal: " + std::string(error.what()) + ", or keep the folder " +
                             options_.folder + " as it is and start with another one");
  } catch (const UnknownRecord& error) {
    throw std::runtime_error("journal: " + options_.folder + ": " + error.what());
  } catch (const log::IoError& error) {
    throw std::runtime_error("journal: " + std::string(error.what()) +
                             "; let the server read and write that folder, or name another one");
  } catch (const std::bad_alloc&) {
    throw std::runtime_error("journal: there is no memory to read " + options_.folder +
                             "; give the server more, and start it again");
  } catch (const std::exception& error) {
    throw std::runtime_error("journal: " + std::string(error.what()));
  }
}

Journal::~Journal() = default;

/// Finds damage, the epoch and the runs.
void Journal::look_at_all() {
  std::optional<std::uint64_t> epoch;
  if (snapshot_)
    log::read_snapshot(*files_, *snapshot_, [&](const log::Record& record) {
      if (record.type == record_type::run) runs_ = std::get<RunRecord>(decode(record)).runs;
      if (record.type != record_type::epoch) return false;
      epoch = std::get<EpochRecord>(decode(record)).epoch;
      return true;
    });
  const log::LogSummary summary = log::read_log(
      *files_,
      [&](const log::Group& group) {
        for (const log::Record& record : group.records) scan_.look_at(record);
      },
      log::range_behind(snapshot_));
  if (summary.end) check_kept(summary.end->header.user);
  if (scan_.epoch()) epoch = scan_.epoch();
  if (!scan_.runs().empty()) runs_ = scan_.runs();
  is_copy_ = log::is_copy(*files_, !runs_.empty());  // a log without runs is older than identities
  ticks_under_way_ = scan_.ticks_under_way();
  is_epoch_new_ = !epoch || is_copy_;
  epoch_ = is_epoch_new_ ? random_() : *epoch;
}

void Journal::check_kept(const std::vector<std::byte>& user) const {
  const std::string old(reinterpret_cast<const char*>(user.data()), user.size());
  if (old == kept_) return;
  kept_options_from(old);  // says so if the log has options of a later version
  throw std::runtime_error("the log in " + options_.folder +
                           " was written with other options: " + difference(old, kept_) +
                           "; start with the old ones, or with another folder");
}

void Journal::recover(const std::function<void(std::span<const JournalRecord>)>& apply) {
  bool is_new = false;
  try {
    const log::LogSummary summary = read_and_mend(apply);
    begin_writing(summary);
    is_new = !summary.end;
    if (is_new) log::write_identity(*files_);
  } catch (const log::IoError&) {
    explain();
  } catch (const log::DamagedLog&) {
    explain();
  }
  if (is_copy_)
    spdlog::warn(
        "the log in {} was put back from a copy, and may lack what was acknowledged since then: "
        "it begins a new epoch, and subscribers and producers are told",
        options_.folder);
  if (is_epoch_new_) append(EpochRecord{epoch_});
  begin_run();
  // A copy must not get its identity before it has its new epoch.
  if (!is_new) when_durable(is_copy_ ? end_ : 0, [this] { write_identity(); });
}

void Journal::begin_run() {
  protocol::Run run{.id = 0, .begun = end_};
  while (run.id == 0) run.id = random_();
  runs_.insert(runs_.begin(), run);
  if (runs_.size() > RunRecord::runs_max) runs_.pop_back();
  append(RunRecord{runs_});
}

void Journal::write_identity() {
  try {
    log::write_identity(*files_);
  } catch (const log::IoError& error) {
    spdlog::warn(
        "the identity of the log is not written: {}. The next start may take the log for one that "
        "was put back from a copy",
        error.what());
  }
}

log::LogSummary Journal::read_and_mend(
    const std::function<void(std::span<const JournalRecord>)>& apply) {
  const std::int64_t since_us = executor_.now_us();
  const auto read = options_.has_threads() ? &read_decoded : &read_decoded_here;
  log::LogSummary summary =
      read(*files_, log::range_behind(snapshot_), [&](const DecodedRecords& part) {
        tail_bytes_ += part.bytes;
        apply(part.records);
      });
  log::mend_log(*files_, summary);
  tail_since_us_ = since_us - tail_age_us();
  if (summary.torn_tail)
    spdlog::warn(
        "the log ends with a group that was not finished when the server or the machine stopped: "
        "{} is cut at offset {}, and {} bytes are gone. Nothing in them was acknowledged",
        summary.torn_tail->file, summary.torn_tail->offset, summary.torn_tail->bytes);
  if (summary.end)
    spdlog::info("the log is read: {} records in {} files, {} MB, in {} ms", summary.records,
                 summary.segments, summary.bytes / 1'000'000,
                 (executor_.now_us() - since_us) / 1000);
  return summary;
}

/// Returns the age of the last snapshot, or of the log if it has none. 0 if the wall clock was set
/// back since.
std::int64_t Journal::tail_age_us() const {
  std::int64_t begun_us = options_.wall_now_us();
  if (snapshot_) {
    begun_us = snapshot_->created_us;
  } else if (const auto names = log::segment_names(*files_); !names.empty()) {
    begun_us = log::read_segment_header(*files_->open(names[0]), names[0]).created_us;
  }
  return std::max<std::int64_t>(options_.wall_now_us() - begun_us, 0);
}

void Journal::begin_writing(const log::LogSummary& summary) {
  const log::WriterOptions writer_options{.segment_bytes = options_.segment_bytes,
                                          .wall_us = options_.wall_now_us};
  if (summary.end) {
    writer_ = std::make_unique<log::Writer>(*files_, *summary.end, writer_options);
  } else {
    const auto kept = std::as_bytes(std::span(kept_));
    log::NewLog made{.id = {}, .user = {kept.begin(), kept.end()}};
    const std::array<std::uint64_t, 2> bits{random_(), random_()};
    static_assert(sizeof(bits) == sizeof(made.id));
    std::memcpy(made.id.data(), bits.data(), sizeof(bits));
    writer_ = std::make_unique<log::Writer>(*files_, made, writer_options);
  }
  end_ = durable_ = writer_->next_sequence();
  const log::GroupCommitOptions commit_options{.policy = policy_of(options_),
                                               .buffer_bytes_max = options_.buffer_bytes_max,
                                               .begin_bytes = options_.begin_bytes,
                                               .now_us = [this] { return executor_.now_us(); }};
  commits_ = std::make_unique<log::GroupCommit>(
      *writer_, commit_options,
      log::GroupCommitHandlers{.on_durable =
                                   [this](std::uint64_t place) {
                                     executor_.post([this, place] { became_durable(place); });
                                   },
                               .on_no_space =
                                   [this](const std::string& sentence) {
                                     executor_.post([this, sentence] { became_full(sentence); });
                                   },
                               .on_failure =
                                   [this](const std::string& sentence) {
                                     {
                                       const std::lock_guard lock(failing_);
                                       failure_ = failure_sentence(sentence);
                                     }
                                     // Ends Server::run(). What waits for the log is never
                                     // answered.
                                     executor_.post([text = failure_sentence(sentence)] {
                                       throw std::runtime_error(text);
                                     });
                                   }});
  if (options_.run_commits)
    options_.run_commits(*commits_);
  else
    commits_->start();
}

std::string Journal::failure_sentence(const std::string& sentence) const {
  return "the log in " + options_.folder + " cannot be written: " + sentence +
         ". The server stops, and what it has not acknowledged may be lost";
}

void Journal::append_record(log::RecordType type) {
  const std::span<const std::byte> payload(record_);
  end_ = commits_->append(type, record_version, std::span(&payload, 1)) + 1;
  tail_bytes_ += log::record_bytes(payload.size());
}

void Journal::append(const RequestNote& note, std::span<const std::byte> change) {
  record_.clear();
  encode(note, change, record_);
  append_record(record_type::request);
  if (is_of_stream(change)) places_.stream_changed(end_);
  if (is_of_queries(change)) end_of_queries_ = end_;
  make_snapshot_if_due();
}

void Journal::append(const TickBegunRecord& record) {
  record_.clear();
  encode(record, record_);
  append_record(record_type::tick_begun);
  ++ticks_under_way_;
  places_.tick_begun(end_);
  marks_.emplace_back(record.tick, end_);
  commits_->commit_now();
}

void Journal::append(const TickFinishedRecord& record) {
  record_.clear();
  encode(record, record_);
  append_record(record_type::tick_finished);
  places_.tick_finished(!record.error.empty(), end_);
  --ticks_under_way_;
  make_snapshot_if_due();
}

void Journal::know(std::uint32_t principal, std::string_view name) {
  if (known_principals_.contains(principal)) return;
  append(PrincipalRecord{principal, std::string(name)});
  known_principals_.insert(principal);
}

std::uint64_t Journal::end_of_mark(Tick tick) const {
  const auto mark = std::ranges::find(marks_, tick, &std::pair<Tick, std::uint64_t>::first);
  return mark == marks_.end() ? 0 : mark->second;
}

std::uint64_t Journal::end_of_messages(Tick tick) const {
  return std::max(end_of_mark(tick), places_.end_of_changes());
}

std::uint64_t Journal::end_of_snapshot(Tick tick) const {
  const std::uint64_t end_of_marks = marks_.empty() ? 0 : marks_.back().second;
  return std::max({end_of_messages(tick), end_of_queries_, end_of_marks});
}

void Journal::when_durable(std::uint64_t place, std::function<void()> then) {
  if (is_durable(place)) return then();
  waiting_.emplace(place, std::move(then));
}

void Journal::commit_now() {
  commits_->commit_now();
}

bool Journal::is_behind() const {
  return !refusal_ && !commits_->has_room(behind_bytes);
}

std::optional<std::string> Journal::refusal_of_session() const {
  if (refusal_ || commits_->has_room(session_bytes)) return refusal_;
  return "The server's log waits for its disk; send this request again in a while.";
}

void Journal::became_durable(std::uint64_t place) {
  durable_ = std::max(durable_, place);
  ++commit_count_;
  if (refusal_) spdlog::info("the log can grow again: changes are taken and ticks begin");
  refusal_.reset();
  while (!marks_.empty() && marks_.front().second <= durable_) marks_.pop_front();
  while (!waiting_.empty() && waiting_.begin()->first <= durable_) {
    const auto next = waiting_.extract(waiting_.begin());
    next.mapped()();
  }
  if (changed_) changed_();
}

void Journal::became_full(const std::string& sentence) {
  spdlog::error(
      "the log cannot grow: {}. Free space there. Until then, changes are refused and no tick "
      "begins; questions are answered",
      sentence);
  full_since_us_ = executor_.now_us();
  refusal_ = "The disk of the server's log, " + options_.folder +
             ", is full, so the server takes no changes; free space there, and send this request "
             "and all after it again.";
  if (changed_) changed_();
}

bool Journal::is_snapshot_due() const {
  const std::uint64_t least = std::max(options_.tail_bytes_max, snapshot_ ? snapshot_->bytes : 0);
  if (failed_us_) return executor_.now_us() - *failed_us_ > options_.retry_us;
  return tail_bytes_ > least ||
         (tail_bytes_ > 0 && executor_.now_us() - tail_since_us_ > options_.tail_age_max_us);
}

/// A snapshot stands for a place where no tick is under way.
void Journal::make_snapshot_if_due() {
  if (ticks_under_way_ > 0 || !wants_pause()) return;
  is_making_snapshot_ = true;
  tail_bytes_at_snapshot_ = tail_bytes_;
  when_durable(end_, [this, place = end_] { make_snapshot_(place); });
}

void Journal::snapshot_ended(const std::optional<log::SnapshotInfo>& snapshot) {
  is_making_snapshot_ = false;
  failed_us_.reset();
  if (!snapshot) failed_us_ = executor_.now_us();
  ++(snapshot ? snapshot_count_ : failed_snapshot_count_);
  if (!snapshot) return;
  snapshot_ = snapshot;
  tail_bytes_ -= tail_bytes_at_snapshot_;
  tail_since_us_ = executor_.now_us();
}

Journal::Counts Journal::counts() const {
  return {.tail_bytes = tail_bytes_,
          .tail_age_us = executor_.now_us() - tail_since_us_,
          .free_bytes = log::free_bytes_if_known(*files_).value_or(0),
          .waiting_records = end_ - durable_,
          .commits = commit_count_,
          .full_us = refusal_ ? std::optional(executor_.now_us() - full_since_us_) : std::nullopt,
          .snapshot_bytes = snapshot_ ? snapshot_->bytes : 0,
          .snapshots = snapshot_count_,
          .snapshots_failed = failed_snapshot_count_};
}

void Journal::stop() {
  if (commits_) commits_->stop();
  const std::lock_guard lock(failing_);
  if (failure_) throw std::runtime_error(*failure_);
}

}  // namespace starling::stream
