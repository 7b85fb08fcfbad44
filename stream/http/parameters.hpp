// SPDX-License-Identifier: Apache-2.0
// The parameters of a target, such as "k=3&x=1&y=2". A route lists the parameters that it knows.
// All others are refused, so that a misspelt name is not ignored.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace starling::stream {

class Parameters {
 public:
  /// Parses the part of a target after '?'. Throws BadRequest if a parameter is given twice, is
  /// not in `known`, or is not percent-encoded UTF-8.
  Parameters(std::string_view query, std::span<const std::string_view> known);

  bool has(std::string_view name) const { return values_.contains(name); }
  /// Returns nullptr if the parameter is not given.
  const std::string* find(std::string_view name) const;

  /// Returns the parameter as `parse` reads it; std::nullopt if it is not given. Throws BadRequest
  /// if `parse` returns std::nullopt. `what` says what the parameter is, for example "a number".
  template <class Value>
  std::optional<Value> get(std::string_view name, std::optional<Value> (*parse)(std::string_view),
                           std::string_view what) const {
    const std::string* text = find(name);
    if (text == nullptr) return std::nullopt;
    const auto value = parse(*text);
    if (!value) refuse(name, *text, what);
    return value;
  }

 private:
  [[noreturn]] static void refuse(std::string_view name, std::string_view text,
                                  std::string_view what);

  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace starling::stream
