// SPDX-License-Identifier: Apache-2.0
// Connects HTTP, its events and its WebSockets with the other parts of a server: see
// server_state.hpp.
#include <utility>

#include "starling/knn/base/clocks.hpp"
#include "starling/stream/http/problem.hpp"
#include "starling/stream/server_state.hpp"

namespace starling::stream {

HttpOptions Server::State::http_options() const {
  return {.host = options.http_host,
          .port = options.http_port,
          .reach_allowed = http_reach_allowed(options),
          .connections_max = options.http_connections_max,
          .handshakes_max = handshakes_max(),
          .body_bytes_max = options.http_body_bytes_max,
          .bodies_bytes_max = options.http_bodies_bytes_max,
          .proxies = options.http_trusted_proxy.empty()
                         ? nullptr
                         : std::make_shared<const TrustedProxies>(options.http_trusted_proxy),
          .secure = tls == nullptr ? SecureConnection() : [this](asio::ip::tcp::socket socket) {
            return tls->secured(std::move(socket));
          }};
}

TlsLimits Server::State::tls_limits() const {
  return {.connections_max = handshakes_max() + 2 * std::size_t{options.http_connections_max} +
                             options.http_events.readers_max + options.http_sockets.sockets_max};
}

HttpHandlers Server::State::http_handlers() {
  return {
      .admit = [this](HttpHead& head) { return api.admit(head); },
      .handle = [this](HttpRequest request,
                       HttpRespond respond) { api.handle(std::move(request), std::move(respond)); },
      .rest =
          [this](const HttpHead& head) {
            return std::chrono::microseconds(core.requests().rest_us(head.principal));
          },
      .refuse = [](unsigned status,
                   std::string_view sentence) { return problem_answer(status, sentence); },
      .answered = [this](unsigned status) { metrics.http_answered(status); },
      .timed_out = [this] { metrics.http_timed_out(); }};
}

HttpApi::Parts Server::State::api_parts() {
  return {.loop = loop,
          .limits = options.limits,
          .gatekeeper = {.hosts = options.http_hosts, .origins = options.http_origins},
          .tokens = {.access = &access, .wrong_tokens = options.http_wrong_tokens},
          .deliver =
              [this](Peer peer, ReceivedBytes received) {
                core.intake().receive(peer, std::move(received));
              },
          .work = [this](std::size_t bytes,
                         auto function) { core.intake().work_beside(bytes, std::move(function)); },
          .base_time_us = [this] { return core.tables().time().base_us(); },
          .name_of = [this](ObjectId id) { return core.tables().names().find(id); },
          .lists =
              [this](ListsQuestion question, HttpRespond respond) {
                events.get_lists(std::move(question), std::move(respond));
              },
          .events =
              [this](EventsQuestion question, HttpRespond respond) {
                events.get_events(std::move(question), std::move(respond));
              },
          .socket = [this](const HttpHead& head,
                           const HttpRespond& respond) { views.open(head, respond); },
          .page = [this](const HttpHead& head) { return page.answer(head); },
          .metrics = [this] { return metrics_page.at(steady_now_us()); },
          .last_error = [this] { return core.ticker().last_error(); },
          .is_log_full =
              [this] { return core.journal() != nullptr && core.journal()->commits().is_full(); },
          .recording = options.recording,
          .network = options.network};
}

EventHub::Parts Server::State::event_parts() {
  return {.loop = loop,
          .limits = options.http_events,
          .quota = quota(&Quotas::event_readers),
          .space = options.processor.space.space,
          .epoch = core.publisher().epoch(),
          .runs =
              [this] {
                return core.journal() == nullptr ? std::vector<protocol::Run>()
                                                 : core.journal()->found().runs();
              },
          .send =
              [this](zmtp::PrincipalId principal, WireGateway::Make make, WireGateway::Take take,
                     WireSender sender) {
                api.gateway(principal).send(std::move(make), std::move(take), std::move(sender));
              },
          .reply_owner = [this] { return api.reply_owner(); },
          .fault_of_stream =
              [this](std::string_view stream) { return core.requests().fault_of_stream(stream); },
          .name_of = [this](ObjectId id) { return core.tables().names().find_beside(id); }};
}

SocketHub::Parts Server::State::socket_parts() {
  return {.loop = loop,
          .limits = options.http_sockets,
          .quota = quota(&Quotas::websockets),
          .space = options.processor.space,
          .epoch = core.publisher().epoch(),
          .deliver =
              [this](Peer peer, ReceivedBytes received) {
                core.intake().receive(peer, std::move(received));
              },
          .fault_of_stream =
              [this](std::string_view stream) { return core.requests().fault_of_stream(stream); },
          .refusal_of =
              [this](std::uint64_t reader, zmtp::PrincipalId principal,
                     const protocol::SocketBody& body) {
                return access.refusal_of(principal, body, reader);
              },
          .name_of = [this](ObjectId id) { return core.tables().names().find_beside(id); },
          .is_free = [this] { return core.tables().is_at_rest(); },
          .objects = [this]() -> const ObjectTable& { return core.tables().settled().objects(); }};
}

void Server::State::follow_tick(const std::vector<StreamPlan>& plans,
                                const std::vector<protocol::TickMessage>& messages) {
  if (events.is_following())
    for (std::size_t i = 0; i < plans.size(); ++i)
      events.publish(plans[i].stream, plans[i].header, messages[i]);
  if (views.is_following())
    for (std::size_t i = 0; i < plans.size(); ++i)
      views.publish(plans[i].stream, plans[i].header, messages[i]);
  views.show();
}

}  // namespace starling::stream
