// SPDX-License-Identifier: Apache-2.0
// Finds the columns and checks each query: see query_file.hpp.
#include "starling/sim/replay/query_file.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

#include "starling/sim/files/csv_reader.hpp"
#include "starling/sim/files/errors.hpp"
#include "starling/sim/files/number_text.hpp"
#include "starling/sim/files/quoted_text.hpp"

namespace starling::sim {
namespace {

constexpr std::size_t no_column = ~std::size_t{0};

/// The columns of a query's parts. A file has either the column `follow` or position columns.
struct QueryColumns {
  std::size_t id = no_column;
  std::size_t follow = no_column;
  std::array<std::size_t, 3> position{no_column, no_column, no_column};
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
    while (reader.next(fields)) {
      queries.push_back(parse(fields, columns));
      if (!ids.insert(to_number(queries.back().id)).second)
        fail(at(fields, columns.id), "this query id occurs twice in the file");
    }
    return queries;
  }

 private:
  std::string wanted_header() const {
    const std::string position = lattice_.options().space == Space::wgs84     ? "lat,lon"
                                 : lattice_.options().space == Space::planar3 ? "x,y,z"
                                                                              : "x,y";
    return "a header is needed: query_id," + position + " or query_id,follow";
  }

  QueryColumns find_columns(const std::vector<Field>& header) const {
    const Space space = lattice_.options().space;
    const std::vector<std::string> names = texts_of(header);
    const auto column = [&](std::string_view name) {
      return find_column(names, name).value_or(no_column);
    };
    QueryColumns columns;
    columns.id = column("query_id");
    columns.follow = column("follow");
    columns.position = space == Space::wgs84
                           ? std::array{column("lon"), column("lat"), column("alt")}
                           : std::array{column("x"), column("y"),
                                        space == Space::planar3 ? column("z") : no_column};
    const bool has_position = columns.position[0] != no_column && columns.position[1] != no_column;
    if (columns.id == no_column || has_position == (columns.follow != no_column))
      fail(header.front(), wanted_header());
    return columns;
  }

  protocol::QuerySpec parse(const std::vector<Field>& fields, const QueryColumns& columns) {
    protocol::QuerySpec query = common_;
    query.id = QueryId{intern(at(fields, columns.id), query_names_)};
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
