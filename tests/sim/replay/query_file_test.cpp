// SPDX-License-Identifier: Apache-2.0
// Tests the reader of query files: its three kinds of header, and errors that name their place in
// the file.
#include "starling/sim/replay/query_file.hpp"

#include <gmock/gmock.h>

#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/data/files/errors.hpp"
#include "tests/sim/data/traces/trace_fixture.hpp"

namespace starling::sim {
namespace {

using testing::HasSubstr;

std::vector<protocol::QuerySpec> read_queries(std::string_view text, Space space = Space::wgs84) {
  const TemporaryDirectory directory;
  NameTable queries;
  NameTable objects;
  protocol::QuerySpec common;
  common.k = 5;
  return read_query_file(directory.write("queries.csv", text), common, Lattice({.space = space}),
                         queries, objects);
}

std::string error_of(std::string_view text, Space space = Space::wgs84) {
  try {
    read_queries(text, space);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(QueryFile, ReadsFixedPositions) {
  const auto queries = read_queries("query_id,lat,lon\n1,52.5,13.4\nhome,0,0\n");
  ASSERT_EQ(queries.size(), 2u);
  EXPECT_EQ(queries[0].id, QueryId{1});
  EXPECT_EQ(queries[0].k, 5u);
  EXPECT_EQ(queries[0].anchor, AnchorKind::fixed);
  EXPECT_EQ(queries[0].position, (Position{13.4, 52.5, 0}));
  EXPECT_EQ(to_number(queries[1].id), to_number(protocol::id_of_text("home")));
  EXPECT_EQ(read_queries("y,x,query_id\n2,1,9\n", Space::planar2).at(0).position,
            (Position{1, 2, 0}));
  EXPECT_EQ(read_queries("query_id,x,y,z\n9,1,2,3\n", Space::planar3).at(0).position,
            (Position{1, 2, 3}));
}

TEST(QueryFile, ReadsFollowedObjects) {
  const auto queries = read_queries("query_id,follow\n1,car_0\n2,77\n");
  ASSERT_EQ(queries.size(), 2u);
  EXPECT_EQ(queries[0].anchor, AnchorKind::follow);
  EXPECT_EQ(queries[0].object, protocol::id_of_text("car_0"));
  EXPECT_EQ(queries[1].object, ObjectId{77});
}

TEST(QueryFile, EachQueryMayHaveItsOwnLengthAndFilter) {
  const auto queries = read_queries(
      "query_id,lat,lon,k,distance_max_m,age_max,tags_required,tags_forbidden\n"
      "1,0,0,3,250.5,10m,5,0x10\n"
      "2,0,0,,,,,\n");
  ASSERT_EQ(queries.size(), 2u);
  EXPECT_EQ(queries[0].k, 3u);
  EXPECT_EQ(queries[0].distance_max_m, 250.5);
  EXPECT_EQ(queries[0].age_max_us, 600'000'000);
  EXPECT_EQ(queries[0].tags, (TagFilter{5, 16}));
  EXPECT_EQ(queries[1].k, 5u) << "an empty field keeps the common value";
  EXPECT_EQ(queries[1].distance_max_m, protocol::QuerySpec::any_distance_m);
  EXPECT_EQ(queries[1].age_max_us, Filter::any_age);
  EXPECT_EQ(queries[1].tags, TagFilter());
  const auto following = read_queries("k,query_id,follow\n1024,1,car\n");
  EXPECT_EQ(following.at(0).k, 1024u);
  const auto pandas = read_queries("query_id,follow,k,distance_max_m\r1,car,3.0,\r2,bus,,5\r");
  ASSERT_EQ(pandas.size(), 2u);
  EXPECT_EQ(pandas[0].k, 3u);
  EXPECT_EQ(pandas[1].distance_max_m, 5);
  EXPECT_EQ(following.at(0).anchor, AnchorKind::follow);
}

TEST(QueryFile, RefusesValuesThatAreNoLengthAndNoFilter) {
  const auto error = [](const std::string& column, const std::string& value) {
    return error_of("query_id,lat,lon," + column + "\n1,0,0," + value + "\n");
  };
  for (const std::string k : {"0", "1025", "-1", "2.5", "0x5", "many"})
    EXPECT_THAT(error("k", k), HasSubstr(":2:7: this is not a k from 1 to 1024: '" + k + "'"));
  for (const std::string distance : {"-1", "nan", "5km"})
    EXPECT_THAT(error("distance_max_m", distance), HasSubstr("this is not a distance in metres"));
  for (const std::string age : {"10", "0s", "-1m", "10 m"})
    EXPECT_THAT(error("age_max", age), HasSubstr("this is not a positive duration"));
  for (const std::string tags : {"-1", "4294967296", "free", "0x"})
    for (const std::string column : {"tags_required", "tags_forbidden"})
      EXPECT_THAT(error(column, tags), HasSubstr("this is not tag bits"));
}

TEST(QueryFile, RefusesUnknownColumnsByName) {
  EXPECT_THAT(error_of("query_id,lat,lon,max_distance\n1,0,0,5\n"),
              HasSubstr(":1:18: there is no column 'max_distance' in a file of queries for this "
                        "trace; the columns are query_id, follow, lon, lat, alt, k, "
                        "distance_max_m, age_max, tags_required, tags_forbidden"));
  EXPECT_THAT(error_of("query_id,x,y,z\n1,0,0,5\n", Space::planar2),
              HasSubstr("there is no column 'z'"));
  EXPECT_THAT(error_of("query_id,follow,K\n1,0,5\n"), HasSubstr("there is no column 'K'"));
  EXPECT_THAT(error_of("query_id,follow,k,k\n1,0,5,5\n"), HasSubstr("'k' occurs twice"));
  EXPECT_THAT(error_of("query_id,follow,lat\n1,0,5\n"), HasSubstr("a header is needed"));
}

TEST(QueryFile, RefusesWithThePlace) {
  EXPECT_THAT(error_of(""), HasSubstr("query_id,lat,lon or query_id,follow"));
  EXPECT_THAT(error_of("query_id,x,y\n1,2,3\n"), HasSubstr(":1:1: a header is needed"));
  EXPECT_THAT(error_of("query_id,lat,lon\n1,2,3\n", Space::planar2),
              HasSubstr("query_id,x,y or query_id,follow"));
  EXPECT_THAT(error_of("query_id,lat,lon\n1,2,east\n"),
              HasSubstr(":2:5: this is not a number: 'east'"));
  EXPECT_THAT(error_of("query_id,lat,lon\n1,2,\x1b[2J\n"), HasSubstr("'\\x1b[2J'"));
  EXPECT_THAT(error_of("query_id,lat,lon\n1,95,3\n"), HasSubstr("latitude outside [-90, 90]"));
  EXPECT_THAT(error_of("query_id,lat,lon\n1,2,3\n01,2,3\n"), HasSubstr(":3:1: this query id"));
  EXPECT_THAT(error_of("query_id,follow\n1\n"), HasSubstr(":2:2: an id is missing"));
}

}  // namespace
}  // namespace starling::sim
