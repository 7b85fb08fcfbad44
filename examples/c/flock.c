/* SPDX-License-Identifier: Apache-2.0 */
/* A flock of 1,000 birds with the engine in this process. In each tick, every bird steers by its
 * seven nearest neighbours. The lists of all birds come from one query, as arrays. Exits with 0 if
 * every bird has got its seven neighbours. */
#include <math.h>
#include <starling.h>
#include <stdio.h>
#include <stdlib.h>

enum { BIRDS = 1000, NEIGHBORS = 7, TICKS = 60, TICK_US = 1000000 / 60 };

static uint64_t ids[BIRDS];
static double places[2 * BIRDS]; /* x and y of each bird, in metres */
static double angles[BIRDS];

/* Every function that can fail returns a code, and starling_last_error says why. */
static void check(starling_code code) {
  starling_error error = {sizeof(error), 0, NULL, NULL, NULL, 0};
  if (code == STARLING_OK) return;
  starling_last_error(&error);
  fprintf(stderr, "flock: %s\n", error.sentence);
  exit(1);
}

/* One query follows every bird, and the stream reports a list whenever its birds change. */
static starling_engine* make_engine(void) {
  starling_engine_options options;
  starling_stream stream;
  starling_query query;
  starling_counts counts = {sizeof(counts), 0, 0, 0};
  starling_engine* engine;
  check(starling_engine_options_init(&options, sizeof(options)));
  check(starling_engine_create(&options, &engine));

  check(starling_stream_init(&stream, sizeof(stream)));
  stream.name = "flock";
  stream.on = STARLING_ON_MEMBERSHIP;
  check(starling_engine_put_stream(engine, &stream));

  check(starling_query_init(&query, sizeof(query)));
  query.id = 1;
  query.k = NEIGHBORS;
  query.anchor = STARLING_EVERY_OBJECT;
  check(starling_engine_put_queries(engine, "flock", &query, 1, NULL, &counts));
  if (counts.accepted != 1) exit(1);
  return engine;
}

static void move(starling_engine* engine, int64_t now_us) {
  starling_rows rows = {0};
  starling_counts counts = {sizeof(counts), 0, 0, 0};
  uint64_t i;
  for (i = 0; i < BIRDS; ++i) {
    places[2 * i] += 0.2 * cos(angles[i]);
    places[2 * i + 1] += 0.2 * sin(angles[i]);
  }
  rows.size = sizeof(rows);
  rows.count = BIRDS;
  rows.ids = ids;
  rows.time_us = now_us;
  rows.coordinates = places;
  rows.components = 2;
  check(starling_engine_update(engine, &rows, INT64_MAX, NULL, &counts));
  if (counts.accepted != BIRDS) exit(1);
}

/* Turns each bird whose list has changed towards the middle of its neighbours. The neighbours of
 * list i are the entries offsets[i] to offsets[i + 1]. Returns the number of lists with
 * NEIGHBORS neighbours. */
static uint64_t steer(const starling_result* result) {
  starling_lists lists = {0};
  uint64_t whole = 0;
  uint64_t i, j;
  lists.size = sizeof(lists);
  check(starling_result_lists(result, 0, &lists));
  for (i = 0; i < lists.list_count; ++i) {
    const uint64_t bird = lists.subject_ids[i];
    double x_m = 0, y_m = 0;
    for (j = lists.offsets[i]; j < lists.offsets[i + 1]; ++j) {
      x_m += places[2 * lists.object_ids[j]] - places[2 * bird];
      y_m += places[2 * lists.object_ids[j] + 1] - places[2 * bird + 1];
    }
    angles[bird] = atan2(y_m, x_m);
    whole += lists.offsets[i + 1] - lists.offsets[i] == NEIGHBORS;
  }
  return whole;
}

int main(void) {
  starling_engine* const engine = make_engine();
  uint64_t first_lists = 0, lists = 0, i;
  int tick;
  for (i = 0; i < BIRDS; ++i) {
    ids[i] = i;
    places[2 * i] = (double)(i * 7919 % 1000) / 10; /* scattered over 100 m by 100 m */
    places[2 * i + 1] = (double)(i * 104729 % 997) / 10;
    angles[i] = (double)i;
  }
  for (tick = 1; tick <= TICKS; ++tick) {
    starling_result* result;
    move(engine, (int64_t)tick * TICK_US);
    check(starling_engine_tick(engine, (int64_t)tick * TICK_US, &result));
    lists += steer(result);
    if (tick == 1) first_lists = lists;
    check(starling_result_destroy(result));
  }
  printf("%lu lists in the first tick, %lu in all, from the %s engine\n",
         (unsigned long)first_lists, (unsigned long)lists, starling_engine_name(engine));
  check(starling_engine_destroy(engine));
  return first_lists == BIRDS && lists > BIRDS ? 0 : 1;
}
