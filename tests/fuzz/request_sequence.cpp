// SPDX-License-Identifier: Apache-2.0
// Fuzzes sequences of at least 100 requests of four principals with roles and quotas, on two
// connections each, through the intake and the families of requests. An input is a program: four
// bytes for a step. When the input has ended, further steps follow from its hash. After each drain
// of the loop, the invariants in SequenceWorld::check hold.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include "starling/cpu/backend.hpp"
#include "starling/protocol/keys/key_file.hpp"
#include "starling/protocol/wire/reply_codec.hpp"
#include "starling/protocol/wire/request_codec.hpp"
#include "starling/stream/request_intake.hpp"
#include "starling/stream/zmtp/listener.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/stream/support/manual_executor.hpp"

namespace starling::fuzz {
namespace {

using namespace stream;
using protocol::ErrorCode;

constexpr std::size_t principals = 4;
constexpr std::size_t connections = 2 * principals;
constexpr std::uint64_t queries_max = 3;
constexpr std::uint64_t neighbors_max = 40;
constexpr std::uint64_t streams_max = 2;
constexpr std::uint64_t names_max = 3;
constexpr std::uint64_t sessions_max = 2;
constexpr std::uint64_t rows_per_second = 50;
constexpr std::size_t rows_a_batch = 4;
constexpr std::size_t steps_min = 100;
constexpr std::size_t steps_max = 400;

const std::array<std::string, principals> roles{"'publish', 'query', 'subscribe'", "'publish'",
                                                "'admin'", "'query', 'stats', 'tick'"};

/// A keys file with the principals p0 to p3. The first two and the last have quotas.
struct Keys {
  Keys() {
    std::string path = (std::filesystem::temp_directory_path() / "starling-fuzz-XXXXXX").string();
    check_invariant(::mkdtemp(path.data()) != nullptr, "there is a folder for keys");
    folder = path;
    protocol::write_key_file(folder / "server.key", protocol::new_key_pair("server"));
    std::string text = "[server]\nkey = \"server.key\"\n";
    for (std::size_t number = 0; number < principals; ++number) {
      const std::string name = "p" + std::to_string(number);
      text += "[[principal]]\nname = \"" + name + "\"\npublic = '" +
              protocol::to_z85(protocol::new_key_pair(name).public_key) + "'\nroles = [" +
              roles[number] + "]\n";
      if (number == 1) text += "objects = ['0-7']\n";
      if (number == 3) text += "streams = ['d*']\n";
      if (number == 2) continue;
      text +=
          "[principal.quota]\nqueries = " + std::to_string(queries_max) +
          "\nneighbors = " + std::to_string(neighbors_max) +
          "\nstreams = " + std::to_string(streams_max) + "\nnames = " + std::to_string(names_max) +
          "\nsessions = " + std::to_string(sessions_max) +
          "\nrows_per_second = " + std::to_string(rows_per_second) + "\nloop_ms_per_second = 20\n";
    }
    std::ofstream(folder / "keys.toml") << text;
    ::chmod((folder / "keys.toml").c_str(), 0600);
  }
  ~Keys() { std::filesystem::remove_all(folder); }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  std::filesystem::path folder;
};

Access& access() {
  static const Keys keys;
  static Access made((keys.folder / "keys.toml").string(), AuditOptions{});
  return made;
}

ServerOptions options() {
  ServerOptions made;
  made.tick_period_us = std::nullopt;
  made.processor.objects.objects_max = 64;
  made.processor.threads = 1;
  made.update_threads = 1;
  made.decode_threads = 1;
  return completed(made, cpu::make_engine({.threads = 1})->limits());
}

class NoResults final : public Results {
 public:
  void send(std::span<protocol::TickMessage>, std::size_t) override {}
  std::uint64_t subscriber_count(std::string_view) const override { return 0; }
};

struct Room final : ReceivedRoom::Keeper {
  void take_back(const std::shared_ptr<zmtp::Link>&, std::size_t bytes) override { held -= bytes; }
  std::size_t held = 0;
};

/// What a client knows of one connection.
struct Client {
  std::uint64_t session = 0;
  std::uint64_t sequence = 0;
  std::shared_ptr<const protocol::Frame> last{};  ///< the last sequenced request
  std::uint64_t last_id = 0;                      ///< its request id
  std::optional<protocol::BatchReply> last_reply{};
};

/// A request that has no reply yet.
struct Pending {
  std::size_t connection = 0;
  std::size_t kind = 0;    ///< index in RequestBody
  std::uint64_t rows = 0;  ///< rows of a batch
  bool is_sent_again = false;
};

class SequenceWorld {
 public:
  void step(std::uint8_t who, std::uint8_t what, std::uint8_t a, std::uint8_t b);
  /// Runs the loop until each request has its reply, and checks the invariants.
  void drain();

 private:
  static std::size_t principal_of(std::size_t connection) { return connection / 2; }
  static PrincipalId id_of(std::size_t principal) {
    return access().ring().id_of("p" + std::to_string(principal));
  }
  void send(std::size_t connection, const protocol::RequestBody& body, std::uint64_t gap = 0);
  void send_again(std::size_t connection);
  void receive(std::size_t connection, const std::shared_ptr<const protocol::Frame>& frame);
  void send_rows(std::size_t connection, std::uint8_t what, std::uint8_t a, std::uint8_t b);
  void send_queries(std::size_t connection, std::uint8_t a, std::uint8_t b);
  void replied(const Peer& peer, const protocol::Frame& frame);
  void check_batch(std::uint64_t id, const Pending& request, const protocol::BatchReply& reply);
  void check_quotas();

  const ServerOptions options_ = options();
  ManualExecutor executor_;
  NoResults results_;
  Metrics metrics_{options_};
  Publisher publisher_{7, options_.processor.space.space};
  Tables tables_{executor_,
                 options_.processor,
                 cpu::make_engine({.threads = 1}),
                 {.memory = {.bytes_max = options_.memory_bytes_max,
                             .limits = options_.memory_limits,
                             .use = [] { return MemoryUse{}; }},
                  .names = options_.names,
                  .time = {.is_manual = true,
                           .future_max_us = options_.future_max_us,
                           .boot_now_us = [this] { return executor_.now_us(); },
                           .wall_now_us = [this] { return executor_.now_us(); }},
                  .updates = {.threads = 1, .has_log = false, .applied = [](const auto&) {}},
                  .has_room_again = [this] { intake_->go_on(); }}};
  Ticker ticker_{executor_, {}, tables_, publisher_, results_, metrics_, nullptr};
  std::uint64_t last_session_ = 100;
  Requests requests_{
      options_,
      {.executor = executor_,
       .random = [this] { return ++last_session_; },
       .tables = tables_,
       .metrics = metrics_,
       .audit = access().audit(),
       .journal = nullptr,
       .send = [this](const Peer& peer, const protocol::Frame& frame) { replied(peer, frame); },
       .has_keys = true},
      {.executor = executor_,
       .tables = tables_,
       .ticker = ticker_,
       .publisher = publisher_,
       .results = results_,
       .metrics = metrics_,
       .past = nullptr,
       .gauges = [] { return Gauges{}; }}};
  Room room_;
  boost::asio::io_context lane_loop_;
  zmtp::Lane lane_{0, lane_loop_};
  std::shared_ptr<zmtp::Link> link_ = std::make_shared<zmtp::Link>(1, PeerAddress{}, lane_);
  std::optional<RequestIntake> intake_{std::in_place, options_,
                                       RequestIntake::Parts{.executor = executor_,
                                                            .access = access(),
                                                            .metrics = metrics_,
                                                            .requests = requests_,
                                                            .tables = tables_,
                                                            .journal = nullptr,
                                                            .ended = [] {}}};
  std::array<Client, connections> clients_;
  std::uint64_t last_request_ = 0;
  std::int64_t time_us_ = 1;
  std::map<std::uint64_t, Pending> pending_;  ///< the key is the request id
  struct Rows {
    std::int64_t time_us = 0;
    std::uint64_t count = 0;
  };
  std::array<std::deque<Rows>, principals> rows_;  ///< [principal]: of the last second
};

template <class... Bodies>
bool is_one_of(std::size_t kind) {
  return ((protocol::RequestBody(Bodies()).index() == kind) || ...);
}

/// Returns whether the principal has a role for requests of this kind.
bool is_allowed(std::size_t principal, std::size_t kind) {
  using namespace protocol;
  constexpr std::size_t all_but_figures = 0;
  constexpr std::size_t moves_only = 1;
  constexpr std::size_t admin = 2;
  constexpr std::size_t asks_only = 3;
  if (principal == admin || is_one_of<Hello, EndSession>(kind)) return true;
  if (is_one_of<UpdateBatch, UpdateTags, RemoveObjects, PutNames>(kind))
    return principal == all_but_figures || principal == moves_only;
  if (is_one_of<GetSnapshot, ReportReceived>(kind)) return principal == all_but_figures;
  if (is_one_of<GetStats, AdvanceTick>(kind)) return principal == asks_only;
  return principal == all_but_figures || principal == asks_only;
}

void SequenceWorld::send(std::size_t connection, const protocol::RequestBody& body,
                         std::uint64_t gap) {
  Client& client = clients_[connection];
  const bool is_sequenced = protocol::is_sequenced(body);
  const bool is_hello = std::holds_alternative<protocol::Hello>(body);
  const protocol::RequestHead head{.request_id = ++last_request_,
                                   .session = is_hello ? 0 : client.session,
                                   .sequence = is_sequenced ? client.sequence + 1 + gap : 0};
  const auto frame = std::make_shared<const protocol::Frame>(protocol::encode_request(head, body));
  if (is_sequenced && gap == 0) {
    client.last = frame;
    client.last_id = head.request_id;
    client.last_reply.reset();
    ++client.sequence;
  }
  pending_.emplace(head.request_id,
                   Pending{connection, body.index(), protocol::credit_rows(body), false});
  receive(connection, frame);
}

void SequenceWorld::send_again(std::size_t connection) {
  drain();
  const Client& client = clients_[connection];
  if (client.last == nullptr) return;
  const protocol::AlignedBytes bytes(client.last->bytes());
  const auto request = protocol::decode_request(bytes, options_.limits);
  pending_.emplace(request.head.request_id, Pending{connection, request.body.index(),
                                                    protocol::credit_rows(request.body), true});
  receive(connection, client.last);
}

void SequenceWorld::receive(std::size_t connection,
                            const std::shared_ptr<const protocol::Frame>& frame) {
  constexpr std::size_t room = 100;
  room_.held += room;
  intake_->receive({.connection = connection + 1, .principal = id_of(principal_of(connection))},
                   {frame, frame->bytes()}, ReceivedRoom(room_, link_, room));
}

void SequenceWorld::replied(const Peer& peer, const protocol::Frame& frame) {
  const protocol::AlignedBytes bytes(frame.bytes());
  const protocol::DecodedReply reply = protocol::decode_reply(bytes);
  check_invariant(!reply.problem, "a reply can be decoded");
  const auto found = pending_.extract(reply.head.request_id);
  check_invariant(!found.empty(), "each request has one reply");
  const Pending& request = found.mapped();
  check_invariant(request.connection + 1 == peer.connection, "a reply goes to its sender");
  Client& client = clients_[request.connection];
  if (const auto* error = std::get_if<protocol::ErrorReply>(&reply.body)) {
    check_invariant(error->problem.sentence.ends_with('.'), "a refusal is a sentence");
    check_invariant(!request.is_sent_again || !client.last_reply ||
                        error->problem.code == ErrorCode::unknown_session ||
                        error->problem.code == ErrorCode::sequence_forgotten,
                    "what was answered is answered again");
    if (error->sequence_expected != 0) client.sequence = error->sequence_expected - 1;
    return;
  }
  check_invariant(is_allowed(principal_of(request.connection), request.kind),
                  "nothing is done without a role for it");
  if (const auto* hello = std::get_if<protocol::HelloReply>(&reply.body))
    client = {.session = hello->session, .sequence = hello->last_sequence};
  if (const auto* batch = std::get_if<protocol::BatchReply>(&reply.body))
    check_batch(reply.head.request_id, request, *batch);
}

void SequenceWorld::check_batch(std::uint64_t id, const Pending& request,
                                const protocol::BatchReply& reply) {
  check_invariant(reply.accepted + reply.late + reply.rejected == request.rows,
                  "each row is accepted, late or rejected");
  Client& client = clients_[request.connection];
  if (request.is_sent_again) {
    check_invariant(!client.last_reply || *client.last_reply == reply,
                    "a request that is sent again gets the same reply");
    return;
  }
  if (id == client.last_id) client.last_reply = reply;
  constexpr std::size_t admin = 2;
  const std::size_t principal = principal_of(request.connection);
  if (principal == admin) return;
  std::deque<Rows>& rows = rows_[principal];
  rows.push_back({executor_.now_us(), request.rows});
  while (rows.front().time_us <= executor_.now_us() - 1'000'000) rows.pop_front();
  std::uint64_t sum = 0;
  for (const Rows& each : rows) sum += each.count;
  check_invariant(sum <= 2 * rows_per_second + rows_a_batch,
                  "in a second, a principal sends the rows of two: one burst, and one second's");
}

void SequenceWorld::check_quotas() {
  const QueryTable& table = tables_.settled().queries();
  std::map<std::uint64_t, std::uint64_t> streams;
  std::map<std::uint64_t, std::uint64_t> queries;
  std::map<std::uint64_t, std::uint64_t> neighbors;
  for (std::size_t number = 0; number < table.stream_id_end(); ++number) {
    const StreamId id{static_cast<std::uint32_t>(number)};
    if (!table.is_live(id)) continue;
    ++streams[table.stream(id).owner];
    check_invariant(table.stream(id).owner != static_cast<std::uint64_t>(id_of(3)) ||
                        table.stream(id).name.starts_with('d'),
                    "a principal makes streams of its names only");
    for (const QuerySlot& member : table.members_of(id)) {
      const QueryDefinition& definition = table.definition_of(member.slot);
      ++queries[definition.owner];
      neighbors[definition.owner] += definition.k;
    }
  }
  for (const std::size_t principal : {0u, 1u, 3u}) {
    const auto owner = static_cast<std::uint64_t>(id_of(principal));
    check_invariant(streams[owner] <= streams_max, "a principal keeps its quota of streams");
    check_invariant(queries[owner] <= queries_max, "a principal keeps its quota of queries");
    check_invariant(neighbors[owner] <= neighbors_max, "a principal keeps its quota of neighbors");
  }
}

void SequenceWorld::drain() {
  check_invariant(executor_.run_until([this] { return pending_.empty(); }),
                  "each request has a reply");
  executor_.run();
  check_invariant(intake_->waiting() == 0, "nothing waits after the last reply");
  check_invariant(room_.held == 0, "each request has given its room back");
  check_quotas();
}

void SequenceWorld::send_rows(std::size_t connection, std::uint8_t what, std::uint8_t a,
                              std::uint8_t b) {
  const std::size_t count = 1 + b % rows_a_batch;
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<double> coordinates;
  std::vector<std::uint32_t> tags;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back((a + i * b) % 16);
    times_us.push_back(time_us_ + b % 3 - 1);
    coordinates.insert(coordinates.end(), {static_cast<double>(a), static_cast<double>(b)});
    tags.push_back(1u << (b % 4));
  }
  ++time_us_;
  if (what % 3 == 0)
    send(connection,
         protocol::UpdateBatch{.ids = ids, .times_us = times_us, .coordinates = coordinates});
  else if (what % 3 == 1)
    send(connection, protocol::UpdateTags{ids, times_us, tags, tags});
  else
    send(connection, protocol::RemoveObjects{ids, times_us});
}

void SequenceWorld::send_queries(std::size_t connection, std::uint8_t a, std::uint8_t b) {
  protocol::PutQueries request{.stream = a % 2 == 0 ? "a" : "d1", .queries = {}};
  for (std::size_t i = 0; i < 1 + b % 2u; ++i)
    request.queries.push_back({.id = QueryId{(a + i) % 6},
                               .k = 1 + b % 24u,
                               .anchor = std::array{AnchorKind::fixed, AnchorKind::follow,
                                                    AnchorKind::every_object}[b % 3],
                               .position = {1, 1, 0},
                               .object = ObjectId{a % 16u},
                               .lease_ms = b % 5 == 0 ? 1000u : 0u});
  send(connection, request);
}

void SequenceWorld::step(std::uint8_t who, std::uint8_t what, std::uint8_t a, std::uint8_t b) {
  const std::size_t connection = who % connections;
  const char* const stream = a % 2 == 0 ? "a" : "d1";
  const std::array<std::uint64_t, 2> ids{a % 6u, b % 6u};
  if (clients_[connection].session == 0) {
    send(connection, protocol::Hello{.client = "fuzz"});
    drain();
  }
  switch (what % 20) {
    case 0:
      send(connection, protocol::Hello{.client = "again"});
      drain();
      break;
    case 1:
    case 2:
    case 3:
    case 4:
      send_rows(connection, static_cast<std::uint8_t>(what / 20), a, b);
      break;
    case 5:
      send(connection, protocol::PutStream{.name = stream, .on = ReportOn::order});
      break;
    case 6:
      send(connection, protocol::RemoveStream{stream});
      break;
    case 7:
    case 8:
      send_queries(connection, a, b);
      break;
    case 9:
      send(connection, protocol::RemoveQueries{stream, ids});
      break;
    case 10:
      send(connection, protocol::GetNeighbors{.questions = {{.id = QueryId{1}, .k = 1u + b}}});
      break;
    case 11:
      drain();
      send(connection, protocol::AdvanceTick{time_us_ += 10});
      drain();
      break;
    case 12:
      send(connection, protocol::GetSnapshot{.stream = stream});
      break;
    case 13:
      send(connection, protocol::GetObjects{.object_ids = ids});
      break;
    case 14:
      send(connection, protocol::ListStreams{});
      send(connection, protocol::ListQueries{.stream = stream});
      break;
    case 15:
      send(connection, protocol::GetStats{});
      break;
    case 16:
      send_again(connection);
      break;
    case 17:
      drain();
      send(connection, protocol::EndSession{});
      drain();
      clients_[connection] = {};
      break;
    case 18:
      send(connection, protocol::RemoveQueries{stream, ids}, 1 + b % 4u);  // leaves a gap
      break;
    case 19:
      executor_.advance(std::int64_t{b} * 10'000);
      requests_.expire(executor_.now_us());
      break;
  }
  if (b % 4 == 0) drain();
}

/// Bytes of an input, and then of its hash.
class Program {
 public:
  explicit Program(std::string_view input) : input_(input) {
    for (const char each : input)
      state_ = (state_ ^ static_cast<std::uint8_t>(each)) * 0x100000001b3;
  }
  bool has_input() const { return next_ < input_.size(); }
  std::uint8_t take() {
    if (has_input()) return static_cast<std::uint8_t>(input_[next_++]);
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::uint8_t>(state_ >> 32);
  }

 private:
  std::string_view input_;
  std::size_t next_ = 0;
  std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace

std::vector<std::string> seeds() {
  return {"", "1234", std::string(steps_min * 4, '\5'), std::string(steps_min * 4, '\7')};
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace starling::fuzz;
  spdlog::set_level(spdlog::level::off);
  Program program(text_of(data, size));
  SequenceWorld world;
  for (std::size_t step = 0; step < steps_max && (step < steps_min || program.has_input());
       ++step) {
    const std::uint8_t who = program.take();
    const std::uint8_t what = program.take();
    const std::uint8_t a = program.take();
    world.step(who, what, a, program.take());
  }
  world.drain();
  return 0;
}
