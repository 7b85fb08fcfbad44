// SPDX-License-Identifier: Apache-2.0
// Splits and checks the parameters of a target: see parameters.hpp.
#include "starling/stream/http/parameters.hpp"

#include <algorithm>
#include <utility>

#include "starling/stream/json/bad_request.hpp"
#include "starling/stream/json/value_text.hpp"

namespace starling::stream {

namespace {

std::string list_of(std::span<const std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

std::string decoded(std::string_view text) {
  auto result = percent_decoded(text, true);
  if (!result)
    throw BadRequest{"The parameters must be percent-encoded UTF-8, such as na%C3%AFve."};
  return std::move(*result);
}

}  // namespace

Parameters::Parameters(std::string_view query, std::span<const std::string_view> known) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    const std::string name = decoded(pair.substr(0, equals));
    if (std::ranges::find(known, name) == known.end())
      throw BadRequest{
          "There is no parameter \"" + name + "\" here; " +
          (known.empty() ? "this path takes none." : "it may be " + list_of(known) + ".")};
    if (equals == std::string_view::npos)
      throw BadRequest{"The parameter \"" + name + "\" has no value; write " + name + "=VALUE."};
    if (!values_.emplace(name, decoded(pair.substr(equals + 1))).second)
      throw BadRequest{"The parameter \"" + name + "\" is given twice; give it once."};
  }
}

const std::string* Parameters::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

void Parameters::refuse(std::string_view name, std::string_view text, std::string_view what) {
  throw BadRequest{std::string(name) + " must be " + std::string(what) + ", not \"" +
                   std::string(text) + "\"."};
}

}  // namespace starling::stream
