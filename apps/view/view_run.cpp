// SPDX-License-Identifier: Apache-2.0
// One thread replays and one serves; the caller's thread reads keys: see view_run.hpp. When the
// user moves back, a new server at the same address replaces the old one, because a server drops
// rows that are older than those it has.
#include "starling/apps/view/view_run.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>
#include <zmq.hpp>

#include "starling/apps/shared/page_folder.hpp"
#include "starling/apps/shared/page_network.hpp"
#include "starling/apps/shared/process/stop_signals.hpp"
#include "starling/apps/view/keys.hpp"
#include "starling/apps/view/playback.hpp"
#include "starling/apps/view/played_log.hpp"
#include "starling/apps/view/played_trace.hpp"
#include "starling/sim/host/server_host.hpp"
#include "starling/sim/replay/replay.hpp"
#include "starling/stream/http/recording.hpp"
#include "starling/stream/server.hpp"

namespace starling::apps {
namespace {

constexpr std::int64_t skipped_us = 60'000'000;
constexpr std::chrono::milliseconds look_again{100};

/// The recording as the HTTP endpoint shows and changes it. Converts event times to the times of
/// Playback, which count from the first tick.
class PlayedRecording : public stream::Recording {
 public:
  explicit PlayedRecording(Playback& playback) : playback_(playback) {}

  void set_span(std::int64_t begin_us, std::int64_t end_us) {
    begin_us_ = begin_us;
    end_us_ = end_us;
  }

  stream::PlaybackState state() const override {
    return {.time_us = std::min(begin_us_ + playback_.position_us(), end_us_.load()),
            .begin_us = begin_us_,
            .end_us = end_us_,
            .speed = playback_.speed(),
            .is_paused = playback_.is_paused()};
  }

  void change(const stream::PlaybackChange& change) override {
    if (change.speed) playback_.set_speed(*change.speed);
    if (change.is_paused) playback_.pause(*change.is_paused);
    if (change.time_us)
      playback_.seek(std::clamp(*change.time_us, begin_us_.load(), end_us_.load()) - begin_us_);
  }

 private:
  Playback& playback_;
  std::atomic<std::int64_t> begin_us_ = 0;
  std::atomic<std::int64_t> end_us_ = 0;
};

class View {
 public:
  explicit View(const ViewPlan& plan) : plan_(plan), source_(open_source()), playback_(plan.speed) {
    source_->set_up(options_);
    options_.tick_period_us.reset();
    options_.commands_endpoint = "tcp://127.0.0.1:*";
    options_.results_endpoint = "tcp://127.0.0.1:*";
    options_.http_host = plan.http_host;
    options_.http_port = plan.http_port;
    options_.tau_step_max_us = 0;
    options_.recording = recording_;
    options_.page_folder = page_folder("");
    options_.network = read_page_network(plan.page_network, options_.processor.space.space);
  }

  void run() {
    std::jthread player([this] {
      try {
        while (play_pass()) continue;
      } catch (...) {
        error_ = std::current_exception();
      }
      is_over_ = true;
    });
    Keys keys;
    while (!is_over_ && !stop_.asked_to_stop())
      if (const auto key = keys.next(look_again)) act_on(*key);
    playback_.stop();
    player.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  /// Opening a log reads all of it, which takes a while. A signal ends the program meanwhile.
  std::unique_ptr<PlayedSource> open_source() {
    const EndAtSignal reading(stop_, [] {});
    return plan_.journal.empty() ? make_played_trace(plan_) : make_played_log(plan_);
  }

  /// Plays the recording once, into a new server. Returns false if no further pass follows.
  bool play_pass() {
    playback_.begin_pass();
    const PlayedSource::Span span = source_->begin_pass();
    recording_->set_span(span.begin_us, span.end_us);
    stream::Server server(options_, choose_engine(plan_.engine).make(options_.processor.space));
    options_.http_port = port_of(server.endpoints().http);
    std::exception_ptr failure;
    std::jthread serving([&] {
      try {
        server.run();
      } catch (...) {
        failure = std::current_exception();
        playback_.stop();
      }
    });
    bool goes_on = false;
    try {
      goes_on = play_into(server);
    } catch (...) {
      server.stop();
      throw;
    }
    server.stop();
    serving.join();
    if (failure) std::rethrow_exception(failure);
    return goes_on;
  }

  bool play_into(const stream::Server& server) {
    zmq::context_t zmq;
    sim::ServerHost host(
        zmq, {.commands = server.endpoints().commands, .results = server.endpoints().results},
        "view");
    sim::start_replay(host, {.stream = "view", .queries = {}}, false);
    say_once_where(server.endpoints().http);
    Playback::Wake wake{};
    try {
      source_->play(host, playback_);
      std::fputs("view: the recording has ended; r plays it again, q ends\n", stderr);
      wake = playback_.wait_at_end();
    } catch (const PassEnds& end) {
      wake = end.why;
    }
    return wake == Playback::Wake::back;
  }

  void say_once_where(const std::string& http) {
    if (std::exchange(is_said_, true)) return;
    std::printf("http://%s/\n", http.c_str());
    std::fflush(stdout);
    std::fputs(
        "view: space pauses, + and - change the speed, the arrows go a minute back and forth, r "
        "plays from the beginning, q ends\n",
        stderr);
  }

  void act_on(char key) {
    switch (key) {
      case ' ':
        playback_.toggle_pause();
        std::fputs(playback_.is_paused() ? "view: paused\n" : "view: goes on\n", stderr);
        break;
      case '+':
      case '=':
        say_speed(playback_.scale_speed(2));
        break;
      case '-':
        say_speed(playback_.scale_speed(0.5));
        break;
      case '>':
        playback_.skip(skipped_us);
        break;
      case '<':
        playback_.skip(-skipped_us);
        break;
      case 'r':
        playback_.restart();
        break;
      case 'q':
        playback_.stop();
        break;
      default:
        break;
    }
  }

  static void say_speed(double speed) { std::fprintf(stderr, "view: %g times real time\n", speed); }

  static std::uint16_t port_of(const std::string& endpoint) {
    return static_cast<std::uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
  }

  const ViewPlan& plan_;
  StopSignals stop_;  ///< made before any thread
  const std::unique_ptr<PlayedSource> source_;
  Playback playback_;
  const std::shared_ptr<PlayedRecording> recording_ = std::make_shared<PlayedRecording>(playback_);
  stream::ServerOptions options_;
  bool is_said_ = false;
  std::exception_ptr error_;
  std::atomic<bool> is_over_ = false;
};

}  // namespace

void run_view(const ViewPlan& plan) {
  spdlog::set_level(spdlog::level::warn);
  View(plan).run();
}

}  // namespace starling::apps
