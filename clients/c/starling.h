/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of Starling: the engine in the caller's process, batch k-NN of vectors, and a
 * client of a running server. docs/c.md explains it, and examples/c has complete programs.
 *
 * Errors. Every function that can fail returns a starling_code. If it is not STARLING_OK, the call
 * has changed nothing (but see STARLING_TIMED_OUT and STARLING_OUT_OF_MEMORY), and
 * starling_last_error() says what is wrong and what to do. A new handle is then NULL. No exception
 * and no abort crosses this interface.
 *
 * Structs. Every struct that the caller fills or gets filled begins with `size`, its sizeof in the
 * caller's program. Set it before each use. The functions named _init set it and the defaults. The
 * sizes let a later library work with today's programs.
 *
 * Handles. The program that made a handle destroys it once. A handle may move between threads, but
 * one thread at a time may use it: a second call at the same time returns STARLING_IN_USE.
 * Different handles are independent. A destroyed handle is refused with STARLING_BAD_HANDLE, unless
 * a later handle has got the same address. Destroying NULL does nothing.
 *
 * Arrays are dense and contiguous, row after row. Arrays that a function returns belong to the
 * handle that they came from and live until it is destroyed. Texts are UTF-8 and end with a NUL.
 *
 * Units. Positions: metres, or in wgs84 degrees of longitude and latitude, and metres of altitude.
 * Times: signed microseconds since an epoch, within +-2^61. Distances: metres, or in a vector space
 * the distance of the metric. */
#ifndef STARLING_H
#define STARLING_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define STARLING_API __attribute__((visibility("default")))

/* ---- Errors and version ---- */

typedef int32_t starling_code;
enum {
  STARLING_OK = 0,
  STARLING_INVALID_ARGUMENT = 1, /* an argument is wrong; the sentence names it */
  STARLING_BAD_HANDLE = 2,       /* not a live handle of this kind */
  STARLING_IN_USE = 3,           /* another call with the handle is under way */
  STARLING_REFUSED = 4,          /* the engine or the server refused; `name` says why */
  STARLING_TIMED_OUT = 5,        /* no answer in time; the server may have applied the request */
  STARLING_OUT_OF_MEMORY = 6,    /* the first rows of an update may be staged; send it again */
  STARLING_UNAVAILABLE = 7,      /* the backend, device or endpoint is not available */
  STARLING_TICK_FAILED = 8,      /* the tick failed; the last lists stay valid */
  STARLING_INTERNAL = 9,         /* a defect of Starling; please report the sentence */
  STARLING_CANCELLED = 10        /* the progress function has ended the call */
};

typedef struct starling_error {
  size_t size;
  starling_code code;
  const char* name;       /* code of a refusal, such as "unknown_stream"; or "" */
  const char* sentence;   /* what is wrong, where, and what is allowed */
  const char* limit_name; /* the limit that was reached; or "" */
  uint64_t limit_value;
} starling_error;

/* Fills `error` with the last failure of this thread. The texts live until the next failure of this
 * thread. Returns STARLING_INVALID_ARGUMENT if `error` is NULL or too small. */
STARLING_API starling_code starling_last_error(starling_error* error);

/* Returns the library's version, such as "0.2.0". */
STARLING_API const char* starling_version(void);

/* ---- Progress ---- */

typedef struct starling_progress {
  size_t size;
  void* context;  /* as given to starling_set_progress */
  uint64_t done;  /* queries whose lists are found */
  uint64_t total; /* queries of the call; 0: the call makes an index */
} starling_progress;

/* Returns 0 to go on. Any other number ends the call, which returns STARLING_CANCELLED. Must not
 * use the handle of the call. */
typedef int32_t (*starling_progress_function)(const starling_progress* progress);

/* Sets the progress function of this thread; NULL removes it. starling_index_create,
 * starling_index_search, starling_index_radius, their _f64 forms and starling_knn call it about
 * every 50 ms, on the thread that called them. A shorter call need not call it. If a search is
 * cancelled, the index stays usable, and the entries of `rows` and `distances` are undefined. On a
 * GPU, the function is called between batches of queries. */
STARLING_API starling_code starling_set_progress(starling_progress_function function,
                                                 void* context);

/* ---- Spaces, metrics, engines ---- */

typedef int32_t starling_space;
enum {
  STARLING_PLANAR2 = 0, /* x, y */
  STARLING_PLANAR3 = 1, /* x, y, z */
  STARLING_WGS84 = 2,   /* longitude, latitude, and an altitude if wanted */
  STARLING_VECTOR = 3   /* float32 components */
};

/* docs/vectors.md defines the metrics. */
typedef int32_t starling_metric;
enum {
  STARLING_L2 = 0,
  STARLING_COSINE = 1,
  STARLING_PEARSON = 2,
  STARLING_HELLINGER = 3,
  STARLING_INNER_PRODUCT = 4,
  STARLING_L1 = 5,
  STARLING_CHEBYSHEV = 6,
  STARLING_JENSEN_SHANNON = 7,
  STARLING_KULLBACK_LEIBLER = 8
};

typedef int32_t starling_backend;
enum {
  STARLING_BACKEND_AUTO = 0, /* cuda if its library and the GPU are available, else cpu */
  STARLING_BACKEND_CPU = 1,
  STARLING_BACKEND_CUDA = 2
};

/* ---- Rows: objects that move, are tagged or removed ---- */

/* What became of a row. A refused row does not affect the other rows of its batch. */
typedef uint8_t starling_row_status;
enum {
  STARLING_ROW_ACCEPTED = 0,
  STARLING_ROW_LATE = 1, /* older than what is stored; dropped */
  STARLING_ROW_FUTURE = 2,
  STARLING_ROW_TIME_OUT_OF_RANGE = 3,
  STARLING_ROW_UNKNOWN_OBJECT = 4, /* tags of an object that was never seen or is forgotten */
  STARLING_ROW_TOO_MANY_OBJECTS = 5,
  STARLING_ROW_POSITION_NOT_FINITE = 6,
  STARLING_ROW_POSITION_OUT_OF_RANGE = 7, /* more than 2^30 times the resolution from the origin */
  STARLING_ROW_LONGITUDE_OUT_OF_RANGE = 8,
  STARLING_ROW_LATITUDE_OUT_OF_RANGE = 9,
  STARLING_ROW_UNKNOWN_QUERY = 10,
  STARLING_ROW_TOO_MANY_QUERIES = 11,
  STARLING_ROW_TEXT_IS_NOT_ITS_ID = 12,
  STARLING_ROW_NAME_COLLISION = 13,
  STARLING_ROW_TOO_MANY_NAMES = 14,
  STARLING_ROW_TOO_MANY_NEIGHBORS = 15,
  STARLING_ROW_TOO_MANY_QUERIES_OF_SESSION = 16,
  STARLING_ROW_TOO_MANY_NAMES_OF_SESSION = 17,
  STARLING_ROW_TOO_MANY_NAME_BYTES = 18,
  STARLING_ROW_COMPONENT_NOT_FINITE = 19,
  STARLING_ROW_COMPONENT_TOO_LARGE = 20, /* beyond +-2^56 */
  STARLING_ROW_COMPONENT_NEGATIVE = 21,  /* the metric allows no component below 0 */
  STARLING_ROW_VALUE_INFINITE = 22,
  STARLING_ROW_NOT_ALLOWED = 23, /* the id is outside the ranges of the client's key */
  STARLING_ROW_NOT_OWNER = 24,   /* the query or name is another client's */
  /* The next three: the client has reached a quota of its key. */
  STARLING_ROW_TOO_MANY_QUERIES_OF_PRINCIPAL = 25,
  STARLING_ROW_TOO_MANY_NEIGHBORS_OF_PRINCIPAL = 26,
  STARLING_ROW_TOO_MANY_NAMES_OF_PRINCIPAL = 27
};

/* Returns the words of a status, such as "late". Never NULL. */
STARLING_API const char* starling_row_status_text(starling_row_status status);

/* accepted + late + rejected is the number of rows. */
typedef struct starling_counts {
  size_t size;
  uint64_t accepted;
  uint64_t late;
  uint64_t rejected;
} starling_counts;

#define STARLING_NO_LABEL INT64_MIN

/* Positions or vectors. All members but size, count, ids, components and one array of coordinates
 * may be zero. */
typedef struct starling_rows {
  size_t size;
  uint64_t count;
  const uint64_t* ids;          /* count */
  const int64_t* times_us;      /* count; NULL: all rows have the time time_us */
  int64_t time_us;              /* not read if times_us is given */
  const double* coordinates;    /* count * components; NULL: coordinates_f32 has them */
  const float* coordinates_f32; /* count * components */
  uint32_t components;          /* 2 or 3; in a vector space its dimension */
  const uint32_t* tags;         /* count; NULL: tags stay as they are */
  const int64_t* labels;        /* count; NULL: labels stay; only in a vector space */
  const double* values;         /* count; NULL: values stay; NaN removes; only in a vector space */
} starling_rows;

/* ---- Streams and queries ---- */

typedef int32_t starling_report_on;
enum {
  STARLING_ON_MEMBERSHIP = 0, /* an object entered or left */
  STARLING_ON_ORDER = 1,      /* membership, or two objects swapped places */
  STARLING_ON_DISTANCE = 2    /* order, or a distance changed */
};

enum { STARLING_WITH_DISTANCE = 1, STARLING_WITH_POSITION = 2, STARLING_WITH_TAGS = 4 };

typedef struct starling_stream {
  size_t size;
  const char* name; /* 1 to 255 bytes */
  starling_report_on on;
  uint32_t with; /* sum of STARLING_WITH_ values */
} starling_stream;

/* Sets size, on = order, with = distance. */
STARLING_API starling_code starling_stream_init(starling_stream* stream, size_t size);

typedef int32_t starling_anchor;
enum {
  STARLING_FIXED = 0,       /* around `position`, in a vector space around `vector` */
  STARLING_FOLLOW = 1,      /* around `object`, which is not in the list */
  STARLING_EVERY_OBJECT = 2 /* one list for each object that passes the subject filter */
};

typedef int32_t starling_weights;
enum { STARLING_WEIGHTS_NONE = 0, STARLING_WEIGHTS_UNIFORM = 1, STARLING_WEIGHTS_DISTANCE = 2 };

/* A standing query, or a question that is asked once. All queries of an array have the same
 * `size`. */
typedef struct starling_query {
  size_t size;
  uint64_t id; /* unique within its stream; not read in a question */
  uint32_t k;  /* 1 to 1024 */
  starling_anchor anchor;
  double position[3];
  const float* vector; /* as many components as the space has */
  uint64_t object;
  uint32_t tags_required;  /* neighbours have all of these bits */
  uint32_t tags_forbidden; /* neighbours have none of these bits */
  double distance_max;     /* greatest distance of a neighbour; INFINITY: no limit */
  int64_t age_max_us;      /* INT64_MAX: no limit */
  uint32_t subject_required;
  uint32_t subject_forbidden;
  int64_t lease_us; /* how long the query stays; 0: until it is removed */
  int32_t vote;     /* not 0: lists carry the label that they vote for; only in a vector space */
  starling_weights regress; /* lists carry the mean of their values; only in a vector space */
} starling_query;

/* Sets size, k = 1, no filter and no limit. */
STARLING_API starling_code starling_query_init(starling_query* query, size_t size);

/* ---- Results ---- */

/* The lists of a tick, of a question or of a subscription. */
typedef struct starling_result starling_result;

typedef struct starling_tick_info {
  size_t size;
  uint64_t epoch; /* epoch of the server; 0 from an engine in the process */
  uint64_t tick;
  int64_t tau_us;
  uint64_t object_count;
  uint64_t stream_count; /* how many sets of lists the result has */
  double build_ms;
  double search_ms;
  double diff_ms;
  const char* warning; /* why queries were removed because of a limit; or "" */
} starling_tick_info;

typedef uint8_t starling_list_event;
enum {
  STARLING_LIST_UPDATED = 0, /* the list is complete */
  STARLING_LIST_REMOVED = 1  /* the query is gone, or its list for this subject */
};

/* Lists as compressed rows. The entries [offsets[i], offsets[i + 1]) of object_ids, distances,
 * positions and tags are the neighbours of list i, nearest first. */
typedef struct starling_lists {
  size_t size;
  const char* stream;          /* "" in answers to questions */
  int32_t is_last;             /* not 0: the stream was removed, and these are its last lists */
  uint64_t list_count;         /* n */
  uint64_t entry_count;        /* m */
  const uint64_t* query_ids;   /* n; in answers to questions: index of the question */
  const uint64_t* subject_ids; /* n; 0 where has_subject is 0 */
  const uint8_t* has_subject;  /* n; 1: a list of an every-object query */
  const starling_list_event* events; /* n */
  const uint64_t* offsets;           /* n + 1 */
  const uint64_t* object_ids;        /* m */
  const double* distances;           /* m; NULL if the stream does not report them */
  const double* positions;           /* 3 m; NULL if the stream does not report them */
  const uint32_t* tags;              /* m; NULL if the stream does not report them */
  const int64_t* votes;              /* n; STARLING_NO_LABEL: no vote; NULL if no query votes */
  const double* means;               /* n; NaN: no mean; NULL if no query asks for a mean */
  /* n; 1: the question follows an object that the tick does not have, because it was never put, was
   * removed or has expired. The list is then empty. NULL except in answers to questions. */
  const uint8_t* is_unknown;
} starling_lists;

STARLING_API starling_code starling_result_info(const starling_result* result,
                                                starling_tick_info* info);
/* Fills `lists` with the lists of the stream number `index`, which must be less than
 * stream_count. */
STARLING_API starling_code starling_result_lists(const starling_result* result, uint64_t index,
                                                 starling_lists* lists);
STARLING_API starling_code starling_result_destroy(starling_result* result);

/* ---- The engine in this process ---- */

typedef struct starling_engine starling_engine;

typedef struct starling_engine_options {
  size_t size;
  starling_space space;
  double resolution_m;    /* spacing of the lattice to which positions are rounded */
  double origin[3];       /* metres, subtracted from positions first; zeros for wgs84 */
  uint32_t dimension;     /* 1 to 4096 in a vector space, else 0 */
  starling_metric metric; /* metric of a vector space */
  starling_backend backend;
  int32_t device;          /* the number of the GPU */
  uint32_t threads;        /* threads that compute on the CPU; 0: one per core */
  uint32_t update_threads; /* threads that take rows; their number changes no answer */
  uint64_t objects_max;
  uint64_t queries_max;
  uint64_t neighbors_max;   /* neighbours of all lists; 20 bytes each, in several copies */
  int64_t object_ttl_us;    /* an object expires when tau - time exceeds this; INT64_MAX: never */
  int64_t tombstone_ttl_us; /* how long a removal keeps late rows out */
} starling_engine_options;

/* Sets size, planar2, 1 cm, the automatic backend, and the limits of `starling serve`. */
STARLING_API starling_code starling_engine_options_init(starling_engine_options* options,
                                                        size_t size);
STARLING_API starling_code starling_engine_create(const starling_engine_options* options,
                                                  starling_engine** engine);
STARLING_API starling_code starling_engine_destroy(starling_engine* engine);
/* Returns "cpu" or "cuda"; "" if the handle is bad. */
STARLING_API const char* starling_engine_name(const starling_engine* engine);

/* Stages rows for the next tick. `statuses` has one entry for each row, or is NULL. `counts` may be
 * NULL. `time_us_max` is the latest time that a row may have; INT64_MAX: any. */
STARLING_API starling_code starling_engine_update(starling_engine* engine,
                                                  const starling_rows* rows, int64_t time_us_max,
                                                  starling_row_status* statuses,
                                                  starling_counts* counts);
/* Sets and clears tag bits of known objects. Each array has `count` entries. */
STARLING_API starling_code starling_engine_update_tags(starling_engine* engine, uint64_t count,
                                                       const uint64_t* ids, const int64_t* times_us,
                                                       const uint32_t* set, const uint32_t* clear,
                                                       starling_row_status* statuses,
                                                       starling_counts* counts);
STARLING_API starling_code starling_engine_remove_objects(starling_engine* engine, uint64_t count,
                                                          const uint64_t* ids,
                                                          const int64_t* times_us,
                                                          starling_row_status* statuses,
                                                          starling_counts* counts);

/* Adds a stream, or changes what it reports. */
STARLING_API starling_code starling_engine_put_stream(starling_engine* engine,
                                                      const starling_stream* stream);
/* Removes a stream and its queries. The next tick reports the removals. */
STARLING_API starling_code starling_engine_remove_stream(starling_engine* engine,
                                                         const char* stream);
/* Adds queries to a stream, or replaces the queries with the same ids. If a query is malformed, the
 * whole call is refused, and the sentence names the query. If a query reaches a limit, or its
 * position or vector has no place in the space, its status says so, and the other queries are
 * put. */
STARLING_API starling_code starling_engine_put_queries(starling_engine* engine, const char* stream,
                                                       const starling_query* queries,
                                                       uint64_t count,
                                                       starling_row_status* statuses,
                                                       starling_counts* counts);
STARLING_API starling_code starling_engine_remove_queries(starling_engine* engine,
                                                          const char* stream, const uint64_t* ids,
                                                          uint64_t count,
                                                          starling_row_status* statuses,
                                                          starling_counts* counts);

/* Runs a tick and waits for it. tau_us must not be less than the last tick's. The result has one
 * set of lists for each stream, with the lists that changed. */
STARLING_API starling_code starling_engine_tick(starling_engine* engine, int64_t tau_us,
                                                starling_result** result);
/* starling_engine_tick in two steps. Between them, the program may stage rows of the next tick. At
 * most one tick may be under way. */
STARLING_API starling_code starling_engine_begin_tick(starling_engine* engine, int64_t tau_us);
STARLING_API starling_code starling_engine_finish_tick(starling_engine* engine,
                                                       starling_result** result);
/* Answers questions from the last finished tick. The anchor of a question is fixed or follow. The
 * result has one list for each question. */
STARLING_API starling_code starling_engine_neighbors(starling_engine* engine,
                                                     const starling_query* questions,
                                                     uint64_t count, starling_result** result);

/* ---- Batch k-NN of vectors ---- */

typedef struct starling_index starling_index;

#define STARLING_NO_ROW UINT32_MAX
#define STARLING_NOT_A_ROW UINT64_MAX

typedef struct starling_index_options {
  size_t size;
  starling_metric metric;
  starling_backend backend;
  int32_t device;
  uint32_t threads; /* threads that search on the CPU; 0: one per core */
  /* Not 0: the index may read the caller's rows in place, to save memory. The rows must stay
   * unchanged until the index is destroyed. On a GPU, this saves the copy on the host that searches
   * by radius read. */
  int32_t borrows;
  int32_t reserved; /* 0 */
} starling_index_options;

STARLING_API starling_code starling_index_options_init(starling_index_options* options,
                                                       size_t size);
/* Makes an index of row_count rows of `dimension` components. Copies the rows unless
 * options.borrows is set. Returns STARLING_INVALID_ARGUMENT if the metric does not allow a
 * component; the sentence names its row and column, counted from 1. */
STARLING_API starling_code starling_index_create(const starling_index_options* options,
                                                 const float* rows, uint64_t row_count,
                                                 uint32_t dimension, starling_index** index);
STARLING_API starling_code starling_index_destroy(starling_index* index);
/* Finds the exact k nearest rows of each query. `rows` and `distances` have query_count * k
 * entries, nearest first; rows are counted from 0. Missing entries are STARLING_NO_ROW and NaN.
 * `distances` may be NULL. If the queries are the rows first_row, first_row + 1, ... of the index,
 * no row is its own neighbour; otherwise pass STARLING_NOT_A_ROW. k: 1 to 2048. */
STARLING_API starling_code starling_index_search(starling_index* index, const float* queries,
                                                 uint64_t query_count, uint32_t k,
                                                 uint64_t first_row, uint32_t* rows,
                                                 double* distances);
/* Like starling_index_create and starling_index_search, for float64. Rows are rounded to float32.
 * With l2, l1 and chebyshev, an offset is subtracted first from each component whose numbers are
 * far from 0 and near each other, so that less is lost by rounding: see docs/vectors.md. The index
 * subtracts the offsets from all queries, also from float32 queries. It copies float64 rows even if
 * options.borrows is set. An index takes queries of both types. */
STARLING_API starling_code starling_index_create_f64(const starling_index_options* options,
                                                     const double* rows, uint64_t row_count,
                                                     uint32_t dimension, starling_index** index);
STARLING_API starling_code starling_index_search_f64(starling_index* index, const double* queries,
                                                     uint64_t query_count, uint32_t k,
                                                     uint64_t first_row, uint32_t* rows,
                                                     double* distances);

/* The lists of starling_index_radius. */
typedef struct starling_radius_result starling_radius_result;

typedef int32_t starling_list_order;
enum {
  STARLING_NEAREST_FIRST = 0, /* equal scores in the order of rows */
  STARLING_BY_ROW = 1         /* in the order of rows, which saves sorting */
};

/* Lists as compressed rows. The entries [offsets[i], offsets[i + 1]) of `rows` and `distances` are
 * the neighbours of query i. */
typedef struct starling_radius_lists {
  size_t size;
  uint64_t list_count;     /* n, one for each query */
  uint64_t entry_count;    /* m */
  const uint64_t* offsets; /* n + 1 */
  const uint32_t* rows;    /* m, counted from 0 */
  const double* distances; /* m, as starling_index_search reports them */
} starling_radius_lists;

/* Finds all rows whose distance to a query is at most `radius`, which may be infinite. `radius` may
 * be negative with STARLING_INNER_PRODUCT alone: -4 means products of 4 or more. first_row means
 * the same as in starling_index_search. The CPU answers for every backend, with the same
 * distances. */
STARLING_API starling_code starling_index_radius(starling_index* index, const float* queries,
                                                 uint64_t query_count, double radius,
                                                 uint64_t first_row, starling_list_order order,
                                                 starling_radius_result** result);
/* Like starling_index_radius, for float64 queries. */
STARLING_API starling_code starling_index_radius_f64(starling_index* index, const double* queries,
                                                     uint64_t query_count, double radius,
                                                     uint64_t first_row, starling_list_order order,
                                                     starling_radius_result** result);
STARLING_API starling_code starling_radius_result_lists(const starling_radius_result* result,
                                                        starling_radius_lists* lists);
STARLING_API starling_code starling_radius_result_destroy(starling_radius_result* result);

/* Returns what rounding did to the rows. `offset` gets one number for each component, 0 if there is
 * no offset. `merged_rows` gets the number of rows that rounding made equal to a different row.
 * Both may be NULL. */
STARLING_API starling_code starling_index_rounding(const starling_index* index, double* offset,
                                                   uint64_t* merged_rows);
/* starling_index_create, starling_index_search and starling_index_destroy in one call. */
STARLING_API starling_code starling_knn(const starling_index_options* options, const float* points,
                                        uint64_t point_count, const float* queries,
                                        uint64_t query_count, uint32_t dimension, uint32_t k,
                                        uint32_t* rows, double* distances);

/* Copies `bytes` bytes of an array in a GPU's memory, or in managed or page-locked memory, to the
 * caller's memory, and waits. The copy begins after all earlier work of the device's legacy default
 * stream. Work of other streams must be done before the call. STARLING_UNAVAILABLE: the CUDA engine
 * is not installed, or there is no such device. STARLING_INVALID_ARGUMENT: CUDA does not know
 * `from`, or the array has fewer bytes. */
STARLING_API starling_code starling_copy_from_device(void* to, const void* from, uint64_t bytes,
                                                     int32_t device);

/* ---- A client of a server ---- */

typedef struct starling_client starling_client;

typedef struct starling_client_options {
  size_t size;
  const char* commands; /* the endpoint of the server's commands */
  const char* name;     /* name in the server's log */
  int64_t timeout_ms;   /* longest wait for a reply, reconnects included */
  /* Not 0: after a restart of the server, the client puts its names, streams and queries again.
   * Leases begin anew. */
  int32_t restore;
  int32_t reserved; /* 0 */
  /* The key file of this client, for a server with keys: docs/security.md. NULL: no key. */
  const char* key_file;
  /* The server's public key in Z85, or the path of a file that has it as public = "...". It
   * replaces the server's key in the key file. NULL: the key file has the server's key. */
  const char* server_key;
} starling_client_options;

typedef struct starling_server_info {
  size_t size;
  uint64_t epoch; /* random; a restart without the log changes it */
  uint64_t session;
  starling_space space;
  double resolution_m;
  double origin[3];
  uint32_t dimension;
  starling_metric metric;
  int32_t manual_ticks; /* not 0: ticks come from starling_client_advance_tick alone */
  uint64_t restarts;    /* restarts of the server that this client has noticed */
  /* Number of rows of objects (updates, tags, removals) that the server acknowledged to this client
   * before its restarts, and that the restarted server may lack. Posted rows count only after
   * starling_client_flush has counted them. */
  uint64_t rows_lost;
} starling_server_info;

/* Sets size, tcp://127.0.0.1:7411, 30 s, restore. */
STARLING_API starling_code starling_client_options_init(starling_client_options* options,
                                                        size_t size);
/* Connects, and waits for the server for at most timeout_ms. */
STARLING_API starling_code starling_client_connect(const starling_client_options* options,
                                                   starling_client** client);
STARLING_API starling_code starling_client_destroy(starling_client* client);
STARLING_API starling_code starling_client_info(starling_client* client,
                                                starling_server_info* info);

/* The next functions send one request each and wait for its reply. Rows that do not fit in one
 * request are sent in several requests, one after another. If a request is refused, the requests
 * before it are applied. Accepted rows are staged for the server's next tick. After a lost
 * connection, a request is sent again, but applied only once. */
STARLING_API starling_code starling_client_update(starling_client* client,
                                                  const starling_rows* rows,
                                                  starling_counts* counts);
STARLING_API starling_code starling_client_update_tags(starling_client* client, uint64_t count,
                                                       const uint64_t* ids, const int64_t* times_us,
                                                       const uint32_t* set, const uint32_t* clear,
                                                       starling_counts* counts);
STARLING_API starling_code starling_client_remove_objects(starling_client* client, uint64_t count,
                                                          const uint64_t* ids,
                                                          const int64_t* times_us,
                                                          starling_counts* counts);
/* Gives objects texts for display. The id of each text must be starling_text_id(text). */
STARLING_API starling_code starling_client_put_names(starling_client* client, uint64_t count,
                                                     const uint64_t* ids, const char* const* texts,
                                                     starling_counts* counts);
STARLING_API starling_code starling_client_put_stream(starling_client* client,
                                                      const starling_stream* stream);
STARLING_API starling_code starling_client_remove_stream(starling_client* client,
                                                         const char* stream);
STARLING_API starling_code starling_client_put_queries(starling_client* client, const char* stream,
                                                       const starling_query* queries,
                                                       uint64_t count, starling_counts* counts);
STARLING_API starling_code starling_client_remove_queries(starling_client* client,
                                                          const char* stream, const uint64_t* ids,
                                                          uint64_t count, starling_counts* counts);
/* Answers questions from the server's last finished tick. */
STARLING_API starling_code starling_client_neighbors(starling_client* client,
                                                     const starling_query* questions,
                                                     uint64_t count, starling_result** result);
/* Answers questions from the last tick at or before tau_us, in microseconds since 1970. The server
 * reads that tick from its log. */
STARLING_API starling_code starling_client_neighbors_at(starling_client* client,
                                                        const starling_query* questions,
                                                        uint64_t count, int64_t tau_us,
                                                        starling_result** result);
/* Runs a tick of a server whose ticks are manual. `info` may be NULL. */
STARLING_API starling_code starling_client_advance_tick(starling_client* client, int64_t tau_us,
                                                        starling_tick_info* info);

/* Sends rows and waits only for credit. The arrays may be changed after the call returns. */
STARLING_API starling_code starling_client_post(starling_client* client, const starling_rows* rows);
/* Waits for the replies to all posted rows, and fills `counts` with the sums since the last flush.
 * If the server refused a whole batch, the call fills `counts` and then fails with the first
 * refusal. */
STARLING_API starling_code starling_client_flush(starling_client* client, starling_counts* counts);

/* Calls `take` once for each of the server's statistics. */
STARLING_API starling_code starling_client_stats(starling_client* client,
                                                 void (*take)(void* context, const char* name,
                                                              double value),
                                                 void* context);

/* Returns the id of a text: its number if it is decimal, else its XXH64 hash. */
STARLING_API uint64_t starling_text_id(const char* text);

/* ---- A subscription to a stream ---- */

typedef struct starling_subscription starling_subscription;

typedef struct starling_subscription_options {
  size_t size;
  const char* commands;
  const char* results; /* the endpoint of the server's results; NULL: the server names it */
  const char* name;
  int64_t timeout_ms;
  const char* stream;
  const uint64_t* query_ids; /* only these queries; NULL: all */
  uint64_t query_count;
  const uint64_t* subject_ids; /* only these objects' lists, in every-object queries; NULL: all */
  uint64_t subject_count;
  const char* key_file; /* as in starling_client_options */
  const char* server_key;
} starling_subscription_options;

typedef int32_t starling_event_kind;
enum {
  STARLING_EVENT_NONE = 0,     /* no event within timeout_ms */
  STARLING_EVENT_SNAPSHOT = 1, /* the result replaces all lists held so far */
  STARLING_EVENT_TICK = 2,     /* the result has the lists that changed */
  STARLING_EVENT_LOST = 3,     /* `ticks` ticks were lost; a snapshot follows */
  STARLING_EVENT_RESTARTED = 4 /* the server has another history; a snapshot follows */
};

typedef struct starling_event {
  size_t size;
  starling_event_kind kind;
  uint64_t ticks;
  /* Why the last request to the server failed, such as an unknown stream, or that no messages come
   * from `results`; or "". Lives until the next call with the subscription. */
  const char* obstacle;
  const char* obstacle_name; /* code of a refusal, such as "unknown_stream"; or "" */
} starling_event;

STARLING_API starling_code
starling_subscription_options_init(starling_subscription_options* options, size_t size);
STARLING_API starling_code starling_subscription_open(const starling_subscription_options* options,
                                                      starling_subscription** subscription);
STARLING_API starling_code starling_subscription_close(starling_subscription* subscription);
/* Waits at most timeout_ms for the next event. `*result` gets the lists of a snapshot or a tick,
 * else NULL. The library repairs gaps and restarts itself: a program that applies each event holds
 * the server's exact answer. */
STARLING_API starling_code starling_subscription_next(starling_subscription* subscription,
                                                      int64_t timeout_ms, starling_event* event,
                                                      starling_result** result);
/* Copies all lists that are held now, in the order of query and subject. */
STARLING_API starling_code starling_subscription_lists(starling_subscription* subscription,
                                                       starling_result** result);

#if defined(__cplusplus)
}
#endif

#endif
