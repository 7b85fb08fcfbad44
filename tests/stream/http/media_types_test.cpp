// SPDX-License-Identifier: Apache-2.0
// Tests the reader of Accept: weights, ranges and their order.
#include "starling/stream/http/media_types.hpp"

#include <gtest/gtest.h>

namespace starling::stream {
namespace {

TEST(HttpMediaTypes, JsonIsPreferredUnlessGeoJsonIsAskedFor) {
  for (const char* accept :
       {"", " ", "*/*", "application/*", "application/json", "text/html", "garbage",
        ",;,q=", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "application/json, application/geo+json", "application/geo+json;q=0.5, application/json",
        "application/geo+json;q=0", "application/geo+json;q=0, */*", "application/geo+json;q=x",
        "application/geo+json;q=2", "application/geo+json;q=-1", "application/geo+json;q=nan"})
    EXPECT_FALSE(prefers_geo_json(accept)) << accept;
  for (const char* accept :
       {"application/geo+json", "Application/GEO+json", "application/geo+json, application/json",
        "application/json;q=0.5, application/geo+json", "application/geo+json, */*",
        "*/*, application/geo+json", "application/*, application/geo+json;charset=utf-8",
        "application/geo+json;q=0.9, */*;q=0.8", "text/html , application/geo+json ; q=0.1",
        "application/json;q=0, */*", "application/geo+json;profile=\"a,b\";q=1"})
    EXPECT_TRUE(prefers_geo_json(accept)) << accept;
}

TEST(HttpMediaTypes, TheNarrowestRangeDecides) {
  EXPECT_TRUE(accepts("", json_type));
  EXPECT_TRUE(accepts("text/html, */*;q=0.1", json_type));
  EXPECT_FALSE(accepts("*/*, application/json;q=0", json_type));
  EXPECT_FALSE(accepts("application/*;q=0, */*", json_type));
  EXPECT_TRUE(accepts("application/*;q=0, application/json", json_type));
  EXPECT_FALSE(accepts("application/geo+json", json_type));
  EXPECT_FALSE(accepts("appl*", json_type));
}

TEST(HttpMediaTypes, AContentTypeMayHaveParameters) {
  EXPECT_EQ(media_type_of("Application/JSON; charset=utf-8"), "application/json");
  EXPECT_EQ(media_type_of(" application/json \t;x"), "application/json");
  EXPECT_EQ(media_type_of(""), "");
  EXPECT_TRUE(is_json_lines("application/x-ndjson"));
  EXPECT_FALSE(is_json_lines("application/json"));
}

}  // namespace
}  // namespace starling::stream
