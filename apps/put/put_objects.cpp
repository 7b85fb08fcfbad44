// SPDX-License-Identifier: Apache-2.0
// Reads rows, sends them, waits until a tick has taken them, and reports: see put_objects.hpp.
#include "starling/apps/put/put_objects.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <poll.h>
#include <unistd.h>
#include <zmq.hpp>

#include "starling/apps/put/object_rows.hpp"
#include "starling/apps/put/object_sender.hpp"
#include "starling/apps/shared/duration_flag.hpp"
#include "starling/apps/shared/process/stop_signals.hpp"
#include "starling/apps/shared/server/refusal_text.hpp"
#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/plain_text.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/quoted_text.hpp"
#include "starling/sim/data/files/text_input.hpp"

namespace starling::apps {
namespace {

constexpr std::uint64_t faults_shown_max = 10;  // shown per input; all are counted
// When a server acknowledges a row, two ticks that began without this row may be under way. The
// third tick that finishes afterwards has the row.
constexpr double ticks_until_seen = 3;
constexpr std::chrono::milliseconds poll_interval{10};

void check_flags(const PutObjectsFlags& flags) {
  const bool is_one = !flags.id.empty();
  if (!is_one &&
      (flags.place.is_given() || !flags.time.empty() || flags.tags || !flags.name.empty()))
    throw CLI::ValidationError("--id", "an object needs an id, such as --id truck-7");
  if (is_one && !flags.files.empty())
    throw CLI::ValidationError("--id", "give either one object with --id or files, not both");
  if (is_one && !flags.place.is_given())
    throw CLI::ValidationError("--id", "the object needs a place: --lon and --lat, or --x and --y");
  if (is_one) check_place(flags.place);
  if (!is_one && flags.files.empty() && isatty(STDIN_FILENO) != 0)
    throw CLI::ValidationError(
        "put", "give one object with --id and its place, name files, or pipe CSV or JSON lines in");
}

class PutObjects {
 public:
  explicit PutObjects(const PutObjectsFlags& flags)
      : flags_(flags), client_(zmq_, client_options(flags.server, "starling put")) {
    if (client_.server().space.is_vector())
      throw std::runtime_error(
          "this server holds vectors, and put sends positions; a program can put vectors: see "
          "examples/client.cpp");
    sender_.emplace(client_);
  }

  int run() {
    if (!flags_.id.empty()) {
      put_one();
    } else {
      signals_.emplace();
      for (const std::string& file : flags_.files) put_file(file);
      if (flags_.files.empty()) put_file("-");
    }
    sender_->finish();
    const bool is_seen =
        flags_.no_wait || is_stopped() || sender_->totals().accepted == 0 || await_tick();
    print_totals(sender_->totals(), flags_.json, std::cout);
    if (sender_->nameless() > 0)
      say("the server had no room for " + std::to_string(sender_->nameless()) +
          " names, so it shows those objects by their numbers");
    if (!is_seen)
      say("no tick has taken the rows yet; they are seen after the server's next ticks");
    if (client_.server().manual_ticks && !flags_.no_wait)
      say("this server ticks only on request, so the rows are seen after its next tick");
    if (is_stopped()) say("stopped before the end of the input");
    return sender_->totals().rejected > 0 || is_stopped() ? 1 : 0;
  }

 private:
  static void say(const std::string& sentence) {
    std::cerr << "starling put: " << plain_text(sentence) << '\n';
  }

  bool is_stopped() { return signals_ && signals_->asked_to_stop(); }

  void put_one() {
    const Place place = place_in(flags_.place, client_.server().space.space);
    std::int64_t time_us = wall_now_us();
    if (!flags_.time.empty()) {
      const auto parsed_us =
          parse_time_us(flags_.time, {.unit = time_unit_from_string(flags_.time_unit).value()});
      if (!parsed_us)
        throw CLI::ValidationError("--time", sim::quoted_text(flags_.time) +
                                                 " is not a time; write 2022-01-03T00:10:00Z or "
                                                 "seconds since 1970, for example");
      time_us = *parsed_us;
    }
    sender_->add({.id = flags_.id,
                  .name = flags_.name,
                  .time_us = time_us,
                  .position = place.position,
                  .has_z = place.components == 3,
                  .tags = flags_.tags});
  }

  void put_file(const std::string& path) {
    if (is_stopped()) return;
    const bool is_stdin = path == "-";
    const std::string shown = sim::shown_path(path);
    const ObjectFormat format = flags_.format == "csv"      ? ObjectFormat::csv
                                : flags_.format == "ndjson" ? ObjectFormat::ndjson
                                                            : ObjectFormat::by_first_byte;
    const protocol::HelloReply& server = client_.server();
    const ObjectRowOptions options{
        .space = server.space.space,
        .text_bytes_max = server.limits.text_bytes_max,
        .time_unit = time_unit_from_string(flags_.time_unit).value(),
        .date_order = date_order_from_string(flags_.date_order).value_or(DateOrder::unknown),
        .now_us = wall_now_us};
    std::uint64_t faults = 0;
    const auto on_row = [&](const ObjectRow& row) { sender_->add(row); };
    const auto on_fault = [&](std::uint64_t line, const std::string& sentence) {
      sender_->totals().add_rejected("unreadable", "the row cannot be read", 1);
      if (++faults <= faults_shown_max)
        std::cerr << plain_text(shown) << ':' << line << ": " << plain_text(sentence) << '\n';
      if (faults == faults_shown_max + 1)
        std::cerr << plain_text(shown) << ": further rows that cannot be read are only counted\n";
    };
    std::vector<std::string> unused;
    try {
      sim::TextInput input(
          shown, std::make_unique<Source>(*this, is_stdin ? nullptr : sim::open_file(path)));
      read_object_rows(input, format, options, on_row, on_fault, unused);
    } catch (const StoppedError&) {  // run() reports the stop
    }
    std::string names;
    for (const std::string& name : unused)
      names += (names.empty() ? "" : ", ") + sim::printable_text(name);
    if (!names.empty()) say(shown + ": not used: " + names);
  }

  /// Thrown by Source::read() after a stop signal, so that half a line is not taken for a whole
  /// one.
  struct StoppedError : std::runtime_error {
    StoppedError() : std::runtime_error("stopped") {}
  };

  /// A file or, without one, the standard input.
  class Source final : public sim::ByteSource {
   public:
    Source(PutObjects& run, std::unique_ptr<sim::ByteSource> file)
        : run_(run), file_(std::move(file)) {}

    std::size_t read(std::span<char> buffer) override {
      if (run_.is_stopped()) throw StoppedError();
      return file_ ? file_->read(buffer) : read_stdin(buffer);
    }

   private:
    /// Before it waits for more input, sends the rows read so far, so that a slow pipe does not
    /// delay them.
    std::size_t read_stdin(std::span<char> buffer) {
      for (;;) {
        pollfd ready{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
        if (poll(&ready, 1, 0) == 0) {
          run_.sender_->finish();
          if (poll(&ready, 1, 100) == 0) {
            if (run_.is_stopped()) throw StoppedError();
            continue;
          }
        }
        const ssize_t bytes = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (bytes >= 0) return static_cast<std::size_t>(bytes);
        if (errno != EINTR)
          throw std::runtime_error("the standard input cannot be read: " +
                                   std::string(std::strerror(errno)));
        if (run_.is_stopped()) throw StoppedError();
      }
    }

    PutObjects& run_;
    std::unique_ptr<sim::ByteSource> file_;
  };

  double ticks_finished() {
    for (const auto& [name, value] : value_of(client_.get_stats()))
      if (name == "starling_ticks_total") return value;
    throw std::runtime_error("this server does not count its ticks; use --no-wait");
  }

  /// Waits for the ticks after which `starling ask` sees the rows. Returns false after the timeout
  /// or a stop signal. Does not wait if the server's ticks are manual.
  bool await_tick() {
    if (client_.server().manual_ticks) return true;
    const std::int64_t give_up_us = steady_now_us() + duration_us(flags_.server.timeout);
    const double seen_at = ticks_finished() + ticks_until_seen;
    while (ticks_finished() < seen_at) {
      if (steady_now_us() > give_up_us || is_stopped()) return false;
      std::this_thread::sleep_for(poll_interval);
    }
    return true;
  }

  const PutObjectsFlags& flags_;
  zmq::context_t zmq_;
  protocol::Client client_;
  std::optional<StopSignals> signals_;
  std::optional<ObjectSender> sender_;
};

}  // namespace

int put_objects(const PutObjectsFlags& flags) {
  check_flags(flags);
  return PutObjects(flags).run();
}

}  // namespace starling::apps
