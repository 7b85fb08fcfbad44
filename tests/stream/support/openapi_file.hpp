// SPDX-License-Identifier: Apache-2.0
// Compares answers with docs/openapi.json: whether the file has the status and the media type, and
// whether a JSON body fits its schema. HttpClient checks each answer that it gets.
#pragma once

#include <string>
#include <string_view>

namespace starling::stream {

/// Returns why the file does not describe the answer, or an empty text if it does. `path` is the
/// path of the route, such as "/v1/objects/{id}". A body is checked if its media type is JSON.
std::string openapi_fault_of(std::string_view method, std::string_view path, unsigned status,
                             std::string_view media_type, const std::string& body);

}  // namespace starling::stream
