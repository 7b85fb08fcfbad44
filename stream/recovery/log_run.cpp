// SPDX-License-Identifier: Apache-2.0
// Searches the ticks that are asked for, encodes their messages and compares the hashes: see
// log_run.hpp.
#include "starling/stream/recovery/log_run.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>

#include "starling/log/reader.hpp"
#include "starling/stream/journal/kept_options.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/publishing/tick_outcome.hpp"
#include "starling/stream/recovery/make_snapshot.hpp"

namespace starling::stream {
namespace {

/// Returns the last snapshot whose ticks are all before tau. If there is none, returns the oldest
/// snapshot, or std::nullopt if the log can be read without a snapshot or has no snapshot.
std::optional<log::SnapshotInfo> snapshot_before(log::Files& files, std::int64_t tau_us) {
  const auto all = log::snapshots(files);
  for (auto each = all.rbegin(); each != all.rend(); ++each)
    if (const auto last_us = last_tau_us(files, *each); !last_us || *last_us < tau_us) return *each;
  if (all.empty() || log::has_first_record(files)) return std::nullopt;
  return all.front();
}

}  // namespace

/// Calls the function for each record of range_. Returns the place after the last one.
template <class Function>
std::uint64_t LogRun::for_each_record(const Function& function) {
  const log::LogSummary summary = log::read_log(
      files_,
      [&](const log::Group& group) {
        if (options_.is_cancelled()) throw LogRunCancelled();
        for (const log::Record& record : group.records) function(record);
      },
      range_);
  return summary.end ? summary.end->position.next_sequence : range_.from;
}

/// Calls the function for each record of range_ until it throws Stop.
template <class Function>
void LogRun::until_stopped(const Function& function) {
  try {
    for_each_record(function);
  } catch (const Stop&) {
  }
}

LogRun::LogRun(log::Files& files, LogRunOptions options)
    : files_(files),
      options_(std::move(options)),
      snapshot_(snapshot_before(files, options_.from_us)) {
  if (snapshot_) snapshot_tau_us_ = last_tau_us(files, *snapshot_);
  const auto header = log::newest_header(files);
  if (!header) throw std::runtime_error("the folder holds no log");
  kept_.assign(reinterpret_cast<const char*>(header->user.data()), header->user.size());
  range_ = log::range_behind(snapshot_);
  try {
    // The server may go on writing. Records after this place are not read again.
    range_.until = for_each_record([&](const log::Record& record) { look_at(record); });
  } catch (const Stop&) {
  }
}

/// Notes the tick that the record begins or finishes. Throws Stop when a tick after until_us has
/// begun and all earlier ticks have finished.
void LogRun::look_at(const log::Record& record) {
  scan_.look_at(record);
  if (record.type == record_type::tick_begun) {
    const auto mark = std::get<TickBegunRecord>(decode(record));
    is_beyond_ = is_beyond_ || mark.tau_us > options_.until_us;
    if (!is_beyond_) begun_[mark.tick] = mark.tau_us;
  } else if (record.type == record_type::tick_finished) {
    auto mark = begun_.extract(std::get<TickFinishedRecord>(decode(record)).tick);
    if (!mark.empty()) taus_.insert(std::move(mark));
  }
  if (!is_beyond_ || !begun_.empty()) return;
  range_.until = record.sequence + 1;
  throw Stop();
}

std::vector<std::int64_t> LogRun::taus(const LogSpan& within) const {
  std::vector<std::int64_t> taus;
  for (const auto& [tick, tau_us] : taus_)
    if (within.has(tau_us)) taus.push_back(tau_us);
  return taus;
}

std::optional<std::int64_t> LogRun::first_us() const {
  if (snapshot_tau_us_ || taus_.empty()) return snapshot_tau_us_;
  return taus_.begin()->second;
}

/// Makes the tables, and gives them the snapshot. Ticks before `first_searched` are skipped.
void LogRun::begin(Tick first_searched) {
  tables_ = std::make_unique<ReplayedTables>(kept_, options_.make_engine, SessionLimits{});
  space_.emplace(tables_->processor().space());
  if (snapshot_) {
    SnapshotState read = read_state(files_, *snapshot_);
    tables_->set_epoch(read.epoch);
    if (!read.runs.empty()) tables_->replay().apply(JournalRecord(RunRecord{read.runs}));
    tables_->import_state(std::move(read.state));
  }
  tables_->engine().skip_before(first_searched);
  tables_->engine().skip(scan_.failed_ticks());
}

LogRunCounts LogRun::run(const LogSpan& span, const Handler& handler) {
  span_ = span;
  handler_ = handler;
  const auto first =
      std::ranges::find_if(taus_, [&](const auto& each) { return span.has(each.second); });
  if (first == taus_.end()) return counts_;
  // The first tick reports what changed since the lists of the tick before, so that tick is
  // searched, too.
  begin(scan_.last_good_tick_before(first->first));
  tables_->replay().watch(
      [this](TickReport& report, const std::vector<StreamPlan>& plans) { ran(report, plans); });
  until_stopped([&](const log::Record& record) { apply(record); });
  counts_.unhashed += hashes_.size();
  return counts_;
}

void LogRun::apply(const log::Record& record) {
  const JournalRecord decoded = decode(record);
  if (const auto* epoch = std::get_if<EpochRecord>(&decoded)) tables_->set_epoch(epoch->epoch);
  if (const auto* published = std::get_if<PublishedRecord>(&decoded))
    return check(published->tick, published->hash);
  // The log may have the hash of a tick after records of later ticks.
  if (is_stopped_ && hashes_.empty()) throw Stop();
  if (!is_stopped_) tables_->replay().apply(decoded, record.sequence + 1);
}

void LogRun::ran(TickReport& report, const std::vector<StreamPlan>& plans) {
  if (is_stopped_ || !span_.has(report.tau_us)) {
    is_stopped_ = is_stopped_ || report.tau_us > span_.until_us;
    return;
  }
  const auto messages = encode_report(plans, report, *space_, helpers_);
  if (!counts_.first_us) counts_.first_us = report.tau_us;
  counts_.last_us = report.tau_us;
  counts_.messages += messages.size();
  ++(report.error.empty() ? counts_.ticks : counts_.failed_ticks);
  hashes_[report.tick] = hash_of(messages);
  if (!handler_({report, plans, messages})) is_stopped_ = true;
}

void LogRun::check(Tick tick, std::uint64_t hash) {
  const auto ran = hashes_.find(tick);
  if (ran == hashes_.end()) return;
  if (ran->second == hash) {
    ++counts_.equal;
  } else {
    ++counts_.different;
    if (!counts_.first_different) counts_.first_different = tick;
  }
  hashes_.erase(ran);
}

void LogRun::follow(const RecordHandler& handler) {
  begin(Tick{std::numeric_limits<std::uint64_t>::max()});
  until_stopped([&](const log::Record& record) {
    const JournalRecord decoded = decode(record);
    tables_->replay().apply(decoded);
    tables_->engine().forget_births();
    if (!handler(decoded)) throw Stop();
  });
}

SpaceOptions LogRun::space() const {
  return kept_options_from(kept_).space;
}

bool LogRun::go_to(std::int64_t tau_us) {
  std::optional<Tick> last;
  for (const auto& [tick, tick_tau_us] : taus_)
    if (tick_tau_us <= tau_us && !scan_.failed_ticks().contains(tick)) last = tick;
  begin(last.value_or(Tick{}));
  if (last) tables_->engine().skip_after(*last);
  if (!last) return snapshot_tau_us_ && *snapshot_tau_us_ <= tau_us;
  bool is_there = false;
  tables_->replay().watch(
      [&](TickReport& report, const std::vector<StreamPlan>&) { is_there = report.tick == *last; });
  until_stopped([&](const log::Record& record) {
    if (is_there) throw Stop();
    tables_->replay().apply(decode(record));
  });
  return true;
}

}  // namespace starling::stream
