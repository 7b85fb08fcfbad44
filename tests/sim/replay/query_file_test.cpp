// SPDX-License-Identifier: Apache-2.0
// Tests the reader of query files: its three kinds of header, and errors that name their place in
// the file.
#include "starling/sim/replay/query_file.hpp"

#include <gmock/gmock.h>

#include "starling/protocol/wire/text_id.hpp"
#include "starling/sim/files/errors.hpp"
#include "tests/sim/traces/trace_fixture.hpp"

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
