// SPDX-License-Identifier: Apache-2.0
// Sends the request bytes of sessions with version 0.2.0 again. The server must answer with the
// bytes that 0.2.0 sent, so that no older client breaks. tests/stream/fixtures has the recorded
// sessions. To record one, start a server of that version and set STARLING_RECORD to its endpoints
// and the file, see SessionRecorder.RecordsASession.
//
// Each line of a fixture is a sign and a frame in hexadecimal:
//   ">" a request, in which `recorded_session` stands for the session
//   "!" a request without a session, or bytes that are no request
//   "<" the reply
//   "=" a message on the results socket; its frames have blanks between them
// One reply was recorded anew. Since 0.3, the answer to a question about an object that the server
// does not have names the object, in a field that older clients skip.
// Random values are masked: the epoch is 0, and so are the session and the times of stages. The
// sentences of errors and the values of statistics are left out.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "starling/protocol/wire/text_id.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {
namespace {

using protocol::QuerySpec;

constexpr std::uint64_t recorded_session = 0x5e55101700000001;

struct Line {
  char sign = 0;
  std::vector<std::string> frames;
};
using Session = std::vector<Line>;

std::string replaced(std::string bytes, std::uint64_t from, std::uint64_t to) {
  const auto octets = std::bit_cast<std::array<char, 8>>(from);
  const std::string_view wanted(octets.data(), octets.size());
  for (std::size_t at = bytes.find(wanted); at != std::string::npos;
       at = bytes.find(wanted, at + 8))
    std::memcpy(bytes.data() + at, &to, sizeof(to));
  return bytes;
}

std::string bytes_of(const protocol::Frame& frame) {
  const auto bytes = frame.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One connection to each socket of a server.
class Wire {
 public:
  Wire(zmq::context_t& context, const std::string& commands, const std::string& results)
      : stats_(context, {.commands = commands, .name = "recorder"}),
        peer_(context, commands),
        subscriber_(context, zmq::socket_type::sub) {
    subscriber_.set(zmq::sockopt::linger, 0);
    subscriber_.set(zmq::sockopt::rcvtimeo,
                    static_cast<int>(std::chrono::milliseconds(patience).count()));
    subscriber_.set(zmq::sockopt::subscribe, "");
    subscriber_.connect(results);
    EXPECT_TRUE(happens([&] { return stat("starling_subscriptions") == 1; }));
  }

  /// Sends a request and returns the masked reply.
  std::string exchange(const Line& request) {
    std::string bytes = request.frames.front();
    if (request.sign == '>') bytes = replaced(std::move(bytes), recorded_session, session_);
    const auto reply = peer_.ask(bytes);
    if (!reply) return "no reply";
    return masked(*reply);
  }

  /// Returns the next message on the results socket, masked.
  Line message() {
    Line line{'=', {}};
    zmq::message_t part;
    do {
      if (!subscriber_.recv(part)) return line;
      line.frames.push_back(replaced(part.to_string(), epoch_, 0));
    } while (part.more());
    return line;
  }

 private:
  std::string masked(RawReply& reply) {
    const protocol::ReplyHead head = reply.decoded.head;
    if (auto* hello = std::get_if<protocol::HelloReply>(&reply.decoded.body)) {
      session_ = hello->session;
      epoch_ = hello->epoch;
      hello->session = hello->epoch = 0;
      hello->server = {};
      hello->limits.page_rows_max = 0;  // newer than 0.2.0, like `results`
      hello->results = {};
      return bytes_of(protocol::encode_hello_reply(head, *hello));
    }
    if (auto* error = std::get_if<protocol::ErrorReply>(&reply.decoded.body)) {
      EXPECT_FALSE(error->problem.sentence.empty());
      error->problem.sentence.clear();
      return bytes_of(protocol::encode_error(head, *error));
    }
    if (std::holds_alternative<protocol::Done>(reply.decoded.body))
      return bytes_of(protocol::encode_done(head));  // its sequence is newer than 0.2.0
    if (auto* done = std::get_if<protocol::TickDone>(&reply.decoded.body)) {
      done->build_ms = done->search_ms = done->diff_ms = 0;
      return bytes_of(protocol::encode_tick_done(head, *done));
    }
    if (auto* stats = std::get_if<protocol::Stats>(&reply.decoded.body)) {
      for (protocol::Counter& counter : stats->counters) counter.value = 0;
      return bytes_of(protocol::encode_stats(head, *stats));
    }
    return replaced(reply.message.to_string(), epoch_, 0);
  }

  double stat(std::string_view name) {
    for (const auto& [known, value] : stats_.get_stats().value())
      if (known == name) return value;
    return -1;
  }

  protocol::Client stats_;
  RawPeer peer_;
  zmq::socket_t subscriber_;
  std::uint64_t session_ = 0;
  std::uint64_t epoch_ = 0;
};

/// Collects the requests of a session, with ids and sequence numbers.
class Script {
 public:
  void ask(const protocol::RequestBody& body) {
    const bool is_sequenced = protocol::is_sequenced(body);
    if (is_sequenced) ++sequence_;
    add({.request_id = lines_.size(),
         .session = recorded_session,
         .sequence = is_sequenced ? sequence_ : 0},
        body);
  }
  /// Sends the request with another number than the next.
  void ask_as(std::uint64_t sequence, const protocol::RequestBody& body) {
    add({.request_id = lines_.size(), .session = recorded_session, .sequence = sequence}, body);
  }
  void send_raw(const std::string& bytes) { lines_.push_back({'!', {bytes}}); }
  void again() { lines_.push_back(Line(lines_.back())); }

  const Session& lines() const { return lines_; }

 private:
  void add(const protocol::RequestHead& head, const protocol::RequestBody& body) {
    lines_.push_back({'>', {encoded(head, body)}});
  }

  Session lines_;
  std::uint64_t sequence_ = 0;
};

/// Returns every kind of request of version 0.2.0. Their answers are of every kind.
Session planar_requests() {
  const std::uint64_t abc = to_number(protocol::id_of_text("abc"));
  const std::vector<std::uint64_t> ids{1, 2, 3, abc};
  const std::vector<std::int64_t> times_us{100, 100, 100, 100};
  const std::vector<double> places{1, 2, -3, 4.004, 5, -6, 700, 8};
  const std::vector<float> places_f32{1.5f, 2, -3, 4, 5, -6.25f, 7, 8};
  const std::vector<std::uint32_t> tags{1, 2, 3, 0};
  const std::vector<std::uint32_t> set{4, 0, 4, 0};
  const std::vector<std::uint32_t> clear{1, 2, 0, 8};
  const std::vector<std::int64_t> late_us{50, 200, 200, 200};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> wrong{0, 0, nan, 0, 1e9, 0, 9, 9};
  const std::span<const std::uint64_t> one_id(ids.data(), 1);
  const std::span<const std::int64_t> one_time(late_us.data() + 1, 1);
  const std::vector<std::uint64_t> known_and_unknown{1, 77};
  const QuerySpec fixed{.id = QueryId{1}, .k = 3, .position = {0, 0, 0}};
  const QuerySpec follow{
      .id = QueryId{2}, .k = 2, .anchor = AnchorKind::follow, .object = ObjectId{3}};
  const QuerySpec filtered{.id = QueryId{3},
                           .k = 4,
                           .position = {1, 1, 0},
                           .tags = {2, 4},
                           .distance_max_m = 12.5,
                           .age_max_us = 5000};
  const QuerySpec graph{
      .id = QueryId{4}, .k = 2, .anchor = AnchorKind::every_object, .subject = {0, 1}};
  QuerySpec leased = fixed;
  leased.id = QueryId{5};
  leased.lease_ms = 1;

  Script script;
  script.send_raw(encoded({}, protocol::Hello{.client = "recorder"}));
  script.ask(protocol::PutStream{"riders", ReportOn::order, {}});
  script.ask(protocol::PutStream{"drivers", ReportOn::membership, {true, true, true}});
  script.ask(protocol::PutQueries{"riders", {fixed, follow, filtered}});
  script.ask(protocol::PutQueries{"drivers", {graph}});
  script.ask(protocol::PutQueries{"riders", {leased}});
  script.ask(protocol::UpdateBatch{ids, times_us, 2, places, {}, tags});
  script.again();
  script.ask(protocol::UpdateBatch{ids, late_us, 2, wrong, {}, {}});
  script.ask(protocol::UpdateTags{ids, times_us, set, clear});
  script.ask(protocol::PutNames{ids, {"1", "b", "003", "abc"}});
  script.ask(protocol::GetNeighbors{{fixed, follow}});
  script.ask(protocol::AdvanceTick{1000});
  script.ask(protocol::PutQueries{"riders", {leased}});
  script.ask(protocol::GetSnapshot{"riders"});
  script.ask(protocol::GetSnapshot{"drivers", known_and_unknown});
  script.ask(protocol::GetNeighbors{{fixed, follow, filtered}});
  script.ask(protocol::GetNames{ids});
  script.ask(protocol::GetStats{});
  script.ask(protocol::ReportReceived{.stream = "riders", .epoch = 1, .sequence = 1});
  script.ask(protocol::UpdateBatch{ids, late_us, 2, {}, places_f32, {}});
  script.ask(protocol::RemoveObjects{one_id, one_time});
  script.ask(protocol::RemoveQueries{"riders", known_and_unknown});
  script.ask(protocol::PutStream{"drivers", ReportOn::distance, {true, false, true}});
  script.ask(protocol::AdvanceTick{2000});
  script.again();
  script.ask(protocol::AdvanceTick{1999});
  script.ask(protocol::AdvanceTick{3000});
  script.ask(protocol::PutQueries{"nobody", {}});
  script.ask(protocol::PutQueries{"riders", {{.id = QueryId{6}, .k = 0}}});
  script.ask(protocol::GetSnapshot{"nobody"});
  script.ask(protocol::GetSnapshot{"riders", {}, std::uint64_t{99} << 24});
  script.ask_as(99, protocol::AdvanceTick{4000});
  script.ask_as(0, protocol::RemoveObjects{one_id, {}});
  script.send_raw("this is no request");
  script.ask(protocol::RemoveObjects{one_id, {}});
  script.ask(protocol::AdvanceTick{4000});
  return script.lines();
}

Session vector_requests() {
  const std::vector<std::uint64_t> ids{1, 2, 3};
  const std::vector<std::int64_t> times_us{100, 100, 100};
  const std::vector<double> vectors{
      1, 2, 3, 4, -5, 6, 7, 8, std::numeric_limits<double>::infinity()};
  const std::vector<float> vectors_f32{1, 2, 3, 4, -5, 6, 7, 8, 9};
  const std::vector<std::int64_t> labels{5, no_label, -5};
  const std::vector<double> values{0.5, 1.5, no_value};
  const QuerySpec fixed{.id = QueryId{1},
                        .k = 2,
                        .vector = {1, 1, 1},
                        .vote = true,
                        .regress = RegressionWeights::distance};
  const QuerySpec follow{.id = QueryId{2},
                         .k = 3,
                         .anchor = AnchorKind::follow,
                         .object = ObjectId{1},
                         .regress = RegressionWeights::uniform};
  Script script;
  script.send_raw(encoded({}, protocol::Hello{.client = "recorder"}));
  script.ask(protocol::PutStream{"riders", ReportOn::order, {}});
  script.ask(protocol::PutQueries{"riders", {fixed, follow}});
  script.ask(protocol::UpdateBatch{.ids = ids,
                                   .times_us = times_us,
                                   .coordinates = vectors,
                                   .dimension = 3,
                                   .labels = labels,
                                   .values = values});
  script.ask(protocol::AdvanceTick{1000});
  script.ask(protocol::UpdateBatch{
      .ids = ids, .times_us = times_us, .coordinates_f32 = vectors_f32, .dimension = 3});
  script.ask(protocol::AdvanceTick{2000});
  script.ask(protocol::GetSnapshot{"riders"});
  script.ask(protocol::GetNeighbors{{fixed, follow}});
  script.ask(protocol::PutStream{"places", ReportOn::order, {.position = true}});
  return script.lines();
}

protocol::DecodedReply decoded(const std::string& bytes, protocol::AlignedBytes& frame) {
  frame = protocol::AlignedBytes(std::as_bytes(std::span(bytes)));
  return protocol::decode_reply(frame);
}

/// Sends the requests. Appends each request, its masked reply and the messages of its tick.
Session record(Wire& wire, const Session& requests) {
  Session session;
  std::set<std::string> streams;
  Tick last_tick{};
  for (const Line& request : requests) {
    const std::string reply = wire.exchange(request);
    session.push_back(request);
    session.push_back({'<', {reply}});
    protocol::AlignedBytes sent_frame(std::as_bytes(std::span(request.frames.front())));
    const auto sent = protocol::decode_request(sent_frame, {});
    protocol::AlignedBytes frame;
    const auto answer = decoded(reply, frame);
    if (const auto* stream = std::get_if<protocol::PutStream>(&sent.body);
        stream != nullptr && std::holds_alternative<protocol::Done>(answer.body))
      streams.emplace(stream->name);
    const auto* done = std::get_if<protocol::TickDone>(&answer.body);
    const bool is_new_tick = done != nullptr && done->tick > last_tick;
    if (is_new_tick) last_tick = done->tick;
    for (std::size_t count = 0; is_new_tick && count < streams.size(); ++count)
      session.push_back(wire.message());
  }
  return session;
}

std::string to_hex(const std::string& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
    bytes += static_cast<char>(std::stoi(text.substr(at, 2), nullptr, 16));
  return bytes;
}

Session read_session(const std::string& name) {
  std::ifstream file(STARLING_SOURCE_DIR "/tests/stream/fixtures/" + name);
  EXPECT_TRUE(file) << name;
  Session session;
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    std::string word;
    words >> word;
    if (word.empty() || word == "#") continue;
    Line line{word.front(), {}};
    while (words >> word) line.frames.push_back(from_hex(word));
    session.push_back(std::move(line));
  }
  return session;
}

/// Compares only the names of counters. A server may have more names than 0.2.0 had.
void expect_counters(const std::string& actual, const std::string& expected, std::size_t line) {
  protocol::AlignedBytes actual_frame;
  protocol::AlignedBytes expected_frame;
  const auto actual_reply = decoded(actual, actual_frame);
  const auto expected_reply = decoded(expected, expected_frame);
  std::set<std::string_view> names;
  for (const auto& counter : std::get<protocol::Stats>(actual_reply.body).counters)
    names.insert(counter.name);
  for (const auto& counter : std::get<protocol::Stats>(expected_reply.body).counters)
    EXPECT_TRUE(names.contains(counter.name)) << counter.name << ", line " << line;
}

void expect_same_answers(const ServerOptions& options, const std::string& name) {
  RunningServer server(options);
  Wire wire(server.context(), server.endpoints().commands, server.endpoints().results);
  const Session session = read_session(name);
  ASSERT_GT(session.size(), 10u);
  std::string reply;
  for (std::size_t at = 0; at < session.size(); ++at) {
    const Line& line = session[at];
    if (line.sign == '>' || line.sign == '!') {
      reply = wire.exchange(line);
    } else if (line.sign == '=') {
      EXPECT_EQ(wire.message().frames, line.frames) << "line " << at;
    } else {
      const std::string& expected = line.frames.front();
      protocol::AlignedBytes frame;
      if (std::holds_alternative<protocol::Stats>(decoded(expected, frame).body))
        expect_counters(reply, expected, at);
      else
        EXPECT_EQ(to_hex(reply), to_hex(expected)) << "line " << at;
    }
  }
}

ServerOptions vector_options() {
  ServerOptions options = manual_options();
  options.processor.space.space = Space::vector;
  options.processor.space.dimension = 3;
  return options;
}

TEST(RecordedSession, AServerAnswersAsVersion020DidInAPlane) {
  expect_same_answers(manual_options(), "session_0_2_0_planar2.txt");
}

TEST(RecordedSession, AServerAnswersAsVersion020DidWithVectors) {
  expect_same_answers(vector_options(), "session_0_2_0_vector3.txt");
}

// Without STARLING_RECORD, this test records a session with today's server and checks that the
// recording is complete. With STARLING_RECORD="planar2|vector COMMANDS RESULTS FILE" it records a
// session with the server at these endpoints, and writes the file. Start that server with
// --tick manual --threads 1, and --space planar2 or --space vector:3.
TEST(SessionRecorder, RecordsASession) {
  zmq::context_t context;
  if (const char* asked = std::getenv("STARLING_RECORD"); asked != nullptr) {
    std::istringstream words(asked);
    std::string space;
    std::string commands;
    std::string results;
    std::string path;
    ASSERT_TRUE(words >> space >> commands >> results >> path);
    Wire wire(context, commands, results);
    std::ofstream file(path);
    for (const Line& line :
         record(wire, space == "planar2" ? planar_requests() : vector_requests())) {
      file << line.sign;
      for (const std::string& frame : line.frames) file << ' ' << to_hex(frame);
      file << '\n';
    }
    ASSERT_TRUE(file.flush());
    return;
  }
  RunningServer server;
  Wire wire(server.context(), server.endpoints().commands, server.endpoints().results);
  const Session session = record(wire, planar_requests());
  const auto count = [&](char sign) { return std::ranges::count(session, sign, &Line::sign); };
  EXPECT_EQ(count('<'), count('>') + count('!'));
  EXPECT_EQ(count('='), 8);  // four ticks of two streams
  std::set<std::size_t> kinds;
  for (const Line& line : session)
    if (line.sign == '>' || line.sign == '!') {
      const protocol::AlignedBytes frame(std::as_bytes(std::span(line.frames.front())));
      const auto request = protocol::decode_request(frame, {});
      if (!request.problem) kinds.insert(request.body.index());
    }
  EXPECT_EQ(kinds.size(), 14u);  // the kinds of version 0.2.0
}

}  // namespace
}  // namespace starling::stream
