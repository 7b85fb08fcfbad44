// SPDX-License-Identifier: Apache-2.0
// A reader of the events of one stream, written from docs/http.md. It rebuilds the stream's lists
// from events alone, and fails the test if an event is missing without a gap.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/beast/core.hpp>
#include <simdjson.h>

#include "starling/knn/words/space.hpp"
#include "starling/protocol/client/list_store.hpp"
#include "tests/stream/support/http_client.hpp"

namespace starling::stream {

void read_lists(const simdjson::dom::element& array, Space space, protocol::ListStore& lists);

class EventClient {
 public:
  struct Options {
    std::string endpoint;
    std::string stream;
    Space space = Space::planar2;
    int receive_bytes = 0;  ///< size of the system's buffer; 0: the system's choice
    HttpClient::Fields fields{};
    bool keeps_texts = false;  ///< whether texts() has the texts
  };
  /// Counts over all connections.
  struct Counts {
    std::uint64_t events = 0;
    std::uint64_t snapshots = 0;
    std::uint64_t snapshot_parts = 0;
    std::uint64_t ticks = 0;
    std::uint64_t failed_ticks = 0;
    std::uint64_t gaps = 0;
    std::uint64_t missed = 0;
    std::uint64_t restarts = 0;
    std::uint64_t removals = 0;  ///< how often the stream was removed
    std::uint64_t refusals = 0;
    std::uint64_t comments = 0;
  };

  explicit EventClient(Options options) : options_(std::move(options)) {}

  /// Connects and sends the request, with the id of the last event if there is one. Returns the
  /// status of the answer, or 0 if there is no answer.
  unsigned connect();
  void disconnect();
  /// Uses another address from the next connect() on.
  void move_to(std::string endpoint) { options_.endpoint = std::move(endpoint); }

  /// Reads until `is_enough` returns true. Returns false if the connection ends before, or if
  /// nothing comes for too long.
  bool read_until(const std::function<bool()>& is_enough);
  /// Reads until the server ends the connection.
  bool read_to_end();

  const Counts& counts() const { return counts_; }
  const protocol::ListStore& lists() const { return lists_; }
  /// Returns true if lists are held and no tick is known to be missing.
  bool is_live() const { return is_live_; }
  std::uint64_t sequence() const { return sequence_; }
  std::int64_t time_us() const { return time_us_; }
  const std::string& last_id() const { return last_id_; }
  void set_last_id(std::string id) { last_id_ = std::move(id); }
  const std::string& answer() const { return answer_; }  ///< the head, and the body if refused
  const std::string& last_data() const { return data_; }
  const std::string& texts() const { return texts_; }  ///< the texts of all events, if keeps_texts

 private:
  bool receive();
  bool take_event();
  void take_line(std::string_view line);
  void dispatch();
  void take_snapshot(const simdjson::dom::element& root);
  void take_tick(const simdjson::dom::element& root);
  void take_gap(const simdjson::dom::element& root);

  Options options_;
  boost::asio::io_context loop_;
  std::unique_ptr<boost::beast::tcp_stream> stream_;
  std::string received_;
  std::string answer_;
  std::string texts_;

  std::string type_;  ///< type of the event that is being read
  std::string id_;
  std::string data_;

  std::string last_id_;
  simdjson::dom::parser parser_;
  protocol::ListStore lists_;
  protocol::ListStore incoming_;
  std::uint64_t next_part_ = 1;
  std::uint64_t sequence_ = 0;
  std::int64_t time_us_ = 0;
  bool is_live_ = false;
  Counts counts_;
};

}  // namespace starling::stream
