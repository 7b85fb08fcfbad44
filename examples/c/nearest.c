/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the two nearest of four points to each of two queries: exact batch k-NN in one call. Exits
 * with 0 if the answers are the expected ones. */
#include <starling.h>
#include <stdio.h>

enum { POINTS = 4, QUERIES = 2, DIMENSION = 3, K = 2 };

static const float points[POINTS * DIMENSION] = {0, 0, 0, 1, 0, 0, 0, 3, 0, 5, 5, 5};
static const float queries[QUERIES * DIMENSION] = {0, 0, 0, 5, 5, 4};

int main(void) {
  starling_index_options options;
  uint32_t rows[QUERIES * K];
  double distances[QUERIES * K];
  starling_code code = starling_index_options_init(&options, sizeof(options));
  if (code == STARLING_OK) {
    options.metric = STARLING_L2;
    code = starling_knn(&options, points, POINTS, queries, QUERIES, DIMENSION, K, rows, distances);
  }
  if (code != STARLING_OK) {
    starling_error error = {sizeof(error), 0, NULL, NULL, NULL, 0};
    starling_last_error(&error);
    fprintf(stderr, "nearest: %s\n", error.sentence);
    return 1;
  }
  for (int i = 0; i < QUERIES * K; ++i)
    printf("query %d: row %u at %.3f\n", i / K, (unsigned)rows[i], distances[i]);
  return rows[0] == 0 && rows[1] == 1 && rows[2] == 3 && rows[3] == 2 && distances[1] == 1 ? 0 : 1;
}
