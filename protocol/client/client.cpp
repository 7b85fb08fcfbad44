// SPDX-License-Identifier: Apache-2.0
// The client's calls. Each call sends one request and interprets the reply: see client.hpp.
#include "starling/protocol/client/client.hpp"

#include <algorithm>
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

FoundObject object_of(const Objects& page, std::size_t row) {
  FoundObject object{
      .id = ObjectId{page.ids[row]}, .time_us = page.times_us[row], .tags = page.tags[row]};
  if (!page.positions.empty())
    object.position = {page.positions[3 * row], page.positions[3 * row + 1],
                       page.positions[3 * row + 2]};
  if (!page.names.empty()) object.name = page.names[row];
  return object;
}

/// Returns the page after `page`. Refuses a number that does not rise, because a faulty server
/// could otherwise send pages without end.
Result<std::uint64_t> page_after(std::uint64_t page, std::uint64_t next_page) {
  if (next_page == 0 || next_page > page) return next_page;
  return Problem{ErrorCode::malformed, "The server's next_page is not after page " +
                                           std::to_string(page) + ", but " +
                                           std::to_string(next_page) + "."};
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

std::optional<Problem> Client::begin_report(const ReportReceived& report) {
  return connection_->begin(report);
}

bool Client::has_arrival() {
  return connection_->has_arrival();
}

Result<Done> Client::finish_report() {
  return body_of<Done>(connection_->finish());
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
  answers.unknown.assign(body->unknown.begin(), body->unknown.end());
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

Result<Done> Client::remove_stream(std::string_view name) {
  return body_of<Done>(connection_->call(RemoveStream{name}));
}

Result<std::vector<ListedStream>> Client::streams() {
  std::vector<ListedStream> streams;
  ListStreams request;
  do {
    const auto reply = connection_->call(request);
    const auto page = body_of<Streams>(reply);
    if (!page) return page.problem();
    for (const StreamInfo& stream : page->streams)
      streams.push_back({std::string(stream.name), stream.on, stream.with, stream.query_count,
                         stream.subscription_count, stream.sequence});
    const auto next_page = page_after(request.page, page->next_page);
    if (!next_page) return next_page.problem();
    request.page = *next_page;
  } while (request.page != 0);
  return streams;
}

Result<std::vector<QuerySpec>> Client::queries(std::string_view stream) {
  std::vector<QuerySpec> queries;
  ListQueries request{.stream = stream};
  do {
    const auto reply = connection_->call(request);
    const auto page = body_of<Queries>(reply);
    if (!page) return page.problem();
    queries.insert(queries.end(), page->queries.begin(), page->queries.end());
    const auto next_page = page_after(request.page, page->next_page);
    if (!next_page) return next_page.problem();
    request.page = *next_page;
  } while (request.page != 0);
  return queries;
}

Result<ObjectAnswers> Client::objects(std::span<const std::uint64_t> object_ids) {
  // A server that is older than GetObjects has a page_rows_max of 0, and refuses the request.
  const std::size_t ids_max = std::max<std::size_t>(server().limits.page_rows_max, 1);
  ObjectAnswers answers;
  do {
    const auto some = object_ids.first(std::min(ids_max, object_ids.size()));
    const auto fetched = get_objects_page({.object_ids = some}, answers);
    if (!fetched) return fetched.problem();
    object_ids = object_ids.subspan(some.size());
  } while (!object_ids.empty());
  return answers;
}

Result<ObjectAnswers> Client::objects_in(const Rectangle& rectangle) {
  ObjectAnswers answers;
  GetObjects request{.rectangle = rectangle};
  do {
    const auto next_page = get_objects_page(request, answers);
    if (!next_page) return next_page.problem();
    request.page = *next_page;
  } while (request.page != 0);
  return answers;
}

Result<std::uint64_t> Client::get_objects_page(const GetObjects& request, ObjectAnswers& answers) {
  const auto reply = connection_->call(request);
  const auto page = body_of<Objects>(reply);
  if (!page) return page.problem();
  if (!request.rectangle &&
      page->ids.size() + page->missing_ids.size() != request.object_ids.size())
    return Problem{ErrorCode::malformed,
                   "The server's reply has " + std::to_string(page->ids.size()) + " objects and " +
                       std::to_string(page->missing_ids.size()) + " missing ids for " +
                       std::to_string(request.object_ids.size()) + " ids."};
  answers.epoch = page->epoch;
  for (std::size_t row = 0; row < page->ids.size(); ++row)
    answers.objects.push_back(object_of(*page, row));
  for (const std::uint64_t id : page->missing_ids) answers.missing.push_back(ObjectId{id});
  return page_after(request.page, page->next_page);
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
