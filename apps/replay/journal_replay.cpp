// SPDX-License-Identifier: Apache-2.0
// Writes the lists that the ticks of a log report, and the summary: see journal_replay.hpp.
#include "starling/apps/replay/journal_replay.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "starling/apps/shared/engines.hpp"
#include "starling/apps/shared/speed_flag.hpp"
#include "starling/apps/shared/text/time_line.hpp"
#include "starling/log/system_files.hpp"
#include "starling/protocol/client/list_store.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/replay/result_csv.hpp"
#include "starling/stream/recovery/log_run.hpp"

namespace starling::apps {
namespace {

stream::LogSpan span_of(const ReplayFlags& flags) {
  stream::LogSpan span;
  if (!flags.from.empty()) span.from_us = trace_time_us("--from", flags.from, {});
  if (!flags.until.empty()) span.until_us = trace_time_us("--until", flags.until, {});
  return span;
}

/// Writes the lists that one stream reports to a CSV file.
class ListWriter {
 public:
  ListWriter(const std::string& path, std::string stream, bool exact_distances)
      : stream_(std::move(stream)),
        csv_(path, names_, names_, {.exact_distances = exact_distances}) {}

  void write(const stream::RanTick& tick, const stream::NameTable& names) {
    for (std::size_t i = 0; i < tick.plans.size(); ++i)
      if (tick.plans[i].stream == stream_) write(tick, tick.messages[i], names);
  }
  /// Completes the file. Throws std::runtime_error if no tick had a message of the stream.
  void close() {
    if (!has_message_)
      throw std::runtime_error("no tick between --from and --until has a message of the stream " +
                               sim::quoted_text(stream_) + "; name another one with --stream");
    csv_.close();
  }

 private:
  void write(const stream::RanTick& tick, const protocol::TickMessage& message,
             const stream::NameTable& names) {
    std::vector<protocol::AlignedBytes> frames;
    frames.emplace_back(message.header.bytes());
    for (const protocol::Frame& chunk : message.chunks) frames.emplace_back(chunk.bytes());
    const protocol::DecodedTick decoded = protocol::decode_tick(frames);
    protocol::ListStore lists;
    std::vector<protocol::ListKey> removed;
    for (const protocol::ListChunk& chunk : decoded.chunks)
      for (std::size_t i = 0; i < chunk.list_count(); ++i) {
        const protocol::ListKey key = protocol::key_of(chunk, i);
        if (chunk.event_of(i) == ListEvent::removed)
          removed.push_back(key);
        else
          lists[key] = protocol::list_of(chunk, i);
        learn(chunk, i, names);
      }
    csv_.write_changes(tick.report.tick, tick.report.tau_us, lists, removed);
    has_message_ = true;
  }

  void learn(const protocol::ListChunk& chunk, std::size_t list, const stream::NameTable& names) {
    const auto learn_one = [&](std::uint64_t id) {
      if (const auto text = names.find(ObjectId{id}); !text.empty()) names_.put(id, text);
    };
    if (chunk.subject_of(list)) learn_one(chunk.subject_ids[list]);
    for (std::uint32_t i = chunk.offsets[list]; i < chunk.offsets[list + 1]; ++i)
      learn_one(chunk.object_ids[i]);
  }

  std::string stream_;
  sim::NameTable names_;
  sim::ResultCsv csv_;
  bool has_message_ = false;
};

void print_line(const char* label, const std::string& text) {
  std::fprintf(stderr, "%-12s %s\n", label, text.c_str());
}

void print_counts(const stream::LogRunCounts& counts, double elapsed_s) {
  print_line("ticks", std::to_string(counts.ticks) + " searched, " +
                          std::to_string(counts.failed_ticks) + " that had failed");
  if (counts.first_us)
    print_line("time", format_time(*counts.first_us) + " to " + format_time(*counts.last_us));
  print_line("messages", std::to_string(counts.messages));
  print_line("hashes", std::to_string(counts.equal) + " ticks published the same bytes, " +
                           std::to_string(counts.different) + " ticks other bytes, " +
                           std::to_string(counts.unhashed) + " have no hash in the log");
  char elapsed[32];
  std::snprintf(elapsed, sizeof(elapsed), "%.2f s", elapsed_s);
  print_line("took", elapsed);
}

}  // namespace

int replay_journal(const ReplayFlags& flags) {
  if (!flags.paths.empty())
    throw sim::UsageError("--journal: give either a trace or the folder of a log, not both");
  const auto since = std::chrono::steady_clock::now();
  const auto files = log::open_folder(flags.journal, log::FolderUse::read);
  const EngineChoice engine = choose_engine(flags.engine);
  const stream::LogSpan span = span_of(flags);
  stream::LogRun log(*files, {.make_engine = engine.make, .from_us = span.from_us});
  const std::optional<double> speed = speed_of(flags.speed);
  std::unique_ptr<ListWriter> writer;
  std::optional<std::int64_t> first_us;
  const auto begin = std::chrono::steady_clock::now();
  const auto counts = log.run(span, [&](const stream::RanTick& tick) {
    if (!first_us) first_us = tick.report.tau_us;
    if (speed) std::this_thread::sleep_until(due_at(begin, tick.report.tau_us - *first_us, *speed));
    if (!writer && !flags.out.empty())
      writer = std::make_unique<ListWriter>(
          flags.out, flags.stream, flags.exact || log.tables().processor().space().is_vector());
    if (writer) writer->write(tick, log.tables().names());
    return true;
  });
  if (writer) writer->close();
  if (counts.ticks + counts.failed_ticks == 0)
    throw std::runtime_error(no_tick_sentence(flags.journal, log.taus({})));
  print_line("log", flags.journal);
  print_line("answered by", engine.name + " engine (" + engine.why + ")");
  print_counts(counts,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count());
  if (counts.different == 0) return 0;
  std::fprintf(
      stderr,
      "replay: tick %llu is the first that publishes other bytes than the server did; please "
      "report it with the folder of the log\n",
      static_cast<unsigned long long>(to_number(*counts.first_different)));
  return 1;
}

}  // namespace starling::apps
