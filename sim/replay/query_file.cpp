// SPDX-License-Identifier: Apache-2.0
// Finds the columns and checks each query: see query_file.hpp.
#include "starling/sim/replay/query_file.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "starling/knn/base/time_text.hpp"
#include "starling/sim/data/files/csv_reader.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "starling/sim/data/files/number_text.hpp"
#include "starling/sim/data/files/quoted_text.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t no_column = ~std::size_t{0};

/// The columns of a query's parts. A file has either the column `follow` or position columns.
struct QueryColumns {
  std::size_t id = no_column;
  std::size_t follow = no_column;
  std::array<std::size_t, 3> position{no_column, no_column, no_column};
  std::size_t k = no_column;
  std::size_t distance_max_m = no_column;
  std::size_t age_max = no_column;
  std::size_t tags_required = no_column;
  std::size_t tags_forbidden = no_column;
};

class QueryFile {
 public:
  QueryFile(const std::string& path, const protocol::QuerySpec& common, const Lattice& lattice,
            NameTable& query_names, NameTable& object_names)
      : path_(path),
        common_(common),
        lattice_(lattice),
        query_names_(query_names),
        object_names_(object_names) {}

  std::vector<protocol::QuerySpec> read() {
    TextInput input(path_);
    CsvReader reader(input);
    std::vector<Field> fields;
    if (!reader.next(fields)) fail({{}, 1, 1}, "the file is empty; " + wanted_header());
    const QueryColumns columns = find_columns(fields);
    std::vector<protocol::QuerySpec> queries;
    std::unordered_set<std::uint64_t> ids;
    const std::size_t width = fields.size();
    reader.end_comments();
    while (reader.next(fields)) {
      if (const Field* const beyond = find_beyond(fields, width))
        fail(*beyond, beyond_the_header(beyond->text));
      queries.push_back(parse(fields, columns));
      if (!ids.insert(to_number(queries.back().id)).second)
        fail(at(fields, columns.id), "this query id occurs twice in the file");
    }
    return queries;
  }

 private:
  /// The names of the position columns in the order x, y, z.
  std::span<const std::string_view> position_names() const {
    static constexpr std::array<std::string_view, 3> geographic{"lon", "lat", "alt"};
    static constexpr std::array<std::string_view, 3> planar{"x", "y", "z"};
    const Space space = lattice_.options().space;
    if (space == Space::wgs84) return geographic;
    return std::span(planar).first(space == Space::planar3 ? 3 : 2);
  }

  std::string wanted_header() const {
    const std::string position = lattice_.options().space == Space::wgs84     ? "lat,lon"
                                 : lattice_.options().space == Space::planar3 ? "x,y,z"
                                                                              : "x,y";
    return "a header is needed: query_id," + position +
           " or query_id,follow, and any of k, distance_max_m, age_max, tags_required, "
           "tags_forbidden";
  }

  /// Returns the member for the column `name`, or null if no column has this name.
  std::size_t* find_part(std::string_view name, QueryColumns& columns) const {
    const auto axes = position_names();
    const auto axis = std::ranges::find(axes, name);
    if (axis != axes.end()) return &columns.position[static_cast<std::size_t>(axis - axes.begin())];
    if (name == "query_id") return &columns.id;
    if (name == "follow") return &columns.follow;
    if (name == "k") return &columns.k;
    if (name == "distance_max_m") return &columns.distance_max_m;
    if (name == "age_max") return &columns.age_max;
    if (name == "tags_required") return &columns.tags_required;
    return name == "tags_forbidden" ? &columns.tags_forbidden : nullptr;
  }

  // An unknown column is refused, because ignoring a misspelt filter would silently give wrong
  // results.
  QueryColumns find_columns(const std::vector<Field>& header) const {
    QueryColumns columns;
    const Field* unknown = nullptr;
    for (std::size_t column = 0; column < header.size(); ++column) {
      std::string_view name = trim(header[column].text);
      if (column == 0 && name.starts_with('#')) name = trim(name.substr(1));
      std::size_t* const part = find_part(name, columns);
      if (part == nullptr) {
        if (unknown == nullptr) unknown = &header[column];
      } else if (std::exchange(*part, column) != no_column) {
        fail(header[column], "the column " + quoted_text(name) + " occurs twice");
      }
    }
    const bool has_position = columns.position[0] != no_column && columns.position[1] != no_column;
    const bool has_axis = columns.position != QueryColumns().position;
    const bool follows = columns.follow != no_column;
    if (columns.id == no_column || (follows ? has_axis : !has_position))
      fail(header.front(), wanted_header());
    if (unknown != nullptr)
      fail(*unknown,
           "there is no column " + quoted_text(trim(unknown->text)) +
               " in a file of queries for this trace; the columns are query_id, follow, " +
               listed(position_names()) +
               ", k, distance_max_m, age_max, tags_required, tags_forbidden");
    return columns;
  }

  static std::string listed(std::span<const std::string_view> names) {
    std::string text;
    for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
    return text;
  }

  protocol::QuerySpec parse(const std::vector<Field>& fields, const QueryColumns& columns) {
    protocol::QuerySpec query = common_;
    query.id = QueryId{intern(at(fields, columns.id), query_names_)};
    parse_limits(fields, columns, query);
    if (columns.follow != no_column) {
      query.anchor = AnchorKind::follow;
      query.object = ObjectId{intern(at(fields, columns.follow), object_names_)};
      return query;
    }
    query.anchor = AnchorKind::fixed;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (columns.position[axis] == no_column) continue;
      const Field field = at(fields, columns.position[axis]);
      const std::optional<double> value = parse_number(field.text);
      if (!value) fail(field, "this is not a number: " + quoted_text(field.text));
      query.position[axis] = *value;
    }
    LatticePoint point;
    const PositionError error = lattice_.to_lattice(query.position, point);
    if (error != PositionError::none)
      fail(at(fields, columns.position[0]), "the position is " + std::string(to_string(error)));
    return query;
  }

  /// Parses k and the filter. An empty field keeps the value that all queries share.
  void parse_limits(const std::vector<Field>& fields, const QueryColumns& columns,
                    protocol::QuerySpec& query) const {
    take(fields, columns.k, parse_k, "a k from 1 to " + std::to_string(k_max), query.k);
    take(fields, columns.distance_max_m, parse_distance, "a distance in metres",
         query.distance_max_m);
    take(fields, columns.age_max, parse_age, "a positive duration, such as 30s, 10m or 1h",
         query.age_max_us);
    const std::string tags = "tag bits, such as 5 or 0x5";
    take(fields, columns.tags_required, parse_tag_bits, tags, query.tags.required);
    take(fields, columns.tags_forbidden, parse_tag_bits, tags, query.tags.forbidden);
  }

  template <class Value, class Parse>
  void take(const std::vector<Field>& fields, std::size_t column, const Parse& parse,
            const std::string& wanted, Value& value) const {
    if (column == no_column) return;
    const Field field = at(fields, column);
    const std::string_view text = trim(field.text);
    if (text.empty()) return;
    const std::optional<Value> parsed = parse(text);
    if (!parsed) fail(field, "this is not " + wanted + ": " + quoted_text(text));
    value = *parsed;
  }

  static std::optional<std::uint32_t> parse_k(std::string_view text) {
    const std::optional<std::uint32_t> k =
        text.starts_with("0") ? std::nullopt : parse_tag_bits(text);
    return k && *k <= k_max ? k : std::nullopt;
  }

  static std::optional<double> parse_distance(std::string_view text) {
    const std::optional<double> distance_m = parse_number(text);
    return distance_m && *distance_m >= 0 ? distance_m : std::nullopt;
  }

  static std::optional<std::int64_t> parse_age(std::string_view text) {
    const std::optional<std::int64_t> age_us = parse_duration_us(text);
    return age_us && *age_us > 0 ? age_us : std::nullopt;
  }

  std::uint64_t intern(const Field& field, NameTable& names) const {
    const std::string_view text = trim(field.text);
    if (text.empty()) fail(field, "an id is missing");
    const NameTable::Interned interned = names.intern(text);
    if (interned.collides)
      fail(field,
           "the id " + quoted_text(text) + " has the same 64-bit hash as another id; rename it");
    return interned.id;
  }

  static Field at(const std::vector<Field>& fields, std::size_t column) {
    if (column < fields.size()) return fields[column];
    const Field& last = fields.back();
    return {{}, last.line, last.column + last.text.size()};
  }

  [[noreturn]] void fail(const Field& place, const std::string& sentence) const {
    throw InputError(path_, place.line, place.column, sentence);
  }

  const std::string& path_;
  const protocol::QuerySpec& common_;
  const Lattice& lattice_;
  NameTable& query_names_;
  NameTable& object_names_;
};

}  // namespace

std::vector<protocol::QuerySpec> read_query_file(const std::string& path,
                                                 const protocol::QuerySpec& common,
                                                 const Lattice& lattice, NameTable& query_names,
                                                 NameTable& object_names) {
  return QueryFile(path, common, lattice, query_names, object_names).read();
}

}  // namespace starling::sim
