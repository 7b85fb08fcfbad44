// SPDX-License-Identifier: Apache-2.0
// Talks to the server over its sockets, without the client library: see published_bytes.hpp.
#include "tests/stream/support/published_bytes.hpp"

#include <map>
#include <stdexcept>
#include <tuple>

#include <zmq.hpp>

#include "starling/protocol/wire/tick_message.hpp"
#include "starling/protocol/wire/zmq_frames.hpp"
#include "tests/stream/support/raw_peer.hpp"
#include "tests/stream/support/running_server.hpp"
#include "tests/support/random.hpp"

namespace starling::stream {
namespace {

const std::vector<std::string> streams{"all", "members", "states"};

class Script {
 public:
  Script(const PublishedScript& script, std::unique_ptr<Engine> engine)
      : script_(script),
        random_(script.seed),
        server_(options_of(script), std::move(engine)),
        peer_(server_.context(), server_.endpoints().commands),
        session_(peer_.hello()),
        results_(server_.context(), zmq::socket_type::sub) {
    results_.set(zmq::sockopt::rcvhwm, 0);
    results_.set(zmq::sockopt::rcvtimeo, static_cast<int>(1000 * patience.count()));
    results_.set(zmq::sockopt::subscribe, "");
    results_.connect(server_.endpoints().results);
    if (!happens([&] { return server_.stat("starling_subscriptions") > 0; }))
      throw std::runtime_error("the subscription has not arrived");
    put_streams();
  }

  PublishedBytes run() {
    for (tau_us_ = 1; tau_us_ <= script_.ticks; ++tau_us_) {
      move_objects();
      if (random_.chance(0.7)) put_query();
      if (random_.chance(0.2))
        ask(protocol::RemoveQueries{streams[random_.below(streams.size())], query_});
      begin_tick();
    }
    while (ticks_done_ < script_.ticks) receive_reply();
    PublishedBytes published;
    for (std::size_t i = 0; i < streams.size() * static_cast<std::size_t>(script_.ticks); ++i) {
      const auto& [tick, bytes] = receive_message();
      published.push_back(bytes);
    }
    // Messages of one tick come in the order of streams.
    return published;
  }

 private:
  static ServerOptions options_of(const PublishedScript& script) {
    ServerOptions options = manual_options();
    options.processor.space.space = script.space;
    options.processor.objects.tombstone_ttl_us = 3;
    options.update_threads = script.update_threads;
    return options;
  }

  void put_streams() {
    ask(protocol::PutStream{.name = streams[0], .on = ReportOn::distance, .with = {}});
    ask(protocol::PutStream{.name = streams[1], .on = ReportOn::membership, .with = {}});
    ask(protocol::PutStream{
        .name = streams[2], .on = ReportOn::order, .with = {.position = true, .tags = true}});
    protocol::QuerySpec graph = nearest_to(1'000, 3, 0, 0);
    graph.anchor = AnchorKind::every_object;
    graph.subject = {.required = 1, .forbidden = 0};
    ask(protocol::PutQueries{streams[0], {graph}});
  }

  void put_query() {
    protocol::QuerySpec query = nearest_to(
        random_.below(40), 1 + static_cast<std::uint32_t>(random_.below(12)), place(), place());
    if (random_.chance(0.4)) {
      query.anchor = AnchorKind::follow;
      query.object = ObjectId{random_.below(script_.objects)};
    }
    if (random_.chance(0.3)) query.tags.required = 2;
    ask(protocol::PutQueries{streams[random_.below(streams.size())], {query}});
  }

  double place() { return static_cast<double>(random_.below(10'000)) / 100 - 50; }

  void move_objects() {
    std::vector<std::uint64_t> ids;
    std::vector<std::int64_t> times_us;
    std::vector<double> coordinates;
    std::vector<std::uint32_t> tags;
    const std::uint8_t components = script_.space == Space::planar3 ? 3 : 2;
    for (std::uint32_t i = 0; i < script_.objects; ++i) {
      if (random_.chance(0.5)) continue;
      ids.push_back(random_.below(script_.objects));
      times_us.push_back(tau_us_ - static_cast<std::int64_t>(random_.below(2)));
      for (int axis = 0; axis < components; ++axis) coordinates.push_back(place());
      tags.push_back(static_cast<std::uint32_t>(random_.below(4)));
    }
    protocol::UpdateBatch batch;
    batch.ids = ids;
    batch.times_us = times_us;
    batch.components = components;
    batch.coordinates = coordinates;
    batch.tags = tags;
    ask(batch);
    const std::vector<std::uint64_t> gone{random_.below(script_.objects)};
    const std::vector<std::int64_t> gone_us{tau_us_};
    ask(protocol::RemoveObjects{gone, gone_us});
  }

  /// Sends a request, and waits for its reply.
  void ask(const protocol::RequestBody& body) {
    peer_.send(
        encoded({.request_id = ++request_, .session = session_, .sequence = ++sequence_}, body));
    while (answered_ < request_) receive_reply();
  }

  /// Begins a tick. While the server is busy, waits for a tick and tries again.
  void begin_tick() {
    for (bool is_begun = false; !is_begun;) {
      busy_ = false;
      advances_[++request_] = ++sequence_;
      peer_.send(encoded({.request_id = request_, .session = session_, .sequence = sequence_},
                         protocol::AdvanceTick{tau_us_}));
      // A request that is answered at once comes back after the server has decided about the tick.
      const std::uint64_t probe = ++request_;
      peer_.send(encoded({.request_id = probe, .session = session_}, protocol::GetStats{}));
      while (answered_ < probe) receive_reply();
      is_begun = !busy_;
      if (is_begun) continue;
      --sequence_;
      for (const int done = ticks_done_; ticks_done_ == done;) receive_reply();
    }
  }

  void receive_reply() {
    const auto reply = peer_.receive();
    if (!reply) throw std::runtime_error("a reply has not arrived");
    const std::uint64_t request = reply->decoded.head.request_id;
    if (advances_.contains(request)) {
      if (reply->error() == protocol::ErrorCode::busy)
        busy_ = true;
      else if (reply->error() == protocol::ErrorCode::none)
        ++ticks_done_;
      else
        throw std::runtime_error("a tick was refused");
      return;
    }
    answered_ = std::max(answered_, request);
  }

  std::pair<Tick, std::string> receive_message() {
    std::vector<zmq::message_t> messages;
    do {
      if (!results_.recv(messages.emplace_back()))
        throw std::runtime_error("a message has not arrived");
    } while (messages.back().more());
    std::string bytes = messages[0].to_string();
    std::vector<protocol::AlignedBytes> frames;
    for (std::size_t i = 1; i < messages.size(); ++i)
      frames.push_back(protocol::to_aligned(messages[i]));
    const protocol::DecodedTick tick = protocol::decode_tick(frames);
    bytes += text_of(tick.header);
    for (std::size_t i = 2; i < messages.size(); ++i) bytes += messages[i].to_string();
    return {tick.header.tick, bytes};
  }

  const PublishedScript script_;
  test::Random random_;
  RunningServer server_;
  RawPeer peer_;
  std::uint64_t session_;
  zmq::socket_t results_;
  std::uint64_t request_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t answered_ = 0;  ///< the last answered request that is not for a tick
  std::map<std::uint64_t, std::uint64_t> advances_;  ///< [request id]: sequence number of a request
                                                     ///< for a tick
  bool busy_ = false;
  int ticks_done_ = 0;
  std::int64_t tau_us_ = 0;
  const std::vector<std::uint64_t> query_{5};
};

}  // namespace

std::string text_of(const protocol::TickHeader& header) {
  std::string text;
  const auto add = [&](auto number) { text += " " + std::to_string(number); };
  add(to_number(header.tick));
  add(header.tau_us);
  add(header.newest_time_us);
  add(header.sequence);
  add(header.failed ? 1 : 0);
  add(header.object_count);
  add(header.chunk_count);
  add(header.list_count);
  add(header.removal_count);
  add(static_cast<int>(header.on));
  add(header.with.distance * 4 + header.with.position * 2 + header.with.tags);
  add(header.stream_removed ? 1 : 0);
  return text;
}

PublishedBytes publish(const PublishedScript& script, std::unique_ptr<Engine> engine) {
  return Script(script, std::move(engine)).run();
}

}  // namespace starling::stream
