// SPDX-License-Identifier: Apache-2.0
// A client of a running server (`starling serve`): puts a stream with one query, sends three taxis,
// and prints the two nearest when the server reports them. Its argument is the commands endpoint.
#include <ctime>
#include <iostream>
#include <stdexcept>

#include <starling/protocol/client/restoring_client.hpp>
#include <starling/protocol/client/subscriber.hpp>
#include <zmq.hpp>

int main(int argument_count, char** arguments) try {
  namespace wire = starling::protocol;
  zmq::context_t context;
  wire::ClientOptions options{.name = "examples/client"};
  if (argument_count == 2) options.commands = arguments[1];
  wire::RestoringClient client(context, {.client = options});
  client.put_stream({.name = "riders", .with = {.distance = true}}).value();
  const wire::QuerySpec rider{.id = starling::QueryId{7}, .k = 2, .position = {100, 100, 0}};
  if (client.put_queries({.stream = "riders", .queries = {rider}}).value().rejected != 0)
    throw std::runtime_error("the server rejected the query");
  wire::Subscriber riders(context, {.client = options, .subscription = {.stream = "riders"}});
  const std::vector<std::uint64_t> taxis{11, 12, 13};
  const std::vector<std::int64_t> times_us(3, std::time(nullptr) * std::int64_t{1'000'000});
  const std::vector<double> metres{100, 90, 400, 400, 110, 100.5};  // x and y of each taxi
  client.update({.ids = taxis, .times_us = times_us, .coordinates = metres}).value();
  for (int polls = 0; polls < 100; ++polls) {
    riders.poll(/*timeout_ms=*/100);
    const auto list = riders.state().lists().find({.query = rider.id});
    if (list == riders.state().lists().end() || list->second.neighbors.size() < 2) continue;
    for (const auto& taxi : list->second.neighbors)
      std::cout << "taxi " << to_number(taxi.object) << " at " << taxi.distance_m << " m\n";
    return 0;
  }
  throw std::runtime_error(
      "no list came in ten seconds; with --tick manual a server does not tick");
} catch (const std::exception& error) {
  std::cerr << "client: " << error.what() << '\n';
  return 1;
}
