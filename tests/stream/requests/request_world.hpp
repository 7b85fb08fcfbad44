// SPDX-License-Identifier: Apache-2.0
// The tables, the callers and the families of requests of a server, without its sockets, threads
// and clock: a request goes in as a frame, and its replies come out decoded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/stream/requests/requests.hpp"
#include "tests/stream/support/manual_executor.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

/// Keeps the messages of ticks.
class KeptResults final : public Results {
 public:
  void send(std::span<protocol::TickMessage> messages, std::size_t /*of_tick*/) override {
    sent += messages.size();
  }
  std::uint64_t subscriber_count(std::string_view topic) const override {
    return topic == protocol::topic_of("near") ? 3 : 0;
  }
  std::size_t sent = 0;
};

/// A reply that was sent, and the frame that it points into.
struct KeptReply {
  Peer peer;
  protocol::Frame frame;
  protocol::AlignedBytes bytes;
  protocol::DecodedReply decoded;
};

class RequestWorld {
 public:
  explicit RequestWorld(const ServerOptions& options = small_options(),
                        const std::string& principal = "")
      : options_(completed(options, make_engine(options.processor.space)->limits())),
        principal_(std::make_shared<Principal>(everybody())),
        publisher_(7, options_.processor.space.space),
        metrics_(options_),
        tables_(executor, options_.processor, make_engine(options_.processor.space),
                {.memory = {.bytes_max = options_.memory_bytes_max,
                            .limits = options_.memory_limits,
                            .use =
                                [this] {
                                  return MemoryUse{memory_used, memory_used};
                                }},
                 .names = options_.names,
                 .time = {.is_manual = true,
                          .future_max_us = options_.future_max_us,
                          .boot_now_us = [this] { return executor.now_us(); },
                          .wall_now_us = [this] { return executor.now_us(); }},
                 .updates = {.threads = 1, .has_log = false, .applied = [](const auto&) {}},
                 .has_room_again = [this] { ++rooms; }}),
        ticker_(executor, {}, tables_, publisher_, results, metrics_, nullptr),
        requests(
            options_,
            {.executor = executor,
             .random = [this] { return ++last_session_; },
             .tables = tables_,
             .metrics = metrics_,
             .audit = audit_,
             .journal = nullptr,
             .send = [this](const Peer& peer, const protocol::Frame& frame) { keep(peer, frame); },
             .has_keys = !principal.empty()},
            {.executor = executor,
             .tables = tables_,
             .ticker = ticker_,
             .publisher = publisher_,
             .results = results,
             .metrics = metrics_,
             .past = nullptr,
             .gauges = [] { return Gauges{}; }}) {
    if (!principal.empty()) {
      principal_->name = principal;
      principal_->id = PrincipalId{5};
    }
  }

  static ServerOptions small_options() {
    ServerOptions options = manual_options();
    options.processor.objects.objects_max = 1u << 16;
    options.processor.threads = 1;
    options.update_threads = 1;
    return options;
  }

  /// Opens a session on a connection. ask() and send() use the session that was opened last.
  std::uint64_t hello(std::uint64_t connection = 1, bool is_web_socket = false) {
    peer_ = {.connection = connection, .in_process = is_web_socket};
    session_ = sequence_ = 0;
    session_ = std::get<protocol::HelloReply>(ask(protocol::Hello{.client = "test"})).session;
    return session_;
  }

  /// Hands in a request, and runs the loop until nothing is to do. A sequenced request gets the
  /// next number.
  void send(const protocol::RequestBody& body) {
    const protocol::RequestHead head{.request_id = ++last_request_,
                                     .session = session_,
                                     .sequence = protocol::is_sequenced(body) ? ++sequence_ : 0};
    send(head, body);
  }
  void send(const protocol::RequestHead& head, const protocol::RequestBody& body) {
    hand_in(head, body);
    tables_.updates().apply();
    executor.run();
  }
  /// Hands in a request, and does not run the loop.
  void hand_in(const protocol::RequestHead& head, const protocol::RequestBody& body) {
    auto frame = std::make_shared<protocol::Frame>(protocol::encode_request(head, body));
    const ReceivedBytes received{frame, frame->bytes()};
    requests.handle(peer_, prepare_request(received, options_.limits, tables_.space(),
                                           requests.credit(), principal_));
  }

  /// Returns the body of the one reply to a request. Waits for it, as the engine has threads.
  protocol::ReplyBody ask(const protocol::RequestBody& body) {
    replies.clear();
    send(body);
    EXPECT_TRUE(executor.run_until([this] { return !replies.empty(); })) << "no reply";
    EXPECT_EQ(replies.size(), 1u);
    return replies.back().decoded.body;
  }
  /// Returns why a request is refused.
  protocol::Problem refusal(const protocol::RequestBody& body) {
    return std::get<protocol::ErrorReply>(ask(body)).problem;
  }
  /// Ticks at this time, and waits for the reply.
  protocol::TickDone tick(std::int64_t tau_us) {
    return std::get<protocol::TickDone>(ask(protocol::AdvanceTick{tau_us}));
  }
  void put_objects(std::uint64_t count) {
    Fixes fixes;
    for (std::uint64_t id = 1; id <= count; ++id) fixes.add(id, 1, static_cast<double>(id), 0);
    EXPECT_EQ(std::get<protocol::BatchReply>(ask(fixes.batch())).accepted, count);
  }
  void put_near(std::uint64_t queries = 1, std::uint32_t k = 2) {
    ask(protocol::PutStream{.name = "near", .on = ReportOn::order, .with = {}});
    std::vector<protocol::QuerySpec> rows;
    for (std::uint64_t id = 1; id <= queries; ++id) rows.push_back(nearest_to(id, k, 0, 0));
    EXPECT_EQ(std::get<protocol::BatchReply>(ask(protocol::PutQueries{"near", rows})).accepted,
              queries);
  }

  const ServerOptions& options() const { return options_; }
  Metrics& metrics() { return metrics_; }
  Tables& tables() { return tables_; }
  CreditLedger& credit() { return requests.credit(); }
  Principal& principal() { return *principal_; }
  std::uint64_t session() const { return session_; }
  std::uint64_t sequence() const { return sequence_; }

  ManualExecutor executor;
  KeptResults results;
  std::vector<KeptReply> replies;
  std::uint64_t memory_used = 0;
  int rooms = 0;  ///< how often Tables reported that it has room again

 private:
  void keep(const Peer& peer, const protocol::Frame& frame) {
    protocol::AlignedBytes bytes(frame.bytes());
    protocol::DecodedReply decoded = protocol::decode_reply(bytes);
    EXPECT_FALSE(decoded.problem);
    replies.push_back({peer, frame, std::move(bytes), std::move(decoded)});
  }

  const ServerOptions options_;
  std::shared_ptr<Principal> principal_;
  Peer peer_{.connection = 1};
  std::uint64_t session_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_session_ = 100;
  Publisher publisher_;
  Metrics metrics_;
  Audit audit_;
  Tables tables_;
  Ticker ticker_;

 public:
  Requests requests;
};

}  // namespace starling::stream
