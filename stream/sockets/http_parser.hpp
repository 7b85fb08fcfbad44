// SPDX-License-Identifier: Apache-2.0
// Boost.Beast's parser of requests, but it refuses fields that continue on a further line
// (obs-fold: RFC 9112, section 5.2). Another server in front may read such a field differently,
// for example "Transfer-Encoding:" and then " chunked". HttpConnection has a parser for each
// request.
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

  /// Beast has joined the lines already. Between a name and a value on one line are only a colon
  /// and blanks. The value of a folded field begins on a later line, or in another buffer; then its
  /// first line has a letter before the value is reached.
  static bool is_folded(Text name, Text value) {
    for (const char* at = name.data() + name.size(); at != value.data(); ++at)
      if (*at != ':' && *at != ' ' && *at != '\t') return true;
    return false;
  }
};

}  // namespace starling::stream
