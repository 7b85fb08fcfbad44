/* SPDX-License-Identifier: Apache-2.0 */
/* A client of a running server: puts a stream and one standing query, sends the positions of three
 * taxis, and reads the list of the two nearest taxis when the server reports it.
 *   starling serve &
 *   watch [COMMANDS]      default: tcp://127.0.0.1:7411
 * Exits with 0 if the list is the expected one. */
#include <starling.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void check(starling_code code) {
  starling_error error = {sizeof(error), 0, NULL, NULL, NULL, 0};
  if (code == STARLING_OK) return;
  starling_last_error(&error);
  fprintf(stderr, "watch: %s%s%s\n", error.name, *error.name ? ": " : "", error.sentence);
  exit(1);
}

static starling_client* connect_to(const char* commands) {
  starling_client_options options;
  starling_client* client;
  check(starling_client_options_init(&options, sizeof(options)));
  options.commands = commands;
  options.name = "examples/c/watch";
  check(starling_client_connect(&options, &client));
  return client;
}

/* The client keeps the stream and the query, and puts them again if the server restarts. */
static void put_query(starling_client* client) {
  starling_stream stream;
  starling_query rider;
  starling_counts counts = {sizeof(counts), 0, 0, 0};
  check(starling_stream_init(&stream, sizeof(stream)));
  stream.name = "riders";
  check(starling_client_put_stream(client, &stream));
  check(starling_query_init(&rider, sizeof(rider)));
  rider.id = 7;
  rider.k = 2;
  rider.position[0] = rider.position[1] = 100; /* metres: the server's space is planar2 */
  check(starling_client_put_queries(client, "riders", &rider, 1, &counts));
  if (counts.rejected != 0) exit(1);
}

static void send_positions(starling_client* client) {
  const uint64_t ids[] = {11, 12, 13};
  const double coordinates[] = {100, 90, 400, 400, 110, 100.5}; /* x and y of each taxi */
  starling_rows rows = {0};
  starling_counts counts = {sizeof(counts), 0, 0, 0};
  rows.size = sizeof(rows);
  rows.count = 3;
  rows.ids = ids;
  rows.time_us = (int64_t)time(NULL) * 1000000;
  rows.coordinates = coordinates;
  rows.components = 2;
  check(starling_client_update(client, &rows, &counts));
  printf("%lu positions accepted, %lu late\n", (unsigned long)counts.accepted,
         (unsigned long)counts.late);
}

/* Prints the lists of an event. Returns whether the rider has got the two expected taxis. */
static int read_lists(const starling_result* result) {
  starling_lists lists = {0};
  uint64_t i, j;
  int is_expected = 0;
  lists.size = sizeof(lists);
  check(starling_result_lists(result, 0, &lists));
  for (i = 0; i < lists.list_count; ++i) {
    const uint64_t first = lists.offsets[i], end = lists.offsets[i + 1];
    for (j = first; j < end; ++j)
      printf("rider %lu: taxi %lu at %.1f m\n", (unsigned long)lists.query_ids[i],
             (unsigned long)lists.object_ids[j], lists.distances[j]);
    if (end - first == 2)
      is_expected = lists.object_ids[first] == 11 && lists.object_ids[first + 1] == 13;
  }
  return is_expected;
}

/* Waits for at most 100 events. The library itself handles gaps and restarts of the server. */
static int await_list(starling_subscription* subscription) {
  int is_expected = 0, events;
  for (events = 0; events < 100 && !is_expected; ++events) {
    starling_event event = {.size = sizeof(event)};
    starling_result* result;
    check(starling_subscription_next(subscription, /*timeout_ms=*/1000, &event, &result));
    if (*event.obstacle) fprintf(stderr, "watch: %s\n", event.obstacle);
    if (result != NULL) is_expected = read_lists(result); /* the lists of a snapshot or a tick */
    check(starling_result_destroy(result));
  }
  return is_expected;
}

int main(int argument_count, char** arguments) {
  const char* const commands = argument_count == 2 ? arguments[1] : "tcp://127.0.0.1:7411";
  starling_client* const client = connect_to(commands);
  starling_subscription_options options;
  starling_subscription* subscription;
  int is_expected;
  put_query(client);
  check(starling_subscription_options_init(&options, sizeof(options)));
  options.commands = commands;
  options.stream = "riders";
  check(starling_subscription_open(&options, &subscription));
  send_positions(client);
  is_expected = await_list(subscription);
  check(starling_subscription_close(subscription));
  check(starling_client_destroy(client));
  return is_expected ? 0 : 1;
}
