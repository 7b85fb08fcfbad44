// SPDX-License-Identifier: Apache-2.0
// Reads the parts of OpenAPI's schemas that docs/openapi.json uses: see openapi_file.hpp.
#include "tests/stream/support/openapi_file.hpp"

#include <cctype>
#include <optional>

#include <simdjson.h>

namespace starling::stream {

namespace {

using Json = simdjson::dom::element;

std::optional<Json> member(const Json& of, std::string_view name) {
  Json found;
  if (of.at_key(name).get(found)) return std::nullopt;
  return found;
}

std::string_view text_of_member(const Json& of, std::string_view name) {
  std::string_view text;
  const auto found = member(of, name);
  if (found && found->get(text)) return {};
  return text;
}

bool is_true(const Json& of, std::string_view name) {
  const auto found = member(of, name);
  return found && found->is_bool() && bool(*found);
}

bool is_of_type(const Json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  return type.empty() || (type == "number" && value.is_number());
}

class OpenApiFile {
 public:
  OpenApiFile() : root_(parser_.load(STARLING_SOURCE_DIR "/docs/openapi.json")) {}

  std::string fault_of(std::string_view method, std::string_view path, unsigned status,
                       std::string_view media_type, const std::string& body) const {
    std::string verb(method == "HEAD" ? "GET" : method);
    for (char& letter : verb) letter = static_cast<char>(std::tolower(letter));
    const Json operation = root_["paths"].at_key(path).at_key(verb);
    const auto answer = member(operation["responses"], std::to_string(status));
    if (!answer) return "the status is not described";
    const auto type = member(resolved(*answer)["content"], media_type);
    if (!type) return "the media type " + std::string(media_type) + " is not described";
    if (method == "HEAD" || !media_type.ends_with("json")) return {};
    simdjson::dom::parser parser;
    return fault_of(parser.parse(body), (*type)["schema"], "the body");
  }

 private:
  Json resolved(const Json& element) const {
    const std::string_view reference = text_of_member(element, "$ref");
    return reference.empty() ? element : Json(root_.at_pointer(reference.substr(1)));
  }

  std::string fault_of(const Json& value, const Json& unresolved, const std::string& what) const {
    const Json schema = resolved(unresolved);
    if (value.is_null() && is_true(schema, "nullable")) return {};
    if (const auto all = member(schema, "allOf"))
      for (const Json each : *all)
        if (auto fault = fault_of(value, each, what); !fault.empty()) return fault;
    const std::string_view type = text_of_member(schema, "type");
    if (!is_of_type(value, type)) return what + " is not of the type " + std::string(type);
    if (value.is_object() && type == "object") return fault_of_members(value, schema, what);
    const auto items = member(schema, "items");
    if (value.is_array() && items)
      for (const Json each : value)
        if (auto fault = fault_of(each, *items, "an item of " + what); !fault.empty()) return fault;
    return fault_of_enum(value, schema, what);
  }

  std::string fault_of_members(const Json& value, const Json& schema,
                               const std::string& what) const {
    if (const auto required = member(schema, "required"))
      for (const Json each : *required)
        if (const std::string_view name = each; !member(value, name))
          return what + " lacks " + std::string(name);
    const auto properties = member(schema, "properties");
    const auto others = member(schema, "additionalProperties");
    for (const auto& [name, each] : simdjson::dom::object(value)) {
      auto described = properties ? member(*properties, name) : std::nullopt;
      if (!described && others && others->is_object()) described = others;
      if (!described) return what + " has " + std::string(name) + ", which is not described";
      if (auto fault = fault_of(each, *described, std::string(name)); !fault.empty()) return fault;
    }
    return {};
  }

  static std::string fault_of_enum(const Json& value, const Json& schema, const std::string& what) {
    const auto allowed = member(schema, "enum");
    if (!allowed) return {};
    for (const Json each : *allowed)
      if (value.is_string() && std::string_view(each) == std::string_view(value)) return {};
    return what + " is none of its enum";
  }

  simdjson::dom::parser parser_;
  Json root_;
};

}  // namespace

std::string openapi_fault_of(std::string_view method, std::string_view path, unsigned status,
                             std::string_view media_type, const std::string& body) {
  static const OpenApiFile file;
  return file.fault_of(method, path, status, media_type, body);
}

}  // namespace starling::stream
