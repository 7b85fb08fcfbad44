// SPDX-License-Identifier: Apache-2.0
// Reads a log before the server applies it, and explains why it cannot be used: see found_log.hpp.
#include "starling/stream/journal/found_log.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>
#include <variant>

#include <spdlog/spdlog.h>

#include "starling/log/identity.hpp"
#include "starling/log/recovery.hpp"
#include "starling/log/segment.hpp"
#include "starling/stream/journal/kept_options.hpp"
#include "starling/stream/journal/record_codec.hpp"

namespace starling::stream {

FoundLog::FoundLog(const JournalOptions& options, std::string kept)
    : options_(options), kept_(std::move(kept)) {
  try {
    files_ = options_.open(options_.folder, log::FolderUse::write);
    snapshot_ = log::newest_snapshot(*files_);
  } catch (...) {
    explain();
  }
}

void FoundLog::look_through(const std::function<std::uint64_t()>& random) {
  try {
    look_at_all(random);
  } catch (...) {
    explain();
  }
}

void FoundLog::explain() const {
  try {
    throw;
  } catch (const log::FolderLocked& error) {
    throw std::runtime_error("journal: " + std::string(error.what()) +
                             "; stop that server, or give another folder");
  } catch (const log::UnsafeFolder& error) {
    throw std::runtime_error("journal: " + std::string(error.what()));
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

void FoundLog::look_at_all(const std::function<std::uint64_t()>& random) {
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
  // Versions that wrote no runs wrote no identity either.
  is_copy_ = log::is_copy(*files_, !runs_.empty());
  is_epoch_new_ = !epoch || is_copy_;
  epoch_ = is_epoch_new_ ? random() : *epoch;
}

void FoundLog::check_kept(const std::vector<std::byte>& user) const {
  const std::string old(reinterpret_cast<const char*>(user.data()), user.size());
  if (old == kept_) return;
  kept_options_from(old);  // throws if the log has options of a later version
  throw std::runtime_error("the log in " + options_.folder +
                           " was written with other options: " + difference(old, kept_) +
                           "; start with the old ones, or with another folder");
}

void FoundLog::add_run(const protocol::Run& run) {
  runs_.insert(runs_.begin(), run);
  if (runs_.size() > RunRecord::runs_max) runs_.pop_back();
}

log::LogSummary FoundLog::read_and_mend(const DecodedHandler& handler) {
  const auto read = options_.has_threads() ? &read_decoded : &read_decoded_here;
  log::LogSummary summary = read(*files_, log::range_behind(snapshot_), handler);
  log::mend_log(*files_, summary);
  if (summary.torn_tail)
    spdlog::warn(
        "the log ends with a group that was not finished when the server or the machine stopped: "
        "{} is cut at offset {}, and {} bytes are gone. Nothing in them was acknowledged",
        summary.torn_tail->file, summary.torn_tail->offset, summary.torn_tail->bytes);
  return summary;
}

std::int64_t FoundLog::tail_age_us() const {
  std::int64_t begun_us = options_.wall_now_us();
  if (snapshot_) {
    begun_us = snapshot_->created_us;
  } else if (const auto names = log::segment_names(*files_); !names.empty()) {
    begun_us = log::read_segment_header(*files_->open(names[0]), names[0]).created_us;
  }
  return std::max<std::int64_t>(options_.wall_now_us() - begun_us, 0);
}

void FoundLog::write_identity() {
  try {
    log::write_identity(*files_, true);
  } catch (const log::IoError& error) {
    spdlog::warn(
        "the identity of the log is not written: {}. The next start may take the log for one that "
        "was put back from a copy",
        error.what());
  }
}

}  // namespace starling::stream
