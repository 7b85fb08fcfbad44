// SPDX-License-Identifier: Apache-2.0
// Adds the flags of `starling top`, fetches the metrics repeatedly, and shows them: see top.hpp.
#include "starling/apps/top/top.hpp"

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <unistd.h>
#include <zmq.hpp>

#include "starling/apps/shared/duration_flag.hpp"
#include "starling/apps/shared/process/stop_signals.hpp"
#include "starling/apps/shared/server/refusal_text.hpp"
#include "starling/apps/shared/server/server_flags.hpp"
#include "starling/apps/top/server_view.hpp"
#include "starling/apps/top/view_text.hpp"
#include "starling/knn/base/clocks.hpp"
#include "starling/knn/base/plain_text.hpp"
#include "starling/knn/words/space.hpp"

namespace starling::apps {
namespace {

struct TopFlags {
  ServerFlags server;
  std::string refresh = "1s";
  bool once = false;
  bool json = false;
};

class Top {
 public:
  explicit Top(const TopFlags& flags)
      : flags_(flags),
        client_(zmq_, client_options(flags.server, "starling top")),
        screen_(std::cout, is_live() && !flags.json) {
    head_.server = client_.server().server;
    head_.endpoint = flags.server.commands;
    head_.space = to_string(client_.server().space.space);
  }

  void run() {
    Sample before = take_sample();
    if (is_live() && !flags_.json) show(view_of(before.values, before.values, 0));
    while (!signals_.wait_for(refresh())) {
      std::optional<Sample> now = try_sample();
      if (!now) continue;
      view_ =
          view_of(before.values, now->values, static_cast<double>(now->at_us - before.at_us) / 1e6);
      show(view_);
      if (!is_live()) return;
      before = std::move(*now);
    }
  }

 private:
  struct Sample {
    std::int64_t at_us = 0;
    protocol::StatValues values;
  };

  /// Returns true if the view is shown repeatedly until a signal comes.
  bool is_live() const { return !flags_.once && (flags_.json || isatty(STDOUT_FILENO) != 0); }
  std::chrono::milliseconds refresh() const {
    return std::chrono::milliseconds(duration_us(flags_.refresh) / 1000);
  }

  Sample take_sample() {
    protocol::StatValues values = value_of(client_.get_stats());
    return {steady_now_us(), std::move(values)};
  }

  /// Returns std::nullopt if the server does not answer and the view goes on.
  std::optional<Sample> try_sample() {
    try {
      Sample sample = take_sample();
      head_.obstacle.clear();
      return sample;
    } catch (const protocol::TimeoutError& error) {
      if (!is_live()) throw;
      head_.obstacle = error.what();
      if (flags_.json)
        std::cerr << "starling top: " << plain_text(error.what()) << '\n';
      else
        show(view_);
      return std::nullopt;
    }
  }

  void show(const ServerView& view) {
    view_ = view;
    if (flags_.json) {
      std::cout << view_json(head_, view) << std::endl;
      if (!std::cout) throw std::runtime_error("the standard output cannot be written");
      return;
    }
    const TableSize size =
        screen_.in_place() ? screen_.size() : TableSize{.rows = 100, .columns = 200};
    screen_.draw(view_text(head_, view, size, screen_.in_place() && may_use_colors()));
  }

  const TopFlags& flags_;
  StopSignals signals_;  // made before the context, whose threads inherit the signal mask
  zmq::context_t zmq_;
  protocol::Client client_;
  Screen screen_;
  ViewHead head_;
  ServerView view_;
};

}  // namespace

std::function<int()> add_top(CLI::App& program) {
  auto flags = std::make_shared<TopFlags>();
  CLI::App& command = *program.add_subcommand(
      "top", "Show how a running server is doing: rates, stages of the tick, limits, losses");
  command.add_option("--refresh", flags->refresh, "The time from view to view, of which rates are")
      ->check(is_duration_from(10'000))
      ->type_name("DURATION")
      ->capture_default_str();
  command.add_flag(
      "--once", flags->once,
      "Show one view after --refresh, and end. Without a terminal, this is the default");
  command.add_flag("--json", flags->json,
                   "Print one JSON object for each view, each on its own line");
  add_server_flags(command, flags->server);
  command.footer(
      "Examples:\n"
      "  starling top\n"
      "  starling top --once --refresh 5s --connect tcp://127.0.0.1:7411\n"
      "  starling top --json | jq .rejected.per_s\n"
      "A line with ! says that a limit is used by more than 90 %, that something was lost or\n"
      "refused since the last view, or that the log has no room. With NO_COLOR set, these lines "
      "are not red. Ctrl-C ends the "
      "view.");
  return [flags] {
    Top(*flags).run();
    return 0;
  };
}

}  // namespace starling::apps
