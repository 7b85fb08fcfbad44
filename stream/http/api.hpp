// SPDX-License-Identifier: Apache-2.0
// Carries out the routes of the HTTP endpoint. A route reads its parameters and body, sends
// requests of the wire through WireGateway, and answers with their replies as JSON. Server owns an
// HttpApi, and calls it on the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/knn/words/query.hpp"
#include "starling/knn/words/types.hpp"
#include "starling/protocol/wire/limits.hpp"
#include "starling/stream/http/gatekeeper.hpp"
#include "starling/stream/http/recording.hpp"
#include "starling/stream/http/routes.hpp"
#include "starling/stream/http/stream_questions.hpp"
#include "starling/stream/http/token_gate.hpp"
#include "starling/stream/http/wire_gateway.hpp"
#include "starling/stream/sockets/http_server.hpp"
#include "starling/stream/turns/fair_jobs.hpp"

namespace starling::stream {

class HttpApi {
 public:
  /// What the routes use of the server. The functions are called on the loop.
  struct Parts {
    boost::asio::io_context& loop;
    const protocol::Limits& limits;
    GatekeeperOptions gatekeeper;
    TokenGate::Parts tokens{};  ///< every request may do everything if there are no keys
    WireGateway::Deliver deliver;
    /// Runs the function on a worker, and then the function that it returns on the loop. `bytes` is
    /// the size of the request's body, which waits in memory.
    std::function<void(std::size_t bytes, std::function<std::function<void()>()>)> work;
    /// Returns the server's time, for objects that have no time of their own; std::nullopt before
    /// the first manual tick.
    std::function<std::optional<std::int64_t>()> base_time_us;
    std::function<std::string_view(ObjectId)> name_of;  ///< empty: the object has no name
    std::function<void(ListsQuestion, HttpRespond)> lists;
    std::function<void(EventsQuestion, HttpRespond)> events;
    std::function<void(HttpHead, HttpRespond)> socket;
    /// Returns PageFiles::answer().
    std::function<std::optional<HttpAnswer>(const HttpHead&)> page;
    std::function<std::string()> metrics;
    std::function<std::string()> last_error;  ///< why the last tick failed; empty: it did not fail
    /// Returns whether the server refuses changes because the disk of its log is full.
    std::function<bool()> is_log_full = [] { return false; };
    std::shared_ptr<Recording> recording{};        ///< null: the server plays no recording
    std::shared_ptr<const std::string> network{};  ///< the roads as JSON; null: no roads
  };

  explicit HttpApi(Parts parts);

  /// Returns a refusal, or a file of the page. std::nullopt: the request's body must be read, for
  /// handle(). Sets the principal of the request.
  std::optional<HttpAnswer> admit(HttpHead& head);
  void handle(HttpRequest request, HttpRespond respond);
  /// Call this with each reply to a Peer that is `in_process`.
  void replied(PrincipalId principal, std::span<const std::byte> frame) {
    gateway(principal).replied(frame);
  }
  /// Returns the principal's gateway, which sends wire requests to the server. All requests of one
  /// principal share one session. The server ends an idle session.
  WireGateway& gateway(PrincipalId principal);
  /// Returns WireGateway::reply_owner() of the gateway that takes a reply now.
  std::shared_ptr<const void> reply_owner() const;
  /// Returns how many requests were refused because their token was wrong or missing.
  std::uint64_t refused_count() const { return tokens_.refused_count(); }

  // The routes. They may throw BadRequest.
  void get_health(HttpCall call);
  void get_metrics(HttpCall call);
  void post_objects(HttpCall call);
  void get_object(HttpCall call);
  void delete_object(HttpCall call);
  void get_neighbors(HttpCall call);
  void post_neighbors(HttpCall call);
  void get_streams(HttpCall call);
  void get_stream(HttpCall call);
  void get_events(HttpCall call);
  void get_socket(HttpCall call);
  void put_stream(HttpCall call);
  void put_query(HttpCall call);
  void delete_stream(HttpCall call);
  void delete_query(HttpCall call);
  void get_stats(HttpCall call);
  void get_playback(HttpCall call);
  void put_playback(HttpCall call);
  void get_network(HttpCall call);

 private:
  void ask(protocol::GetNeighbors question, HttpCall call);
  std::int64_t base_time_us() const;
  /// Returns the gateway of the call's principal, for requests of the call's client.
  WireClient client_of(const HttpCall& call);
  Payer payer_of(const HttpHead& head) const;
  void send_one_row(const WireClient& client, WireGateway::Make make, std::string_view what,
                    HttpRespond respond);

  Parts parts_;
  Gatekeeper gatekeeper_;
  TokenGate tokens_;
  std::shared_ptr<FairJobs> bodies_;  ///< the bodies of objects that are being carried out
  std::map<PrincipalId, WireGateway> gateways_;  ///< one for each principal that has sent a request
};

}  // namespace starling::stream
