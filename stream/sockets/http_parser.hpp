// SPDX-License-Identifier: Apache-2.0
// Boost.Beast's parser of requests, which here also refuses fields of several lines (obs-fold: RFC
// 9112, section 5.2). A proxy in front of this server may read such a field differently, for
// example "Transfer-Encoding:" with " chunked" on the next line. HttpConnection has a parser for
// each request.
#pragma once

#include <boost/beast/http.hpp>

namespace starling::stream {

class HttpParser final
    : public boost::beast::http::request_parser<boost::beast::http::string_body> {
  using Text = boost::beast::string_view;

  void on_field_impl(boost::beast::http::field name, Text name_text, Text value,
                     boost::beast::error_code& error) override {
    if (is_folded(name_text, value))
      error = boost::beast::http::error::bad_obs_fold;
    else
      get().insert(name, name_text, value);
  }

  /// Returns whether the field had several lines, which Beast has joined already. On one line, only
  /// a colon and blanks are between the name and the value. The value of a field of several lines
  /// begins on a later line, or in another buffer, so other characters are between them.
  static bool is_folded(Text name, Text value) {
    for (const char* at = name.data() + name.size(); at != value.data(); ++at)
      if (*at != ':' && *at != ' ' && *at != '\t') return true;
    return false;
  }
};

}  // namespace starling::stream
