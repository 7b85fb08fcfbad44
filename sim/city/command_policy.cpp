// SPDX-License-Identifier: Apache-2.0
// The policy "command" lets an external program decide. For each decision, the program gets one
// line of JSON and answers with one line: see docs/simulate.md and dispatch_policy.hpp.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <simdjson.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "starling/sim/city/dispatch_policy.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/text_append.hpp"

namespace starling::sim::city {
namespace {

constexpr std::size_t answer_bytes_max = std::size_t{64} << 20;
constexpr int answer_time_s = 60;
constexpr int end_time_ms = 5000;

/// A program that runs in a shell. One socket is its standard input and its standard output.
class LineProgram {
 public:
  explicit LineProgram(const std::string& command) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair", errno);
    socket_ = ends[0];
    const timeval patience{answer_time_s, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string shell = "sh";
    std::string flag = "-c";
    std::string text = command;
    char* arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
    const int error = posix_spawn(&process_, "/bin/sh", &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error == 0) return;
    close(socket_);
    fail("posix_spawn", error);
  }
  LineProgram(const LineProgram&) = delete;  // owns a process
  LineProgram& operator=(const LineProgram&) = delete;

  /// Closes the program's input, waits up to end_time_ms for the program to end, and then kills it.
  ~LineProgram() {
    close(socket_);
    for (int waited_ms = 0; waited_ms < end_time_ms; ++waited_ms) {
      if (waitpid(process_, nullptr, WNOHANG) != 0) return;
      usleep(1000);
    }
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        throw InputError("--policy-command: the program does not read its input");
      if (sent < 0) throw_ended();
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  /// Returns the next line, without its newline. The result is valid until the next call.
  std::string_view receive_line() {
    received_.erase(0, line_bytes_);
    for (;;) {
      const std::size_t end = received_.find('\n');
      if (end != std::string::npos) {
        line_bytes_ = end + 1;
        return std::string_view(received_).substr(0, end);
      }
      if (received_.size() > answer_bytes_max)
        throw InputError("--policy-command: a line of the program has more than 64 MiB");
      char bytes[65536];
      const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        throw InputError("--policy-command: the program has not answered for " +
                         std::to_string(answer_time_s) +
                         " s; it must write one line for each line that it reads, and flush it");
      if (count <= 0) throw_ended();
      received_.append(bytes, static_cast<std::size_t>(count));
    }
  }

 private:
  [[noreturn]] static void fail(const char* what, int error) {
    throw std::runtime_error(std::string("--policy-command: ") + what + ": " +
                             std::strerror(error));
  }
  [[noreturn]] static void throw_ended() {
    throw InputError(
        "--policy-command: the program ended before the simulation did; its errors, if any, are "
        "above");
  }

  int socket_ = -1;
  pid_t process_ = -1;
  std::string received_;
  std::size_t line_bytes_ = 0;  ///< length of the line that receive_line() returned
};

class CommandPolicy : public DispatchPolicy {
 public:
  explicit CommandPolicy(const std::string& command) : program_(command) {}

  std::string_view name() const override { return "command"; }

  DispatchDecision decide(const DispatchInput& input) override {
    program_.send(question_of(input));
    const simdjson::padded_string line(program_.receive_line());
    simdjson::dom::element answer;
    if (parser_.parse(line).get(answer) != simdjson::SUCCESS || !answer.is_object())
      throw InputError("--policy-command: a line of the program is no JSON object: " +
                       shortened(line));
    return decision_of(input, answer);
  }

 private:
  static std::string shortened(std::string_view line) {
    return std::string(line.substr(0, 100)) + (line.size() > 100 ? "..." : "");
  }

  static std::string question_of(const DispatchInput& input) {
    std::string text = R"({"riders":[)";
    for (const WaitingRider& rider : input.riders) {
      text += &rider == input.riders.data() ? R"({"ride":)" : R"(,{"ride":)";
      append_number(text, rider.ride);
      text += R"(,"candidates":[)";
      for (const Candidate& candidate : rider.list) {
        text += candidate == rider.list.front() ? "[" : ",[";
        append_number(text, candidate.driver);
        text += ',';
        append_number(text, candidate.distance_m);
        text += ']';
      }
      text += R"(],"declined_by":[)";
      for (const DriverIndex& driver : rider.declined_by) {
        if (&driver != rider.declined_by.data()) text += ',';
        append_number(text, driver);
      }
      text += rider.may_have_more ? R"(],"may_have_more":true,)" : R"(],"may_have_more":false,)";
      text += rider.can_widen ? R"("can_widen":true})" : R"("can_widen":false})";
    }
    text += R"(],"drivers":)";
    append_number(text, input.drivers);
    text += R"(,"free_drivers":)";
    append_number(text, input.free_drivers);
    text += "}\n";
    return text;
  }

  /// Converts the program's answer. Throws InputError unless each offer takes a driver from the
  /// rider's list that has not declined, and each driver and rider occurs at most once.
  static DispatchDecision decision_of(const DispatchInput& input, simdjson::dom::element answer) {
    std::unordered_map<std::uint64_t, std::uint32_t> rider_of;  ///< [ride]: index in `input.riders`
    for (std::uint32_t i = 0; i < input.riders.size(); ++i) rider_of[input.riders[i].ride] = i;
    const auto rider_at = [&](std::uint64_t ride) {
      const auto found = rider_of.find(ride);
      if (found == rider_of.end())
        throw InputError("--policy-command: ride " + std::to_string(ride) +
                         " does not wait for a driver now");
      return found->second;
    };
    DispatchDecision decision;
    std::unordered_set<std::uint64_t> rides;
    std::unordered_set<std::uint64_t> drivers;
    for_each_of(answer, "offers", [&](simdjson::dom::element element) {
      const auto [ride, driver] = pair_of(element);
      const WaitingRider& rider = input.riders[rider_at(ride)];
      const auto candidate = std::ranges::find_if(
          rider.list, [wanted = driver](const Candidate& c) { return c.driver == wanted; });
      const std::string offer = "--policy-command: the offer [" + std::to_string(ride) + ", " +
                                std::to_string(driver) + "] ";
      if (candidate == rider.list.end())
        throw InputError(offer + "names a driver who is not among the rider's candidates");
      if (std::ranges::find(rider.declined_by, candidate->driver) != rider.declined_by.end())
        throw InputError(offer + "names a driver who declined this rider");
      if (!rides.insert(ride).second) throw InputError(offer + "is the rider's second");
      if (!drivers.insert(driver).second) throw InputError(offer + "is the driver's second");
      decision.offers.push_back({rider.ride, candidate->driver, candidate->distance_m});
    });
    for_each_of(answer, "uncertain", [&](simdjson::dom::element element) {
      decision.uncertain.push_back(rider_at(number_of(element)));
    });
    std::ranges::sort(decision.uncertain);
    const auto twice = std::ranges::unique(decision.uncertain);
    decision.uncertain.erase(twice.begin(), twice.end());
    return decision;
  }

  /// Calls take(element) for each element of the answer's array `name`. The array may be missing.
  template <class Take>
  static void for_each_of(simdjson::dom::element answer, std::string_view name, const Take& take) {
    simdjson::dom::element found;
    if (answer[name].get(found) != simdjson::SUCCESS) return;
    simdjson::dom::array array;
    if (found.get(array) != simdjson::SUCCESS)
      throw InputError("--policy-command: \"" + std::string(name) + "\" must be an array");
    for (const simdjson::dom::element element : array) take(element);
  }
  static std::uint64_t number_of(simdjson::dom::element element) {
    std::uint64_t number = 0;
    if (element.get(number) != simdjson::SUCCESS)
      throw InputError("--policy-command: a ride or driver is no whole number from 0 on");
    return number;
  }
  static std::pair<std::uint64_t, std::uint64_t> pair_of(simdjson::dom::element element) {
    simdjson::dom::array pair;
    if (element.get(pair) != simdjson::SUCCESS || pair.size() != 2)
      throw InputError("--policy-command: an offer must be [RIDE, DRIVER]");
    return {number_of(pair.at(0)), number_of(pair.at(1))};
  }

  LineProgram program_;
  simdjson::dom::parser parser_;
};

}  // namespace

std::unique_ptr<DispatchPolicy> make_command_policy(const std::string& command) {
  return std::make_unique<CommandPolicy>(command);
}

}  // namespace starling::sim::city
