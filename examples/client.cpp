// SPDX-License-Identifier: Apache-2.0
// A client of a running server: puts a stream and one standing query, sends the positions of three
// taxis, and reads the list of the two nearest taxis when the server reports it.
//   starling serve &
//   client [COMMANDS]      default: tcp://127.0.0.1:7411
// Exits with 0 if the list is the expected one.
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <vector>

#include <starling/protocol/client/restoring_client.hpp>
#include <starling/protocol/client/subscriber.hpp>
#include <zmq.hpp>

namespace {

namespace wire = starling::protocol;

std::int64_t now_us() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
}

/// A stream reports a query's list at the query's first tick and whenever its order changes. The
/// client puts both again if the server restarts.
void put_query(wire::RestoringClient& client) {
  client.put_stream({.name = "riders", .on = starling::ReportOn::order, .with = {.distance = true}})
      .value();
  wire::QuerySpec rider{.id = starling::QueryId{7}, .k = 2};
  rider.position = {100, 100, 0};  // in metres, because the server's space is planar2
  const auto reply = client.put_queries({.stream = "riders", .queries = {rider}}).value();
  if (reply.rejected != 0) throw std::runtime_error("the server rejected the query");
}

/// `coordinates` has the x and the y of each taxi, one taxi after another.
void send_positions(wire::RestoringClient& client) {
  const std::vector<std::uint64_t> ids{11, 12, 13};
  const std::vector<double> coordinates{100, 90, 400, 400, 110, 100.5};
  const std::vector<std::int64_t> times_us(ids.size(), now_us());
  const auto reply =
      client.update({.ids = ids, .times_us = times_us, .coordinates = coordinates}).value();
  std::cout << reply.accepted << " positions accepted, " << reply.late << " late\n";
}

/// Returns the rider's list as soon as it has two neighbours; std::nullopt after ten seconds.
std::optional<wire::HeldList> await_list(wire::Subscriber& subscriber) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    subscriber.poll(/*timeout_ms=*/100);
    const auto& lists = subscriber.state().lists();
    const auto found = lists.find({.query = starling::QueryId{7}});
    if (found != lists.end() && found->second.neighbors.size() == 2) return found->second;
  }
  return {};
}

bool run(const char* commands) {
  zmq::context_t context;
  const wire::ClientOptions options{.commands = commands, .name = "examples/client"};
  wire::RestoringClient client(context, {.client = options});
  put_query(client);
  wire::Subscriber subscriber(context, {.client = options, .subscription = {.stream = "riders"}});
  send_positions(client);
  const auto list = await_list(subscriber);
  if (!list)
    throw std::runtime_error(
        "no list came within ten seconds; a server that was started with --tick manual does not "
        "tick");
  for (const auto& neighbor : list->neighbors)
    std::cout << "taxi " << to_number(neighbor.object) << " at " << neighbor.distance_m << " m\n";
  return list->neighbors[0].object == starling::ObjectId{11} &&
         list->neighbors[1].object == starling::ObjectId{13};
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    return run(argument_count == 2 ? arguments[1] : "tcp://127.0.0.1:7411") ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "client: " << error.what() << '\n';
    return 1;
  }
}
