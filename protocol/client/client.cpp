// SPDX-License-Identifier: Apache-2.0
// The client's calls. Each call sends one request and interprets the reply: see client.hpp.
#include "starling/protocol/client/client.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "starling/protocol/client/connection.hpp"

namespace starling::protocol {
namespace {

FoundObject object_of(const Objects& page, std::size_t row) {
  FoundObject object{
      .id = ObjectId{page.ids[row]}, .time_us = page.times_us[row], .tags = page.tags[row]};
  if (!page.positions.empty())
    object.position = {page.positions[3 * row], page.positions[3 * row + 1],
                       page.positions[3 * row + 2]};
  if (!page.names.empty()) object.name = page.names[row];
  return object;
}

/// Notices lists of pages that have no end. Each page has the number of rows that the server has in
/// all. Rows may come and go meanwhile, so that number is not exact.
class PageCount {
 public:
  /// Returns what is wrong, as the end of a sentence about the server.
  std::optional<std::string> add(std::size_t rows, std::size_t frame_bytes, std::uint64_t total) {
    rows_ += rows;
    bytes_ += frame_bytes;
    total_ = std::max(total_, total);
    empty_pages_ = rows == 0 ? empty_pages_ + 1 : 0;
    if (rows_ / 2 > total_ + slack_rows)
      return "sends pages without end: " + std::to_string(rows_) +
             " rows, though it says that it has " + std::to_string(total_);
    if (empty_pages_ > empty_pages_max) return "sends empty pages without end";
    if (bytes_ > bytes_max) return "sends pages of more than 4 GiB; ask for a part of them";
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t slack_rows = 512;
  static constexpr std::uint64_t empty_pages_max = 16'384;
  static constexpr std::uint64_t bytes_max = std::uint64_t{4} << 30;

  std::uint64_t rows_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t empty_pages_ = 0;
};

/// Returns what is wrong with the answers to `asked`, as the end of a sentence about the server.
std::optional<std::string> misfit(const GetNeighbors& asked, const ListChunk& lists) {
  if (lists.list_count() != asked.questions.size())
    return "answered " + std::to_string(asked.questions.size()) + " questions with " +
           std::to_string(lists.list_count()) + " lists";
  if (lists.distances_m.size() != lists.object_ids.size())
    return "answered questions without distances";
  for (std::size_t list = 0; list < lists.list_count(); ++list) {
    if (lists.query_ids[list] != list || lists.subject_of(list) ||
        lists.event_of(list) != ListEvent::updated)
      return "sent the list of another question as answer " + std::to_string(list);
    if (lists.neighbor_count(list) > asked.questions[list].k)
      return "answered question " + std::to_string(list) + ", whose k is " +
             std::to_string(asked.questions[list].k) + ", with " +
             std::to_string(lists.neighbor_count(list)) + " neighbours";
  }
  return std::nullopt;
}

/// Returns true if the page's objects, in their order, are among the requested ids.
bool are_among(std::span<const std::uint64_t> found, std::span<const std::uint64_t> asked) {
  auto next = asked.begin();
  for (const std::uint64_t id : found) {
    next = std::find(next, asked.end(), id);
    if (next == asked.end()) return false;
    ++next;
  }
  return true;
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
  return connection_->body_of<BatchReply>(connection_->call(batch));
}

Result<BatchReply> Client::update_tags(const UpdateTags& batch) {
  return connection_->body_of<BatchReply>(connection_->call(batch));
}

Result<BatchReply> Client::remove_objects(const RemoveObjects& batch) {
  return connection_->body_of<BatchReply>(connection_->call(batch));
}

Result<BatchReply> Client::put_names(const PutNames& batch) {
  return connection_->body_of<BatchReply>(connection_->call(batch));
}

Result<BatchReply> Client::put_queries(const PutQueries& batch) {
  return connection_->body_of<BatchReply>(connection_->call(batch));
}

Result<BatchReply> Client::remove_queries(const RemoveQueries& batch) {
  return connection_->body_of<BatchReply>(connection_->call(batch));
}

Result<Done> Client::put_stream(const PutStream& stream) {
  return connection_->body_of<Done>(connection_->call(stream));
}

Result<TickDone> Client::advance_tick(std::int64_t tau_us) {
  return connection_->body_of<TickDone>(connection_->call(AdvanceTick{tau_us}));
}

std::optional<Problem> Client::begin_tick(std::int64_t tau_us) {
  return connection_->begin(AdvanceTick{tau_us});
}

Result<TickDone> Client::finish_tick() {
  return connection_->body_of<TickDone>(connection_->finish());
}

Result<Done> Client::report_received(const ReportReceived& report) {
  return connection_->body_of<Done>(connection_->call(report));
}

std::optional<Problem> Client::begin_report(const ReportReceived& report) {
  return connection_->begin(report);
}

bool Client::has_arrival() {
  return connection_->has_arrival();
}

Result<Done> Client::finish_report() {
  return connection_->body_of<Done>(connection_->finish());
}

Result<NeighborAnswers> Client::get_neighbors(const GetNeighbors& request) {
  const auto reply = connection_->call(request);
  const auto body = connection_->body_of<Neighbors>(reply);
  if (!body) return body.problem();
  if (const auto why = misfit(request, body->lists)) return connection_->bad_reply(*why);
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
  const auto body = connection_->body_of<Names>(reply);
  if (!body) return body.problem();
  if (body->texts.size() != object_ids.size())
    return connection_->bad_reply("sent " + std::to_string(body->texts.size()) + " names for " +
                                  std::to_string(object_ids.size()) + " ids");
  return NameAnswers{body->epoch, body->name_count, {body->texts.begin(), body->texts.end()}};
}

Result<StatValues> Client::get_stats() {
  const auto reply = connection_->call(GetStats{});
  const auto body = connection_->body_of<Stats>(reply);
  if (!body) return body.problem();
  StatValues values;
  for (const Counter& counter : body->counters)
    values.emplace_back(std::string(counter.name), counter.value);
  return values;
}

Result<Done> Client::remove_stream(std::string_view name) {
  return connection_->body_of<Done>(connection_->call(RemoveStream{name}));
}

Result<std::vector<ListedStream>> Client::streams() {
  std::vector<ListedStream> streams;
  PageCount pages;
  ListStreams request;
  do {
    const auto reply = connection_->call(request);
    const auto page = connection_->body_of<Streams>(reply);
    if (!page) return page.problem();
    for (const StreamInfo& stream : page->streams)
      streams.push_back({std::string(stream.name), stream.on, stream.with, stream.query_count,
                         stream.subscription_count, stream.sequence});
    if (const auto why =
            pages.add(page->streams.size(), reply->frame.bytes().size(), page->stream_count))
      return connection_->bad_reply(*why);
    const auto next_page = connection_->page_after(request.page, page->next_page);
    if (!next_page) return next_page.problem();
    request.page = *next_page;
  } while (request.page != 0);
  return streams;
}

Result<std::vector<QuerySpec>> Client::queries(std::string_view stream) {
  std::vector<QuerySpec> queries;
  PageCount pages;
  ListQueries request{.stream = stream};
  do {
    const auto reply = connection_->call(request);
    const auto page = connection_->body_of<Queries>(reply);
    if (!page) return page.problem();
    queries.insert(queries.end(), page->queries.begin(), page->queries.end());
    if (const auto why =
            pages.add(page->queries.size(), reply->frame.bytes().size(), page->query_count))
      return connection_->bad_reply(*why);
    const auto next_page = connection_->page_after(request.page, page->next_page);
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
  PageCount pages;
  GetObjects request{.rectangle = rectangle};
  do {
    const auto reply = connection_->call(request);
    const auto page = connection_->body_of<Objects>(reply);
    if (!page) return page.problem();
    const auto next_page = add_objects(request, *page, answers);
    if (!next_page) return next_page.problem();
    if (const auto why =
            pages.add(page->ids.size(), reply->frame.bytes().size(), page->object_count))
      return connection_->bad_reply(*why);
    request.page = *next_page;
  } while (request.page != 0);
  return answers;
}

Result<std::uint64_t> Client::get_objects_page(const GetObjects& request, ObjectAnswers& answers) {
  const auto reply = connection_->call(request);
  const auto page = connection_->body_of<Objects>(reply);
  if (!page) return page.problem();
  return add_objects(request, *page, answers);
}

Result<std::uint64_t> Client::add_objects(const GetObjects& request, const Objects& page,
                                          ObjectAnswers& answers) {
  if (!request.rectangle && page.ids.size() + page.missing_ids.size() != request.object_ids.size())
    return connection_->bad_reply("sent " + std::to_string(page.ids.size()) + " objects and " +
                                  std::to_string(page.missing_ids.size()) + " missing ids for " +
                                  std::to_string(request.object_ids.size()) + " ids");
  if (!request.rectangle &&
      !(are_among(page.ids, request.object_ids) && are_among(page.missing_ids, request.object_ids)))
    return connection_->bad_reply("sent objects that were not asked for");
  answers.epoch = page.epoch;
  for (std::size_t row = 0; row < page.ids.size(); ++row)
    answers.objects.push_back(object_of(page, row));
  for (const std::uint64_t id : page.missing_ids) answers.missing.push_back(ObjectId{id});
  return connection_->page_after(request.page, page.next_page);
}

Result<std::uint64_t> Client::get_snapshot_page(const GetSnapshot& request,
                                                const PageHandler& handler) {
  const auto reply = connection_->call(request);
  const auto page = connection_->body_of<SnapshotPage>(reply);
  if (!page) return page.problem();
  if (page->head.stream != request.stream)
    return connection_->bad_reply("sent a snapshot of another stream");
  if (std::ranges::any_of(page->lists.events, [](std::uint8_t event) { return event != 0; }))
    return connection_->bad_reply("sent a snapshot with removed lists");
  const auto next_page = connection_->page_after(request.page, page->head.next_page);
  if (!next_page) return next_page.problem();
  if (*next_page != 0 && page->lists.list_count() == 0)
    return connection_->bad_reply("sent a page of a snapshot without lists before the last page");
  handler(*page);
  return *next_page;
}

Result<Done> Client::get_snapshot(GetSnapshot request, const PageHandler& handler) {
  std::uint64_t lists = 0;
  std::optional<SnapshotHead> first;
  std::optional<std::string> why;
  const auto take = [&](const SnapshotPage& page) {
    const SnapshotHead& head = page.head;
    if (!first) first = head;
    lists += page.lists.list_count();
    if (head.epoch != first->epoch || head.tick != first->tick || head.sequence != first->sequence)
      why = "sent a snapshot whose pages are of different ticks or histories";
    else if (lists > head.list_count || (head.next_page == 0 && lists < head.list_count))
      why = "sent a snapshot that does not have as many lists as it says";
    else
      handler(page);
  };
  do {
    const auto next_page = get_snapshot_page(request, take);
    if (!next_page) return next_page.problem();
    if (why) return connection_->bad_reply(*why);
    request.page = *next_page;
  } while (request.page != 0);
  return Done{};
}

}  // namespace starling::protocol
