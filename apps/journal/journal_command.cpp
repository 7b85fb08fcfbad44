// SPDX-License-Identifier: Apache-2.0
// Reads a whole log and prints its content: see journal_command.hpp.
#include "starling/apps/journal/journal_command.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>

#include "starling/apps/journal/journal_copy.hpp"
#include "starling/apps/journal/journal_export.hpp"
#include "starling/apps/journal/log_check.hpp"
#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/text/time_line.hpp"
#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/json_text.hpp"
#include "starling/knn/base/plain_text.hpp"
#include "starling/log/reader.hpp"
#include "starling/log/recovery.hpp"
#include "starling/log/snapshot.hpp"
#include "starling/log/system_files.hpp"
#include "starling/sim/data/files/text_append.hpp"
#include "starling/stream/journal/kept_options.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "starling/stream/recovery/make_snapshot.hpp"

namespace starling::apps {
namespace {

struct JournalFlags {
  std::string folder;
  std::string to;
  std::string out;
  bool json = false;
};

/// The newest snapshot of a log, and a summary of the records after it.
struct Contents {
  std::optional<log::SnapshotInfo> snapshot;
  log::LogSummary summary;
  std::map<log::RecordType, std::uint64_t> counts;
  std::uint64_t ticks = 0;
  stream::TickBegunRecord last_tick;
};

void add_record(Contents& contents, const log::Record& record) {
  ++contents.counts[record.type];
  if (record.type != stream::record_type::tick_begun) return;
  ++contents.ticks;
  contents.last_tick = std::get<stream::TickBegunRecord>(stream::decode(record));
}

constexpr std::array<std::pair<log::RecordType, const char*>, 11> type_names{
    {{stream::record_type::epoch, "epochs"},
     {stream::record_type::run, "starts"},
     {stream::record_type::principal, "principals"},
     {stream::record_type::session_opened, "sessions opened"},
     {stream::record_type::session_ended, "sessions ended"},
     {stream::record_type::leases_moved, "steps of the clock"},
     {stream::record_type::outgrown, "removals of outgrown queries"},
     {stream::record_type::tick_begun, "ticks begun"},
     {stream::record_type::tick_finished, "ticks finished"},
     {stream::record_type::published, "ticks published"},
     {stream::record_type::request, "requests"}}};

std::string id_text(const log::LogId& id) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const unsigned byte : id) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

std::string torn_text(const log::TornTail& torn) {
  return torn.file + ", offset " + std::to_string(torn.offset) + ", " + std::to_string(torn.bytes) +
         " bytes";
}

/// Returns the name, padded to the column of the values.
std::string padded(std::string name) {
  constexpr std::size_t column = 22;
  name.resize(column, ' ');
  return name;
}

void print_text(const Contents& contents) {
  const auto& [snapshot, summary, counts, ticks, last_tick] = contents;
  const log::SegmentHeader& header = summary.end->header;
  const std::string options = stream::readable_text(
      std::string(reinterpret_cast<const char*>(header.user.data()), header.user.size()));
  std::cout << padded("log") << id_text(header.id) << '\n'
            << padded("snapshot")
            << (snapshot ? snapshot->file + ", " + std::to_string(snapshot->bytes) +
                               " bytes, made at " + format_time(snapshot->created_us)
                         : "none")
            << '\n'
            << padded("files") << summary.segments << '\n'
            << padded("bytes") << summary.bytes << '\n'
            << padded("groups") << summary.groups << '\n'
            << padded("records") << summary.records << '\n';
  for (const auto& [type, name] : type_names) {
    const auto count = counts.find(type);
    if (count == counts.end()) continue;
    std::cout << padded("  " + std::string(name)) << count->second << '\n';
  }
  if (ticks > 0)
    std::cout << padded("last tick") << to_number(last_tick.tick) << ", at "
              << format_time(last_tick.tau_us) << '\n';
  if (summary.torn_tail)
    std::cout << padded("unfinished") << torn_text(*summary.torn_tail)
              << ": not committed yet. A start cuts them\n";
  std::cout << "written with\n";
  for (std::size_t begin = 0; begin < options.size();) {
    const std::size_t end = std::min(options.find('\n', begin), options.size());
    std::cout << "  " << plain_text(options.substr(begin, end - begin)) << '\n';
    begin = end + 1;
  }
}

void print_json(const Contents& contents) {
  const auto& [snapshot, summary, counts, ticks, last_tick] = contents;
  JsonText line;
  line.begin_object()
      .text("log", id_text(summary.end->header.id))
      .number("files", summary.segments)
      .number("bytes", summary.bytes)
      .number("groups", summary.groups)
      .number("records", summary.records)
      .number("ticks", ticks);
  if (ticks > 0)
    line.number("last_tick", to_number(last_tick.tick)).number("last_tau_us", last_tick.tau_us);
  if (snapshot)
    line.text("snapshot", snapshot->file)
        .number("snapshot_bytes", snapshot->bytes)
        .number("snapshot_created_us", snapshot->created_us);
  line.number("unfinished_bytes", summary.torn_tail ? summary.torn_tail->bytes : 0);
  std::cout << line.end_object().take() << '\n';
}

Contents read_contents(log::Files& files) {
  Contents contents;
  contents.snapshot = log::newest_snapshot(files);
  contents.summary = log::read_log(
      files,
      [&](const log::Group& group) {
        for (const log::Record& record : group.records) add_record(contents, record);
      },
      log::range_behind(contents.snapshot));
  return contents;
}

int info(const JournalFlags& flags) {
  const auto files = log::open_folder(flags.folder, log::FolderUse::read);
  const Contents contents = read_contents(*files);
  if (!contents.summary.end)
    throw std::runtime_error("the folder " + flags.folder + " holds no log");
  if (flags.json)
    print_json(contents);
  else
    print_text(contents);
  return 0;
}

int check(const JournalFlags& flags) {
  const auto files = log::open_folder(flags.folder, log::FolderUse::read);
  const log::LogCheck found = check_all(*files);
  if (!found.read.end && found.damage.empty())
    throw std::runtime_error("the folder " + flags.folder + " holds no log");
  if (flags.json) {
    JsonText line;
    line.begin_object().boolean("whole", found.damage.empty());
    line.number("records", found.read.records).key("damage").begin_array();
    for (const log::DamagedLog& damage : found.damage)
      line.begin_object()
          .text("file", damage.file())
          .number("offset", damage.offset())
          .text("sentence", sim::to_utf8(damage.what()))
          .end_object();
    std::cout << line.end_array().end_object().take() << '\n';
  } else {
    for (const log::DamagedLog& damage : found.damage)
      std::cout << plain_text(damage.what()) << '\n';
    if (found.damage.empty())
      std::cout << "whole: " << found.read.records << " records in " << found.read.segments
                << " files\n";
    if (found.read.torn_tail)
      std::cout << "unfinished: " << torn_text(*found.read.torn_tail)
                << "; they are not committed yet, and nothing in them is acknowledged. A start "
                   "cuts them\n";
  }
  return found.damage.empty() ? 0 : 1;
}

int compact(const JournalFlags& flags) {
  // The greatest number of replies that a server keeps for a session.
  constexpr std::size_t replies_max = 65'536;
  const auto files = log::open_folder(flags.folder, log::FolderUse::write);
  if (!log::newest_header(*files))
    throw std::runtime_error("the folder " + flags.folder + " holds no log");
  // Writes the records again that a failed sync left only in memory, as a server does at its start.
  log::recover_log(
      *files, [](const log::Group&) {}, log::range_behind(log::newest_snapshot(*files)));
  const auto made = stream::make_snapshot({.files = *files,
                                           .make_engine = snapshot_engine,
                                           .sessions = {.replies_max = replies_max},
                                           .created_us = wall_now_us()});
  if (made && !made->not_dropped.empty())
    throw std::runtime_error("the snapshot " + made->snapshot.file +
                             " is made, but older files stay: " + made->not_dropped);
  if (flags.json) {
    JsonText line;
    line.begin_object().boolean("made", made.has_value());
    if (made)
      line.text("snapshot", made->snapshot.file)
          .number("snapshot_bytes", made->snapshot.bytes)
          .number("removed_files", made->dropped_files);
    std::cout << line.end_object().take() << '\n';
  } else if (made) {
    std::cout << "made " << made->snapshot.file << ", " << made->snapshot.bytes
              << " bytes; removed " << made->dropped_files << " older files\n";
  } else {
    std::cout << "nothing to do: the last snapshot stands for the whole log\n";
  }
  return 0;
}

int write_trace(const JournalFlags& flags) {
  const std::uint64_t rows = export_rows(flags.folder, flags.out);
  if (flags.json)
    std::cerr << JsonText().begin_object().number("rows", rows).end_object().take() << '\n';
  else
    std::cerr << "journal export: " << rows << " rows written\n";
  return 0;
}

int print_copy(const JournalFlags& flags, const CopiedLog& copied, const char* done) {
  if (flags.json) {
    JsonText line;
    line.begin_object()
        .text("folder", sim::to_utf8(flags.to))
        .number("files", copied.files)
        .number("bytes", copied.bytes)
        .number("records", copied.records);
    if (copied.last_tick)
      line.number("last_tick", to_number(copied.last_tick->tick))
          .number("last_tau_us", copied.last_tick->tau_us);
    std::cout << line.end_object().take() << '\n';
    return 0;
  }
  std::cout << done << ' ' << flags.to << ": " << copied.files << " files, " << copied.bytes
            << " bytes";
  if (copied.last_tick)
    std::cout << ", up to tick " << to_number(copied.last_tick->tick) << " at "
              << format_time(copied.last_tick->tau_us);
  std::cout << ". It is whole\n";
  return 0;
}

int backup(const JournalFlags& flags) {
  return print_copy(flags, copy_log(flags.folder, flags.to, CopyPurpose::backup), "copied to");
}

int restore(const JournalFlags& flags) {
  const CopiedLog copied = copy_log(flags.folder, flags.to, CopyPurpose::restore);
  return print_copy(flags, copied, "restored to");
}

void add_flags(CLI::App& command, JournalFlags& flags) {
  command.add_option("folder", flags.folder, "The folder of serve --journal")
      ->required()
      ->type_name("DIR");
  command.add_flag("--json", flags.json, "Print one JSON object");
}

}  // namespace

std::function<int()> add_journal(CLI::App& program) {
  const auto flags = std::make_shared<JournalFlags>();
  CLI::App& command = *program.add_subcommand(
      "journal", "Look into the log of a server, check it, copy it, and make it smaller");
  command.require_subcommand(1);
  CLI::App& info_command = *command.add_subcommand("info", "Print what the log holds");
  CLI::App& check_command =
      *command.add_subcommand("check", "Read every byte of the log, and name what is damaged");
  add_flags(info_command, *flags);
  CLI::App& compact_command = *command.add_subcommand(
      "compact",
      "Make a snapshot of what the log holds, and remove all before it, --journal-keep or not");
  CLI::App& export_command = *command.add_subcommand(
      "export",
      "Write the rows of objects as a trace for view, replay and convert. It has no removals, and "
      "no changes of tags alone");
  CLI::App& backup_command = *command.add_subcommand(
      "backup", "Copy the log to a new folder, also while the server writes, and check the copy");
  CLI::App& restore_command = *command.add_subcommand(
      "restore",
      "Put a copy back as the log of a server, which then tells subscribers and producers so");
  add_flags(check_command, *flags);
  add_flags(compact_command, *flags);
  add_flags(export_command, *flags);
  add_flags(backup_command, *flags);
  add_flags(restore_command, *flags);
  restore_command.get_option("folder")->description("The copy that backup has made");
  backup_command.add_option("to", flags->to, "The folder of the copy: empty, or not there yet")
      ->required()
      ->type_name("TO");
  restore_command
      .add_option("to", flags->to, "The folder for serve --journal: empty, or not there yet")
      ->required()
      ->type_name("TO");
  export_command
      .add_option("--out", flags->out,
                  "Write to this CSV file[.gz|.zst], which appears when it is complete; - is the "
                  "standard output")
      ->type_name("FILE")
      ->required();
  command.footer(
      "Examples:\n"
      "  starling journal info /var/lib/starling/journal\n"
      "  starling journal check /var/lib/starling/journal --json\n"
      "  starling journal compact /var/lib/starling/journal\n"
      "  starling journal export /var/lib/starling/journal --out day.csv.zst\n"
      "  starling view day.csv.zst\n"
      "  starling journal backup /var/lib/starling/journal /backup/monday\n"
      "  starling journal restore /backup/monday /var/lib/starling/journal\n"
      "info, check, export and backup do not change the log, and may run beside the server: what "
      "it writes\n"
      "meanwhile can look unfinished. compact needs a log that no server uses. Exit status: 0 "
      "whole, 1 damaged\n"
      "or no log, 2 wrong usage.");
  return [flags, &check_command, &compact_command, &export_command, &backup_command,
          &restore_command] {
    if (backup_command.parsed()) return backup(*flags);
    if (restore_command.parsed()) return restore(*flags);
    if (export_command.parsed()) return write_trace(*flags);
    if (compact_command.parsed()) return compact(*flags);
    return check_command.parsed() ? check(*flags) : info(*flags);
  };
}

}  // namespace starling::apps
