// SPDX-License-Identifier: Apache-2.0
// Each reader has a ZeroMQ context of its own, as another process would have: see list_readers.hpp.
#include "starling/bench/server/list_readers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include <zmq.hpp>

#include "starling/bench/server/server_load.hpp"
#include "starling/knn/base/clocks.hpp"
#include "starling/protocol/client/connect.hpp"
#include "starling/protocol/client/subscription.hpp"
#include "starling/protocol/wire/tick_message.hpp"
#include "starling/protocol/wire/zmq_frames.hpp"

namespace starling::bench {

class ListReaders::Reader {
 public:
  struct Message {
    std::uint64_t sequence = 0;
    HeldTick tick;
  };

  Reader(const ServerChild& server, const std::string& stream)
      : socket_(context_, zmq::socket_type::sub) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::subscribe, protocol::topic_of(stream));
    protocol::use_key(socket_, server.key());
    socket_.connect(server.results());
    thread_ = std::thread([this] {
      while (!stopping_)
        if (protocol::wait_until_readable(socket_, Clock::now() + std::chrono::milliseconds(50)))
          while (const auto tick = receive_tick_now(socket_)) note(*tick);
    });
  }
  ~Reader() { stop(); }

  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::int64_t newest_us() const { return newest_us_; }
  const std::vector<Message>& messages() const { return messages_; }
  std::uint64_t malformed() const { return malformed_; }
  const std::vector<std::size_t>& frame_bytes() const { return frame_bytes_; }

 private:
  void note(const protocol::ReceivedTick& received) {
    if (received.tick.problem) {
      ++malformed_;
      return;
    }
    const protocol::TickHeader& header = received.tick.header;
    for (const protocol::ListChunk& chunk : received.tick.chunks)
      for (const std::uint64_t id : chunk.object_ids) ids_sum_ += id;  // reads every list
    messages_.push_back({.sequence = header.sequence,
                         .tick = {.tau_us = header.tau_us,
                                  .held_us = wall_now_us(),
                                  .lists = header.list_count,
                                  .bytes = received.bytes}});
    if (received.bytes > bytes_most_) {
      bytes_most_ = received.bytes;
      frame_bytes_.clear();
      for (const protocol::AlignedBytes& frame : received.frames)
        frame_bytes_.push_back(frame.bytes().size());
    }
    newest_us_ = header.tau_us;
  }

  zmq::context_t context_;
  zmq::socket_t socket_;
  std::vector<Message> messages_;
  std::size_t bytes_most_ = 0;
  /// Bytes of each frame of the message with bytes_most_ bytes.
  std::vector<std::size_t> frame_bytes_;
  std::uint64_t ids_sum_ = 0;
  std::uint64_t malformed_ = 0;
  std::atomic<std::int64_t> newest_us_{std::numeric_limits<std::int64_t>::min()};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

ListReaders::ListReaders(const ServerChild& server, const std::vector<std::string>& streams) {
  for (const std::string& stream : streams)
    readers_.push_back(std::make_unique<Reader>(server, stream));
}

ListReaders::~ListReaders() = default;

bool ListReaders::have_tick_of(std::int64_t tau_us) const {
  return std::ranges::all_of(readers_,
                             [&](const auto& reader) { return reader->newest_us() >= tau_us; });
}

void ListReaders::stop() {
  for (const auto& reader : readers_) reader->stop();
}

std::vector<HeldTick> ListReaders::ticks() const {
  std::vector<HeldTick> held;
  for (const Reader::Message& message : readers_.front()->messages()) held.push_back(message.tick);
  for (std::size_t i = 1; i < readers_.size(); ++i) {
    const std::vector<Reader::Message>& others = readers_[i]->messages();
    std::erase_if(held, [&, other = others.begin()](HeldTick& tick) mutable {
      while (other != others.end() && other->tick.tau_us < tick.tau_us) ++other;
      if (other == others.end() || other->tick.tau_us != tick.tau_us) return true;
      tick.held_us = std::max(tick.held_us, other->tick.held_us);
      tick.lists += other->tick.lists;
      tick.bytes += other->tick.bytes;
      return false;
    });
  }
  return held;
}

std::uint64_t ListReaders::lost(std::int64_t begin_us, std::int64_t end_us) const {
  std::uint64_t lost = 0;
  for (const auto& reader : readers_) {
    const Reader::Message* last = nullptr;
    for (const Reader::Message& message : reader->messages()) {
      if (message.tick.tau_us < begin_us || message.tick.tau_us >= end_us) continue;
      if (last != nullptr) lost += message.sequence - last->sequence - 1;
      last = &message;
    }
    lost += reader->malformed();
  }
  return lost;
}

std::vector<std::vector<std::size_t>> ListReaders::frame_bytes() const {
  std::vector<std::vector<std::size_t>> bytes;
  for (const auto& reader : readers_) bytes.push_back(reader->frame_bytes());
  return bytes;
}

}  // namespace starling::bench
