// SPDX-License-Identifier: Apache-2.0
// A hub of WebSockets without sockets and threads: its thread is an executor with a clock of the
// test, its clients keep what they are sent, and the test answers the requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/stream/websocket/socket_hub.hpp"
#include "tests/stream/support/manual_executor.hpp"

namespace starling::stream {

using MessageBytes = std::vector<std::byte>;

inline std::uint64_t number_at(const MessageBytes& message, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, message.data() + at, sizeof number);
  return number;
}

/// Decodes a message of Follow (protocol/README.md), and returns its stream and sequence, whether
/// the stream is removed, and the number of its removed lists.
inline std::string tick_name(const MessageBytes& message) {
  std::uint32_t count = 0;
  std::memcpy(&count, message.data(), sizeof count);
  std::vector<std::span<const std::byte>> parts;
  std::size_t at = 8 + 8 * std::size_t{count};
  for (std::uint32_t part = 0; part < count; ++part) {
    const std::size_t bytes = number_at(message, 8 + 8 * std::size_t{part});
    at = (at + 7) / 8 * 8;
    parts.push_back(std::span(message).subspan(at, bytes));
    at += bytes;
  }
  std::vector<protocol::AlignedBytes> frames;
  for (std::size_t part = 1; part < parts.size(); ++part) frames.emplace_back(parts[part]);
  const protocol::DecodedTick tick = protocol::decode_tick(frames);
  EXPECT_FALSE(tick.problem);
  const std::string topic(reinterpret_cast<const char*>(parts[0].data()), parts[0].size() - 1);
  std::string name = topic + " " + std::to_string(tick.header.sequence);
  if (tick.header.stream_removed) name += " removed";
  if (const std::uint64_t lists = tick.header.removal_count; lists > 0)
    name += " with " + std::to_string(lists) + " lists";
  return name;
}

/// Returns what a message is, such as "done 3" for the reply to request 3, or "cars 5" for a tick.
inline std::string message_name(const MessageBytes& message) {
  if (std::memcmp(message.data() + 4, "STTM", 4) == 0) return tick_name(message);
  const protocol::AlignedBytes aligned(message);
  const protocol::DecodedView view = protocol::decode_view(aligned);
  if (!view.problem) return "view of tick " + std::to_string(to_number(view.head.tick));
  const protocol::DecodedReply reply = protocol::decode_reply(aligned);
  EXPECT_FALSE(reply.problem);
  const std::string request = std::to_string(reply.head.request_id);
  const auto* error = std::get_if<protocol::ErrorReply>(&reply.body);
  if (error == nullptr) return "done " + request;
  return std::string(to_string(error->problem.code)) + " " + request;
}

/// A client that reads and writes a message at each turn, or if it is slow only writes.
class FakeSocket final : public MessageLink {
 public:
  explicit FakeSocket(Handlers handlers) : handlers_(std::move(handlers)) {}

  void start(const std::string& first, std::string_view chosen) override {
    head = first;
    protocol = chosen;
  }
  void send(SharedMessage message) override {
    if (code || is_ended) return;
    waiting_bytes_ += message->bytes();
    waiting_.push_back(std::move(message));
  }
  std::size_t waiting_bytes() const override { return waiting_bytes_; }
  void pause() override { is_paused_ = true; }
  void read_on() override { is_paused_ = false; }
  void beat(std::int64_t /*now_us*/) override { ++beats; }
  void close(Code why, std::string_view why_text) override {
    if (code || is_ended) return;
    code = why;
    reason = why_text;
  }

  void say(std::span<const std::byte> message) {
    said_.emplace_back(message.begin(), message.end());
  }
  void ask(std::uint64_t request_id, const protocol::SocketBody& body) {
    say(protocol::encode_socket_request(request_id, body).bytes());
  }
  void request(std::uint64_t request_id) {
    say(protocol::encode_request({.request_id = request_id, .session = 1}, protocol::GetStats{})
            .bytes());
  }
  void leave() {
    if (!std::exchange(is_ended, true)) handlers_.ended();
  }
  /// Returns false if there is nothing to do.
  bool turn() {
    if (is_ended) return false;
    if (code) {
      leave();
      return true;
    }
    const bool is_writing = take();
    if (is_ended || code || is_paused_ || said_.empty()) return is_writing;
    const MessageBytes message = std::move(said_.front());
    said_.pop_front();
    handlers_.received(message);
    return true;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const MessageBytes& message : got) all.push_back(message_name(message));
    return all;
  }

  std::string head;
  std::string protocol;
  std::vector<MessageBytes> got;
  std::optional<Code> code;
  std::string reason;
  int beats = 0;
  bool is_slow = false;
  bool is_ended = false;

 private:
  bool take() {
    if (is_slow || waiting_.empty()) return false;
    MessageBytes message;
    for (const auto& buffer : waiting_.front()->buffers()) {
      const auto* begin = static_cast<const std::byte*>(buffer.data());
      message.insert(message.end(), begin, begin + buffer.size());
    }
    waiting_bytes_ -= message.size();
    waiting_.pop_front();
    got.push_back(std::move(message));
    if (waiting_.empty()) handlers_.sent();
    return true;
  }

  Handlers handlers_;
  std::deque<MessageBytes> said_;
  std::deque<SharedMessage> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool is_paused_ = false;
};

/// A request that the hub has passed to the server.
struct DeliveredRequest {
  Peer peer;
  std::uint64_t request_id = 0;
};

class SocketHubWorld {
 public:
  explicit SocketHubWorld(const SocketLimits& limits = {})
      : hub({.loop = loop,
             .limits = limits,
             .quota = [this](zmtp::PrincipalId id) -> std::optional<std::uint64_t> {
               const auto found = quotas.find(id);
               if (found == quotas.end()) return std::nullopt;
               return found->second;
             },
             .space = {},
             .epoch = 7,
             .deliver =
                 [this](const Peer& peer, const ReceivedBytes& received) {
                   const protocol::AlignedBytes frame(received.bytes);
                   delivered.push_back({peer, decode_request(frame, {}).head.request_id});
                 },
             .fault_of_stream =
                 [this](std::string_view stream) -> std::optional<protocol::Problem> {
               if (streams.contains(std::string(stream))) return std::nullopt;
               return protocol::Problem{
                   protocol::ErrorCode::unknown_stream, "There is no such stream.", {}};
             },
             .refusal_of = [this](std::uint64_t, zmtp::PrincipalId principal,
                                  const protocol::SocketBody&) -> std::optional<protocol::Problem> {
               if (!without_rights.contains(principal)) return std::nullopt;
               return protocol::Problem{
                   protocol::ErrorCode::not_allowed, "You lack the role subscribe.", {}};
             },
             .name_of = [](ObjectId) { return std::string_view(); },
             .is_free = [] { return true; },
             .objects = [this]() -> const ObjectTable& { return objects; }},
            {.thread = thread, .move = [this](HandedOver) -> MessageLink::Make {
               return [this](const SocketLimits&, SocketCounts&, MessageLink::Handlers handlers) {
                 sockets.push_back(std::make_shared<FakeSocket>(std::move(handlers)));
                 return sockets.back();
               };
             }}) {}
  SocketHubWorld(const SocketHubWorld&) = delete;
  SocketHubWorld& operator=(const SocketHubWorld&) = delete;
  ~SocketHubWorld() {
    hub.close();
    run();
  }

  static HttpHead head_of(zmtp::PrincipalId principal = {}, const std::string& protocols = "") {
    HttpHead head;
    head.method = "GET";
    head.target = "/v1/ws";
    head.host = "localhost";
    head.upgrade = "websocket";
    head.connection = "keep-alive, Upgrade";
    head.websocket_version = "13";
    head.websocket_key = "dGhlIHNhbXBsZSBub25jZQ==";
    head.websocket_protocol = protocols;
    head.principal = principal;
    return head;
  }
  HttpAnswer open(const HttpHead& head = head_of()) {
    std::vector<HttpAnswer> answers;
    hub.open(head, [&](HttpAnswer answer) { answers.push_back(std::move(answer)); });
    if (answers.size() != 1) throw std::runtime_error("not one answer");
    return std::move(answers[0]);
  }
  /// Gives the connection of an answer to the hub, as HttpServer does.
  void hand_over(const HttpAnswer& answer, const std::string& received = "") {
    answer.hand_over({boost::asio::ip::tcp::socket(loop), received});
  }
  FakeSocket& connect(zmtp::PrincipalId principal = {}) {
    const std::size_t before = sockets.size();
    hand_over(open(head_of(principal)));
    run();
    if (sockets.size() != before + 1) throw std::runtime_error("the client is not served");
    return *sockets.back();
  }
  /// A client that follows a stream.
  FakeSocket& follower(const std::string& stream = "cars") {
    FakeSocket& socket = connect();
    socket.ask(1, protocol::Follow{stream});
    run();
    EXPECT_THAT(socket.names(), ::testing::ElementsAre("done 1"));
    socket.got.clear();
    return socket;
  }

  void publish(std::uint64_t sequence, const std::string& stream = "cars") {
    const protocol::TickHeader header = header_of(sequence, false);
    hub.publish(stream, header, protocol::encode_tick(stream, header, {}));
  }
  /// Publishes the last tick of a stream, which removes two lists.
  void publish_last(std::uint64_t sequence, const std::string& stream = "cars") {
    const protocol::TickHeader header = header_of(sequence, true);
    std::vector<QueryReport> lists(2);
    for (QueryReport& list : lists) list.event = ListEvent::removed;
    hub.publish(stream, header, protocol::encode_tick(stream, header, {.reports = lists}));
  }
  void tick(std::uint64_t sequence, const std::string& stream = "cars") {
    publish(sequence, stream);
    run();
  }
  /// A limit that four waiting ticks do not exceed.
  static std::size_t four_ticks() {
    return 9 * protocol::encode_tick("cars", header_of(1, false), {}).bytes() / 2;
  }
  /// Answers the oldest request.
  void reply() {
    const DeliveredRequest request = next_request();
    hub.replied(request.peer.connection, protocol::encode_done({.request_id = request.request_id}));
    run();
  }
  /// Answers the oldest request with a reply of about this length.
  void reply_long(std::size_t bytes) {
    const DeliveredRequest request = next_request();
    const std::string name(bytes, 'x');
    hub.replied(request.peer.connection,
                protocol::encode_stats({.request_id = request.request_id},
                                       {.counters = {{.name = name, .value = 1}}}));
    run();
  }
  /// Lets the engine take no rows at this tick, which is then published.
  void show_tick(std::uint64_t tick) {
    hub.take_rows(Staging(), Tick{tick}, static_cast<std::int64_t>(tick));
    hub.show();
  }

  /// Runs the loop, the thread and the clients until nothing is to do.
  void run() {
    for (int turn = 0; turn < turns_max; ++turn) {
      bool is_busy = thread.run_one();
      loop.restart();
      is_busy = loop.poll() > 0 || is_busy;
      for (const auto& socket : sockets) is_busy = socket->turn() || is_busy;
      if (!is_busy) return;
    }
    ADD_FAILURE() << "the hub always has something to do";
  }
  void pass(std::int64_t duration_us) {
    thread.advance(duration_us);
    run();
  }

  boost::asio::io_context loop;
  ManualExecutor thread;
  ObjectTable objects{{}};
  std::set<std::string> streams{"cars", "bikes"};
  std::map<zmtp::PrincipalId, std::uint64_t> quotas;
  std::set<zmtp::PrincipalId> without_rights;
  std::deque<DeliveredRequest> delivered;
  std::vector<std::shared_ptr<FakeSocket>> sockets;

 private:
  static constexpr int turns_max = 10'000;

  static protocol::TickHeader header_of(std::uint64_t sequence, bool is_removed) {
    return {.epoch = 7, .tick = Tick{sequence}, .sequence = sequence, .stream_removed = is_removed};
  }
  DeliveredRequest next_request() {
    if (delivered.empty()) throw std::runtime_error("no request was delivered");
    const DeliveredRequest request = delivered.front();
    delivered.pop_front();
    return request;
  }

 public:
  SocketHub hub;
};

}  // namespace starling::stream
