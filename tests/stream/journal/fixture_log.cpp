// SPDX-License-Identifier: Apache-2.0
// Sends the requests of the sessions that the logs in fixtures/ have: see fixture_log.hpp.
#include "tests/stream/journal/fixture_log.hpp"

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <variant>

#include "starling/log/system_files.hpp"
#include "starling/protocol/wire/text_id.hpp"
#include "starling/stream/journal/record_codec.hpp"
#include "tests/stream/journal/journal_world.hpp"
#include "tests/stream/journal/told_state.hpp"
#include "tests/support/ahead_engine.hpp"

namespace starling::stream {

namespace {

constexpr std::uint64_t failing_tick = 4;
constexpr std::int64_t second_us = 1'000'000;

bool is_vector(const std::string& name) {
  return name == "vector3";
}

protocol::QuerySpec vector_query(std::uint64_t id, std::vector<float> vector) {
  return {.id = QueryId{id}, .k = 2, .vector = std::move(vector), .vote = true};
}

protocol::QuerySpec question_of(const std::string& name) {
  return is_vector(name) ? vector_query(0, {1, 1, 1}) : nearest_to(0, 5, 0, 0);
}

/// Sends the requests of a session, each with its number, and notes the replies.
class Requests {
 public:
  Requests(RawPeer& peer, std::uint64_t session) : peer_(peer), session_(session) {}

  void send(const protocol::RequestBody& body) {
    const auto reply =
        peer_.ask(encoded({.request_id = 1, .session = session_, .sequence = ++sequence_}, body));
    if (reply == nullptr) throw NoReply();
    replies_.push_back("request " + std::to_string(sequence_) + ": " + told_reply(*reply));
  }
  const std::vector<std::string>& replies() const { return replies_; }

 private:
  RawPeer& peer_;
  std::uint64_t session_;
  std::uint64_t sequence_ = 0;
  std::vector<std::string> replies_;
};

void send_objects(Requests& requests) {
  const std::array<std::uint64_t, 6> ids{1, 2, 3, 4, 5, 6};
  const std::array<std::int64_t, 6> times_us{100, 200, 300, 400, 500, 600};
  const std::array<double, 12> places{0, 0, 1.25, 0, 0, 2.5, -3, 4, 1e300, 0, 7, 7};
  const std::array<std::uint32_t, 6> tags{1, 2, 3, 1, 1, 0};
  requests.send(
      protocol::UpdateBatch{.ids = ids, .times_us = times_us, .coordinates = places, .tags = tags});
}

/// The first session: every type of change, a tick that fails, and requests that are refused.
void send_first(Requests& requests) {
  requests.send(protocol::AdvanceTick{second_us / 2});  // leases count from its time
  requests.send(protocol::PutStream{.name = "near",
                                    .with = {.distance = true, .position = true, .tags = true}});
  protocol::QuerySpec follow = nearest_to(2, 2, 0, 0);
  follow.anchor = AnchorKind::follow;
  follow.object = ObjectId{2};
  follow.tags.forbidden = 8;
  protocol::QuerySpec graph = nearest_to(3, 1, 0, 0);
  graph.anchor = AnchorKind::every_object;
  graph.subject.required = 1;
  protocol::QuerySpec leased = nearest_to(4, 1, 5, 5);
  leased.lease_ms = 60'000;
  leased.distance_max_m = 9;
  requests.send(protocol::PutQueries{
      "near", {nearest_to(1, 3, 0.5, 0), follow, graph, leased, nearest_to(5, 1, 1, 1)}});
  send_objects(requests);
  const std::array<std::uint64_t, 2> named{to_number(protocol::id_of_text(told_name(1))), 1};
  requests.send(protocol::PutNames{named, {told_name(1), told_name(1)}});
  requests.send(protocol::AdvanceTick{second_us});
  const std::array<std::uint64_t, 2> tagged{2, 99};
  const std::array<std::int64_t, 2> tag_times_us{700, 700};
  const std::array<std::uint32_t, 2> bits{16, 16};
  const std::array<std::uint32_t, 2> cleared{2, 2};
  requests.send(protocol::UpdateTags{tagged, tag_times_us, bits, cleared});
  const std::array<std::uint64_t, 1> removed{6};
  const std::array<std::int64_t, 1> removed_at_us{900};
  requests.send(protocol::RemoveObjects{removed, removed_at_us});
  requests.send(protocol::AdvanceTick{2 * second_us});
  const std::array<std::uint64_t, 2> moved{1, 3};
  const std::array<std::int64_t, 2> moved_at_us{50, 1000};
  const std::array<double, 4> to{9, 9, 0.25, 0.25};
  requests.send(protocol::UpdateBatch{.ids = moved, .times_us = moved_at_us, .coordinates = to});
  requests.send(protocol::AdvanceTick{3 * second_us});  // this tick fails
  requests.send(protocol::PutStream{.name = "gone", .on = ReportOn::membership});
  requests.send(protocol::RemoveStream{"gone"});
  const std::array<std::uint64_t, 1> query{5};
  requests.send(protocol::RemoveQueries{"near", query});
  requests.send(protocol::PutQueries{"never made", {nearest_to(1, 1, 0, 0)}});
  requests.send(protocol::AdvanceTick{4 * second_us});
}

/// The second session sends its only request to a server that ticks by the clock.
void send_second(Requests& requests) {
  protocol::QuerySpec leased = nearest_to(7, 1, 3, 3);
  leased.lease_ms = 30'000;
  requests.send(protocol::PutQueries{"near", {leased}});
}

void send_vectors(Requests& requests) {
  requests.send(protocol::PutStream{.name = "alike"});
  requests.send(protocol::PutQueries{"alike", {vector_query(1, {1, 0, 0.5f})}});
  const std::array<std::uint64_t, 3> ids{4, 9, 11};
  const std::array<std::int64_t, 3> times_us{10, 20, 30};
  const std::array<float, 9> components{1, 2, 3, -1, 0.5f, 0, 0, 0, 0};
  const std::array<Label, 3> labels{5, 6, 7};
  protocol::UpdateBatch batch{.ids = ids, .times_us = times_us};
  batch.coordinates_f32 = components;
  batch.dimension = 3;
  batch.labels = labels;
  requests.send(batch);
  requests.send(protocol::AdvanceTick{second_us});
}

/// Opens a third session and does not use it, so a fourth session replaces it. Ends the fourth.
void open_others(RawPeer& peer) {
  peer.hello();
  const std::uint64_t last = peer.hello();
  peer.ask(encoded({.request_id = 1, .session = last}, protocol::EndSession{}));
}

void write_with_manual_ticks(const ServerOptions& options, const std::string& name) {
  const auto shared = std::make_shared<test::AheadEngine::Shared>();
  if (!is_vector(name)) shared->failing.insert(Tick{failing_tick});
  RunningServer server(
      options, std::make_unique<test::AheadEngine>(make_engine(options.processor.space), shared));
  RawPeer peer(server.context(), server.endpoints().commands);
  Requests first(peer, peer.hello());
  if (is_vector(name)) return send_vectors(first);
  send_first(first);
  const std::uint64_t second = peer.hello();
  peer.ask(encoded({.request_id = 1, .session = second}, protocol::GetStats{}));
  open_others(peer);
}

/// Writes ticks of the clock, and leases that move when the clock is set.
void write_with_a_clock(ServerOptions options, std::uint64_t session) {
  std::atomic<std::int64_t> passed_us{0};
  std::atomic<std::int64_t> set_us{0};
  options.tick_period_us = second_us / 10;
  options.clock_step_wait_us = second_us;
  options.boot_now_us = [&] { return passed_us.load(); };
  options.wall_now_us = [&] { return 5 * second_us + passed_us + set_us; };
  RunningServer server(options);
  RawPeer peer(server.context(), server.endpoints().commands);
  peer.ask(encoded({}, protocol::Hello{.client = "raw", .resume_session = session}));
  Requests requests(peer, session);
  send_second(requests);
  const auto is_at = [&](std::int64_t offset_s) {
    return happens([&] {
      return server.stat("starling_clock_offset_seconds") == static_cast<double>(offset_s);
    });
  };
  set_us = 3600 * second_us;
  if (!is_at(3600)) throw std::runtime_error("the step is not seen");
  passed_us = 2 * second_us;
  if (!is_at(0)) throw std::runtime_error("the step is not followed");
}

/// Returns the sessions of the log that are open at its end, in the order in which they began.
std::vector<std::uint64_t> sessions_of(const std::string& folder) {
  std::vector<std::uint64_t> sessions;
  log::read_log(*log::open_folder(folder, log::FolderUse::read), [&](const log::Group& group) {
    for (const log::Record& record : group.records) {
      const JournalRecord decoded = decode(record);
      if (const auto* opened = std::get_if<SessionOpenedRecord>(&decoded)) {
        std::erase(sessions, opened->replaced);
        sessions.push_back(opened->session);
      } else if (const auto* ended = std::get_if<SessionEndedRecord>(&decoded)) {
        std::erase(sessions, ended->session);
      }
    }
  });
  return sessions;
}

std::string without_zeros(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.resize((bytes.find_last_not_of('\0') + 8) / 8 * 8);  // records have multiples of 8 bytes
  return bytes;
}

}  // namespace

std::filesystem::path fixture_folder(const std::string& name) {
  return std::filesystem::path(STARLING_JOURNAL_FIXTURES) / "version_1" / name;
}

ServerOptions fixture_options(const std::string& name, const std::string& folder) {
  ServerOptions options = journal_options(folder);
  options.journal.segment_bytes = 4096;
  options.sessions.sessions_max = 3;
  options.processor.objects.tombstone_ttl_us = 7200 * second_us;
  if (is_vector(name))
    options.processor.space = {.space = Space::vector, .dimension = 3, .metric = Metric::cosine};
  return options;
}

void copy_fixture(const std::string& name, const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(fixture_folder(name)))
    if (entry.path().extension() == ".log")
      std::filesystem::copy_file(entry.path(), folder / entry.path().filename());
}

void write_fixture(const std::string& name) {
  const JournalFolder folder;
  const ServerOptions options = fixture_options(name, folder.path());
  write_with_manual_ticks(options, name);
  if (!is_vector(name)) write_with_a_clock(options, sessions_of(folder.path()).at(1));
  std::filesystem::remove_all(fixture_folder(name));
  std::filesystem::create_directories(fixture_folder(name));
  for (const auto& path : folder.files())
    std::ofstream(fixture_folder(name) / path.filename(), std::ios::binary) << without_zeros(path);
}

std::vector<std::string> told_by_fixture(const std::string& name) {
  const JournalFolder folder;
  copy_fixture(name, folder.path());
  const std::vector<std::uint64_t> sessions = sessions_of(folder.path());
  const RunningServer server(fixture_options(name, folder.path()));
  RawPeer peer(server.context(), server.endpoints().commands);
  std::vector<std::string> told;
  const auto resume = [&](std::size_t index) {
    const auto reply = peer.ask(
        encoded({}, protocol::Hello{.client = "raw", .resume_session = sessions.at(index)}));
    const auto& hello = std::get<protocol::HelloReply>(reply->decoded.body);
    told.push_back("session " + std::to_string(index) + " resumed " +
                   std::to_string(hello.resumed) + " last request " +
                   std::to_string(hello.last_sequence) + " epoch " + std::to_string(hello.epoch));
    return Requests(peer, hello.session);
  };
  const auto send_again = [&](std::size_t index, void (*send)(Requests&)) {
    Requests requests = resume(index);
    send(requests);
    told.insert(told.end(), requests.replies().begin(), requests.replies().end());
  };
  send_again(0, is_vector(name) ? send_vectors : send_first);
  if (!is_vector(name)) send_again(1, send_second);
  const auto ask = [&](const protocol::RequestBody& body) {
    return peer.ask(encoded({.request_id = 2, .session = sessions[0]}, body));
  };
  const auto state = told_state(ask, 16, question_of(name));
  told.insert(told.end(), state.begin(), state.end());
  return told;
}

}  // namespace starling::stream
