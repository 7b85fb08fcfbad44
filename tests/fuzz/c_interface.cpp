// SPDX-License-Identifier: Apache-2.0
// Fuzzes the C interface. The input is read as a sequence of calls on an engine and an index, with
// arguments that no program should pass. Each call must return a documented code, each refusal must
// have a sentence, and each result must be readable.
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "starling/clients/c/starling.h"
#include "tests/fuzz/target.hpp"

namespace starling::fuzz {
namespace {

constexpr std::uint64_t rows_max = 12;
constexpr std::uint32_t dimension_max = 5;
constexpr const char* stream_names[] = {"a", "b", "", "\xff", nullptr};

/// Takes values off the front of the input, and zeros after its end.
class Values {
 public:
  Values(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool is_empty() const { return left_ == 0; }

  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::uint32_t below(std::uint32_t end) { return byte() % end; }
  /// Returns true for one byte of 16: most arguments are fine, so that calls get far.
  bool rarely() { return below(16) == 15; }

  template <class Number>
  Number raw() {
    std::array<std::uint8_t, sizeof(Number)> bytes;
    for (auto& each : bytes) each = byte();
    Number number;
    std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }

  double real() {
    using Limits = std::numeric_limits<double>;
    constexpr double edges[] = {0,
                                -1,
                                1e300,
                                Limits::quiet_NaN(),
                                -1e30,
                                72057594e9,
                                Limits::max(),
                                Limits::infinity(),
                                180,
                                -90,
                                Limits::min(),
                                -Limits::infinity(),
                                0.01,
                                10737418,
                                Limits::denorm_min()};
    const std::uint8_t which = byte();
    if (which < std::size(edges)) return edges[which];
    if (which == 255) return raw<double>();
    return static_cast<double>(which) - 100;
  }

  std::int64_t time_us() {
    constexpr std::int64_t edge = INT64_C(1) << 61;
    constexpr std::int64_t edges[] = {0,    -1,    INT64_MIN, INT64_MAX,
                                      edge, -edge, edge + 1,  -edge - 1};
    const std::uint8_t which = byte();
    if (which < std::size(edges)) return edges[which];
    if (which == 255) return raw<std::int64_t>();
    return which * 1000;
  }

  std::int32_t choice(std::int32_t count) {
    if (rarely()) return raw<std::int32_t>();
    return static_cast<std::int32_t>(below(static_cast<std::uint32_t>(count)));
  }

  std::uint32_t k() { return rarely() ? raw<std::uint32_t>() : below(8); }
  std::uint64_t id() { return rarely() ? raw<std::uint64_t>() : below(8); }

  /// Returns the true size or, rarely, a size that no struct has.
  std::size_t size_of(std::size_t true_size) {
    constexpr std::size_t wrong[] = {0, 7, 8, 4097, SIZE_MAX};
    return rarely() ? wrong[below(std::size(wrong))] : true_size;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

template <class Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof(made);
  return made;
}

/// Checks that the code is known and that a refusal has a sentence. Returns whether the call
/// succeeded.
bool check(starling_code code) {
  check_invariant(code >= STARLING_OK && code < STARLING_INTERNAL, "a call returns a known code");
  if (code == STARLING_OK) return true;
  auto error = sized<starling_error>();
  check_invariant(
      starling_last_error(&error) == STARLING_OK && error.code == code && *error.sentence != '\0',
      "a refusal says why");
  return false;
}

void check_counts(const starling_counts& counts, std::uint64_t rows) {
  check_invariant(counts.accepted + counts.late + counts.rejected == rows,
                  "every row has one outcome");
}

/// Arrays of `count` entries, as many as a call may read.
struct Arrays {
  explicit Arrays(Values& values) : count(values.below(rows_max + 1)) {
    for (std::uint64_t i = 0; i < count; ++i) {
      ids.push_back(values.id());
      times_us.push_back(values.time_us());
      bits.push_back(values.byte());
    }
  }
  std::uint64_t count;
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times_us;
  std::vector<std::uint32_t> bits;
  std::array<starling_row_status, rows_max> statuses{};
};

/// An engine, an index and a result, which any call may replace.
class Calls {
 public:
  explicit Calls(Values& values) : values_(values) { make_engine(); }
  ~Calls() {
    check(starling_result_destroy(result_));
    check(starling_engine_destroy(engine_));
    check(starling_index_destroy(index_));
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  void next() {
    switch (values_.below(16)) {
      case 0:
        return update();
      case 1:
        return update_tags();
      case 2:
        return remove_objects();
      case 3:
        return put_stream();
      case 4:
        check(starling_engine_remove_stream(engine_, stream_name()));
        return;
      case 5:
        return put_queries();
      case 6:
        return remove_queries();
      case 7:
        return take([&](auto** result) {
          return starling_engine_tick(engine_, values_.time_us(), result);
        });
      case 8:
        check(starling_engine_begin_tick(engine_, values_.time_us()));
        return;
      case 9:
        return take([&](auto** result) { return starling_engine_finish_tick(engine_, result); });
      case 10:
        return ask();
      case 11:
        return make_index();
      case 12:
        return search();
      case 13:
        return search_once();
      case 14:
        return use_wrong_handles();
      default:
        return set_defaults();
    }
  }

 private:
  void make_engine() {
    starling_engine_options options;
    check(starling_engine_options_init(&options, sizeof(options)));
    options.backend = STARLING_BACKEND_CPU;
    options.threads = 1;
    options.space = values_.choice(4);
    is_vector_ = options.space == STARLING_VECTOR;
    dimension_ = is_vector_ ? 1 + values_.below(dimension_max)
                            : (options.space == STARLING_PLANAR2 ? 2U : 3U);
    if (is_vector_) options.dimension = dimension_;
    options.metric = values_.choice(9);
    if (values_.rarely()) options.resolution_m = values_.real();
    if (values_.rarely()) options.origin[values_.below(3)] = values_.real();
    if (values_.rarely()) options.dimension = values_.raw<std::uint32_t>();
    if (values_.rarely()) options.objects_max = values_.id();
    if (values_.rarely()) options.queries_max = values_.id();
    if (values_.rarely()) options.neighbors_max = values_.id();
    if (values_.rarely()) options.object_ttl_us = values_.time_us();
    if (values_.rarely()) options.tombstone_ttl_us = values_.time_us();
    options.size = values_.size_of(sizeof(options));
    if (!check(starling_engine_create(&options, &engine_)))
      check_invariant(engine_ == nullptr, "a refused engine is NULL");
    if (options.dimension != (is_vector_ ? dimension_ : 0)) dimension_ = options.dimension;
  }

  const char* stream_name() {
    return stream_names[values_.rarely() ? values_.below(std::size(stream_names))
                                         : values_.below(2)];
  }

  /// Passes `call` a place for its result or, rarely, a null pointer. Reads the result, and keeps
  /// it until the next one.
  template <class Call>
  void take(Call call) {
    starling_result* given = nullptr;
    if (!check(call(values_.rarely() ? nullptr : &given))) {
      check_invariant(given == nullptr, "a refused call gives no result");
      return;
    }
    read(given);
    check(starling_result_destroy(result_));
    result_ = given;
  }

  static void read(const starling_result* result) {
    auto info = sized<starling_tick_info>();
    check_invariant(check(starling_result_info(result, &info)), "a result has a head");
    for (std::uint64_t stream = 0; stream < info.stream_count; ++stream) {
      auto lists = sized<starling_lists>();
      check_invariant(check(starling_result_lists(result, stream, &lists)), "a result has lists");
      check_invariant(lists.offsets[0] == 0 && lists.offsets[lists.list_count] == lists.entry_count,
                      "the offsets cover all entries");
      std::uint64_t sum = std::strlen(lists.stream);
      for (std::uint64_t i = 0; i < lists.list_count; ++i) {
        check_invariant(lists.offsets[i] <= lists.offsets[i + 1], "offsets ascend");
        sum += lists.query_ids[i] + lists.subject_ids[i] + lists.has_subject[i] + lists.events[i];
        if (lists.votes != nullptr) sum += static_cast<std::uint64_t>(lists.votes[i]);
        if (lists.means != nullptr) sum += lists.means[i] > 0 ? 1 : 0;
      }
      for (std::uint64_t i = 0; i < lists.entry_count; ++i) {
        sum += lists.object_ids[i];
        if (lists.distances != nullptr) sum += lists.distances[i] > 0 ? 1 : 0;
        if (lists.tags != nullptr) sum += lists.tags[i];
        if (lists.positions != nullptr) sum += lists.positions[3 * i + 2] > 0 ? 1 : 0;
      }
      sum_ = sum_ + sum;  // keeps the compiler from removing the reads
    }
  }

  void update() {
    Arrays arrays(values_);
    const std::uint32_t components =
        values_.rarely() ? values_.raw<std::uint32_t>() : (dimension_ > 64 ? 2 : dimension_);
    const std::uint64_t entries = arrays.count * (components > 64 ? 1 : components);
    std::vector<double> coordinates;
    std::vector<float> coordinates_f32;
    const bool is_f32 = values_.below(2) != 0;
    for (std::uint64_t i = 0; i < entries; ++i) {
      const double value = values_.real();
      coordinates.push_back(value);
      // The cast of a double beyond float's range is undefined.
      coordinates_f32.push_back(value > -1e38 && value < 1e38 ? static_cast<float>(value)
                                                              : std::numeric_limits<float>::max());
    }
    auto rows = sized<starling_rows>();
    rows.size = values_.size_of(sizeof(rows));
    rows.count = arrays.count;
    rows.ids = arrays.ids.data();
    if (values_.below(2) != 0) rows.times_us = arrays.times_us.data();
    rows.time_us = values_.time_us();
    if (is_f32)
      rows.coordinates_f32 = coordinates_f32.data();
    else
      rows.coordinates = coordinates.data();
    rows.components = components;
    if (values_.below(2) != 0) rows.tags = arrays.bits.data();
    if (is_vector_ && values_.below(2) != 0) rows.labels = arrays.times_us.data();
    if (is_vector_ && components == 1 && !is_f32) rows.values = coordinates.data();
    auto counts = sized<starling_counts>();
    counts.size = values_.size_of(sizeof(counts));
    // `coordinates` has only one entry a row here, so a call that would read more is left out.
    if (components > 64 && components == dimension_) return;
    if (check(starling_engine_update(engine_, &rows, values_.time_us(), arrays.statuses.data(),
                                     &counts)))
      check_counts(counts, arrays.count);
  }

  void update_tags() {
    Arrays arrays(values_);
    auto counts = sized<starling_counts>();
    const bool lacks = values_.rarely();
    if (check(starling_engine_update_tags(engine_, arrays.count, arrays.ids.data(),
                                          arrays.times_us.data(),
                                          lacks ? nullptr : arrays.bits.data(), arrays.bits.data(),
                                          arrays.statuses.data(), &counts)))
      check_counts(counts, arrays.count);
  }

  void remove_objects() {
    Arrays arrays(values_);
    auto counts = sized<starling_counts>();
    const std::uint64_t count =
        values_.rarely() ? (UINT64_C(1) << 48) + arrays.count + 1 : arrays.count;
    if (check(starling_engine_remove_objects(engine_, count, arrays.ids.data(),
                                             arrays.times_us.data(), arrays.statuses.data(),
                                             &counts)))
      check_counts(counts, arrays.count);
  }

  void put_stream() {
    starling_stream stream;
    check(starling_stream_init(&stream, sizeof(stream)));
    stream.name = stream_name();
    stream.on = values_.choice(3);
    stream.with = values_.below(9);
    stream.size = values_.size_of(sizeof(stream));
    check(starling_engine_put_stream(engine_, &stream));
  }

  std::vector<starling_query> queries() {
    std::vector<starling_query> made(values_.below(4));
    for (float& component : vector_) component = static_cast<float>(values_.byte()) - 10;
    if (values_.rarely()) vector_[0] = std::numeric_limits<float>::infinity();
    for (starling_query& query : made) {
      check(starling_query_init(&query, sizeof(query)));
      query.id = values_.id();
      query.k = values_.k();
      query.anchor = values_.choice(3);
      query.position[0] = values_.real();
      query.position[1] = values_.real();
      // `vector_` must have as many components as the call reads.
      if (dimension_ <= vector_.size() && !values_.rarely()) query.vector = vector_.data();
      query.object = values_.id();
      query.tags_required = values_.below(4);
      query.tags_forbidden = values_.below(4);
      if (values_.below(2) != 0) query.distance_max = values_.real();
      if (values_.below(2) != 0) query.age_max_us = values_.time_us();
      query.subject_forbidden = values_.below(4);
      if (values_.rarely()) query.lease_us = values_.time_us();
      if (is_vector_) query.vote = static_cast<std::int32_t>(values_.below(2));
      if (is_vector_) query.regress = values_.choice(3);
      query.size = values_.size_of(sizeof(query));
    }
    return made;
  }

  void put_queries() {
    const auto asked = queries();
    std::array<starling_row_status, 4> statuses{};
    auto counts = sized<starling_counts>();
    if (check(starling_engine_put_queries(engine_, stream_name(), asked.data(), asked.size(),
                                          statuses.data(), &counts)))
      check_counts(counts, asked.size());
  }

  void remove_queries() {
    Arrays arrays(values_);
    auto counts = sized<starling_counts>();
    if (check(starling_engine_remove_queries(engine_, stream_name(), arrays.ids.data(),
                                             arrays.count, arrays.statuses.data(), &counts)))
      check_counts(counts, arrays.count);
  }

  void ask() {
    const auto asked = queries();
    take([&](auto** result) {
      return starling_engine_neighbors(engine_, asked.data(), asked.size(), result);
    });
  }

  std::vector<float> points(std::uint64_t rows, std::uint32_t dimension) {
    std::vector<float> made;
    for (std::uint64_t i = 0; i < rows * dimension; ++i)
      made.push_back(values_.rarely() ? values_.raw<float>()
                                      : static_cast<float>(values_.byte()) - 3);
    return made;
  }

  starling_index_options index_options() {
    starling_index_options options;
    check(starling_index_options_init(&options, sizeof(options)));
    options.metric = values_.choice(9);
    options.backend = STARLING_BACKEND_CPU;
    options.threads = 1;
    options.size = values_.size_of(sizeof(options));
    return options;
  }

  void make_index() {
    const auto options = index_options();
    const std::uint32_t dimension = values_.below(dimension_max + 1);
    const auto rows = points(values_.below(rows_max), dimension);
    starling_index* made = nullptr;
    const std::uint64_t row_count = dimension == 0 ? 1 : rows.size() / dimension;
    const std::uint64_t said_count = values_.rarely() ? UINT64_MAX : row_count;
    const std::vector<double> wide(rows.begin(), rows.end());
    if (!check(
            values_.below(2) != 0
                ? starling_index_create(&options, rows.data(), said_count, dimension, &made)
                : starling_index_create_f64(&options, wide.data(), said_count, dimension, &made)))
      return;
    check(starling_index_destroy(index_));
    index_ = made;
    index_dimension_ = dimension;
  }

  void search() {
    const std::uint64_t count = values_.below(4);
    const auto asked = points(count, index_dimension_);
    const std::uint32_t k = values_.k();
    const std::uint64_t first_row = values_.below(2) != 0 ? STARLING_NOT_A_ROW : values_.id();
    std::vector<std::uint32_t> rows(count * (k > 2048 ? 1 : k));
    std::vector<double> distances(rows.size());
    check(starling_index_search(index_, asked.data(), count, k, first_row, rows.data(),
                                values_.below(2) != 0 ? distances.data() : nullptr));
  }

  void search_once() {
    const auto options = index_options();
    const std::uint32_t dimension = values_.below(dimension_max + 1);
    const std::uint64_t point_count = values_.below(rows_max);
    const std::uint64_t query_count = values_.below(4);
    const auto corpus = points(point_count, dimension);
    const auto asked = points(query_count, dimension);
    const std::uint32_t k = values_.k();
    std::vector<std::uint32_t> rows(query_count * (k > 2048 ? 1 : k));
    std::vector<double> distances(rows.size());
    check(starling_knn(&options, corpus.data(), point_count, asked.data(), query_count, dimension,
                       k, rows.data(), distances.data()));
  }

  /// Passes a handle of another kind, memory that is no handle, and a destroyed handle.
  void use_wrong_handles() {
    auto info = sized<starling_tick_info>();
    check_invariant(starling_result_info(reinterpret_cast<starling_result*>(engine_), &info) ==
                            STARLING_BAD_HANDLE &&
                        starling_engine_begin_tick(reinterpret_cast<starling_engine*>(this), 0) ==
                            STARLING_BAD_HANDLE &&
                        starling_index_destroy(reinterpret_cast<starling_index*>(result_)) ==
                            (result_ == nullptr ? STARLING_OK : STARLING_BAD_HANDLE),
                    "a wrong handle is refused");
    starling_result* const gone = result_;
    result_ = nullptr;
    check(starling_result_destroy(gone));
    check_invariant(starling_result_info(gone, &info) == STARLING_BAD_HANDLE,
                    "a destroyed handle is refused");
  }

  void set_defaults() {
    starling_query query;
    starling_subscription_options options;
    check(starling_query_init(&query, values_.size_of(sizeof(query))));
    check(starling_subscription_options_init(&options, values_.size_of(sizeof(options))));
    check_invariant(*starling_row_status_text(values_.byte()) != '\0', "a status has words");
    check_invariant(starling_engine_name(engine_) != nullptr, "an engine has a name");
  }

  Values& values_;
  starling_engine* engine_ = nullptr;
  starling_index* index_ = nullptr;
  starling_result* result_ = nullptr;
  bool is_vector_ = false;
  std::uint32_t dimension_ = 0;
  std::uint32_t index_dimension_ = 1;
  std::array<float, 64> vector_{};
  static inline volatile std::uint64_t sum_ = 0;
};

}  // namespace

/// Returns long runs of ordinary calls in each space. The values differ from seed to seed.
std::vector<std::string> seeds() {
  constexpr std::size_t bytes = 1500;
  std::vector<std::string> all;
  for (unsigned space = 0; space < 4; ++space)
    for (unsigned step = 1; step < 8; ++step) {
      std::string seed;
      std::uint32_t state = space * 8 + step;
      for (std::size_t i = 0; i < bytes; ++i) {
        state = state * 1664525 + 1013904223;
        seed += static_cast<char>(state >> 24);
      }
      seed[0] = 0;
      seed[1] = static_cast<char>(space);
      all.push_back(seed);
    }
  return all;
}

}  // namespace starling::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  starling::fuzz::Values values(data, size);
  starling::fuzz::Calls calls(values);
  while (!values.is_empty()) calls.next();
  return 0;
}
