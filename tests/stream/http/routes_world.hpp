// SPDX-License-Identifier: Apache-2.0
// The routes of the HTTP endpoint without sockets: over a server that the test plays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "starling/stream/http/api.hpp"
#include "tests/stream/http/fake_wire.hpp"

namespace starling::stream {

/// A question over HTTP and its answers.
struct HttpAsked {
  std::vector<HttpAnswer> answers;
  unsigned status() const { return answers.size() == 1 ? answers[0].status : 0; }
  std::string body() const { return answers.size() == 1 ? answers[0].body : std::string(); }
};

inline HttpRequest http_request(const std::string& method, const std::string& target,
                                const std::string& body = "", const std::string& token = "") {
  HttpRequest request{.head = {}, .body = body};
  request.head.method = method;
  request.head.target = target;
  request.head.host = "localhost:7413";
  request.head.content_type = "application/json";
  request.head.has_length = method == "POST" || method == "PUT";
  if (!token.empty()) request.head.authorization = "Bearer " + token;
  return request;
}

/// The routes, over a server whose requests `deliver` gets.
class RoutesWorld {
 public:
  explicit RoutesWorld(WireGateway::Deliver deliver, Access* access = nullptr)
      : api({.loop = loop,
             .limits = limits_,
             .gatekeeper = {.hosts = {}, .origins = {}},
             .tokens = {.access = access},
             .deliver = std::move(deliver),
             .work =
                 [this](std::size_t, const std::function<std::function<void()>()>& read) {
                   boost::asio::post(loop, read());
                 },
             .base_time_us = [] { return std::optional<std::int64_t>(); },
             .name_of = [](ObjectId) { return std::string_view(); },
             .lists = [this](
                          const ListsQuestion& asked,
                          const HttpRespond&) { followed.push_back("lists of " + asked.stream); },
             .events =
                 [this](const EventsQuestion& asked, const HttpRespond&) {
                   followed.push_back("events of " + asked.stream + " after " +
                                      asked.last_event_id);
                 },
             .socket = [](const HttpHead&, const HttpRespond&) {},
             .page = [](const HttpHead&) { return std::optional<HttpAnswer>(); },
             .metrics = [] { return std::string(); },
             .last_error = [] { return std::string(); }}) {}

  /// Hands in a request as HttpServer does.
  std::shared_ptr<HttpAsked> ask(HttpRequest request) {
    auto asked = std::make_shared<HttpAsked>();
    if (auto refusal = api.admit(request.head)) {
      asked->answers.push_back(std::move(*refusal));
      return asked;
    }
    handle(std::move(request), asked);
    return asked;
  }
  std::shared_ptr<HttpAsked> ask(const std::string& method, const std::string& target,
                                 const std::string& body = "", const std::string& token = "") {
    return ask(http_request(method, target, body, token));
  }
  void handle(HttpRequest request, const std::shared_ptr<HttpAsked>& asked) {
    api.handle(std::move(request),
               [asked](HttpAnswer answer) { asked->answers.push_back(std::move(answer)); });
  }
  bool poll() {
    loop.restart();
    return loop.poll() > 0;
  }

  boost::asio::io_context loop;
  std::vector<std::string> followed;

 private:
  const protocol::Limits limits_;

 public:
  HttpApi api;
};

/// The routes over a FakeWire, which opens sessions itself.
class ApiWorld {
 public:
  explicit ApiWorld(Access* access = nullptr) : routes(wire.deliver(), access) {}

  /// Runs the loop until only requests other than Hello wait.
  void run() {
    for (int turn = 0; turn < turns_max; ++turn) {
      bool is_busy = routes.poll();
      is_busy = open_session() || is_busy;
      if (!is_busy) return;
    }
    ADD_FAILURE() << "the routes always have something to do";
  }
  template <class... Arguments>
  std::shared_ptr<HttpAsked> ask(const Arguments&... arguments) {
    auto asked = routes.ask(arguments...);
    run();
    return asked;
  }

  std::uint64_t sessions = 0;
  FakeWire wire{[this](PrincipalId principal, std::span<const std::byte> frame) {
    routes.api.replied(principal, frame);
  }};
  RoutesWorld routes;

 private:
  static constexpr int turns_max = 10'000;

  bool open_session() {
    const auto hello = std::ranges::find_if(
        wire.sent, [](const auto& request) { return request->template is<protocol::Hello>(); });
    if (hello == wire.sent.end()) return false;
    std::rotate(wire.sent.begin(), hello, std::next(hello));
    wire.open(++sessions);
    return true;
  }
};

}  // namespace starling::stream
