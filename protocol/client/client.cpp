// SPDX-License-Identifier: Apache-2.0
// The client's calls. Each call sends one request and interprets the reply: see client.hpp.
#include "starling/protocol/client/client.hpp"

#include <utility>
#include <variant>

#include "starling/protocol/client/connection.hpp"

namespace starling::protocol {
namespace {

/// Returns the reply's body. Returns a Problem if `reply` is a Problem or if the body does not have
/// the type Body. The body points into the reply's frame.
template <class Body>
Result<Body> body_of(const Result<ReceivedReply>& reply) {
  if (!reply) return reply.problem();
  if (const auto* body = std::get_if<Body>(&reply->decoded.body)) return *body;
  return Problem{ErrorCode::malformed,
                 "The server's reply does not have the type that the request asks for."};
}

}  // namespace

EndpointError::EndpointError(const std::string& endpoint, const std::string& why)
    : std::runtime_error("cannot connect to '" + endpoint + "': " + why +
                         "; an endpoint looks like tcp://127.0.0.1:7411") {}

Client::Client(zmq::context_t& context, ClientOptions options)
    : connection_(std::make_unique<Connection>(context, std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

const HelloReply& Client::server() const {
  return connection_->server();
}

std::optional<Problem> Client::post(const RequestBody& batch) {
  return connection_->post(batch);
}

BatchTotals Client::flush() {
  return connection_->flush();
}

Result<BatchReply> Client::update(const UpdateBatch& batch) {
  return body_of<BatchReply>(connection_->call(batch));
}

Result<BatchReply> Client::update_tags(const UpdateTags& batch) {
  return body_of<BatchReply>(connection_->call(batch));
}

Result<BatchReply> Client::remove_objects(const RemoveObjects& batch) {
  return body_of<BatchReply>(connection_->call(batch));
}

Result<BatchReply> Client::put_names(const PutNames& batch) {
  return body_of<BatchReply>(connection_->call(batch));
}

Result<BatchReply> Client::put_queries(const PutQueries& batch) {
  return body_of<BatchReply>(connection_->call(batch));
}

Result<BatchReply> Client::remove_queries(const RemoveQueries& batch) {
  return body_of<BatchReply>(connection_->call(batch));
}

Result<Done> Client::put_stream(const PutStream& stream) {
  return body_of<Done>(connection_->call(stream));
}

Result<TickDone> Client::advance_tick(std::int64_t tau_us) {
  return body_of<TickDone>(connection_->call(AdvanceTick{tau_us}));
}

std::optional<Problem> Client::begin_tick(std::int64_t tau_us) {
  return connection_->begin(AdvanceTick{tau_us});
}

Result<TickDone> Client::finish_tick() {
  return body_of<TickDone>(connection_->finish());
}

Result<Done> Client::report_received(const ReportReceived& report) {
  return body_of<Done>(connection_->call(report));
}

Result<NeighborAnswers> Client::get_neighbors(const GetNeighbors& request) {
  const auto reply = connection_->call(request);
  const auto body = body_of<Neighbors>(reply);
  if (!body) return body.problem();
  NeighborAnswers answers;
  answers.epoch = body->head.epoch;
  answers.tick = body->head.tick;
  answers.tau_us = body->head.tau_us;
  for (std::size_t list = 0; list < body->lists.list_count(); ++list)
    answers.lists.push_back(list_of(body->lists, list));
  return answers;
}

Result<NameAnswers> Client::get_names(std::span<const std::uint64_t> object_ids) {
  const auto reply = connection_->call(GetNames{object_ids});
  const auto body = body_of<Names>(reply);
  if (!body) return body.problem();
  if (body->texts.size() != object_ids.size())
    return Problem{ErrorCode::malformed, "The server's reply has " +
                                             std::to_string(body->texts.size()) + " texts for " +
                                             std::to_string(object_ids.size()) + " ids."};
  return NameAnswers{body->epoch, body->name_count, {body->texts.begin(), body->texts.end()}};
}

Result<StatValues> Client::get_stats() {
  const auto reply = connection_->call(GetStats{});
  const auto body = body_of<Stats>(reply);
  if (!body) return body.problem();
  StatValues values;
  for (const Counter& counter : body->counters)
    values.emplace_back(std::string(counter.name), counter.value);
  return values;
}

Result<std::uint64_t> Client::get_snapshot_page(const GetSnapshot& request,
                                                const PageHandler& handler) {
  const auto reply = connection_->call(request);
  const auto page = body_of<SnapshotPage>(reply);
  if (!page) return page.problem();
  handler(*page);
  return page->head.next_page;
}

Result<Done> Client::get_snapshot(GetSnapshot request, const PageHandler& handler) {
  do {
    const auto next_page = get_snapshot_page(request, handler);
    if (!next_page) return next_page.problem();
    request.page = *next_page;
  } while (request.page != 0);
  return Done{};
}

}  // namespace starling::protocol
