// SPDX-License-Identifier: Apache-2.0
// Media types of bodies and answers. The routes ask which type a body has, and which type the
// client wants.
#pragma once

#include <string>
#include <string_view>

namespace starling::stream {

inline constexpr std::string_view json_type = "application/json";
inline constexpr std::string_view geo_json_type = "application/geo+json";

/// Returns the media type of a Content-Type, without parameters and in lower case.
std::string media_type_of(std::string_view content_type);
bool is_json_lines(std::string_view media_type);

/// Returns whether an Accept field allows the media type `type`, which is in lower case. An empty
/// field allows every type.
bool accepts(std::string_view accept, std::string_view type);

/// Returns whether an Accept field prefers GeoJSON to JSON: with the higher weight (q), or with the
/// same weight and by a narrower range, or listed first. Returns false if it allows neither type.
bool prefers_geo_json(std::string_view accept);

}  // namespace starling::stream
