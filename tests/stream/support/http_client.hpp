// SPDX-License-Identifier: Apache-2.0
// A client of a server's HTTP endpoint that keeps its connection. It checks that each answer has a
// status that its route declares, and that the security fields are set.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace starling::stream {

struct HttpReply {
  unsigned status = 0;  ///< 0: the server has closed the connection without an answer
  std::string body;
  std::map<std::string, std::string> fields;  ///< the names are in lower case
};

class HttpClient {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  explicit HttpClient(std::string endpoint) : endpoint_(std::move(endpoint)) {}

  HttpReply get(std::string_view target, const Fields& fields = {});
  HttpReply remove(std::string_view target, const Fields& fields = {});
  HttpReply post(std::string_view target, std::string body,
                 std::string_view type = "application/json");
  HttpReply put(std::string_view target, std::string body);

  /// Sends the request with these fields, which replace others of the same name. An empty value
  /// leaves the field out.
  HttpReply ask(std::string_view method, std::string_view target, std::string body,
                const Fields& fields);

 private:
  void connect();
  template <class Start>
  boost::beast::error_code finish(Start start);

  std::string endpoint_;
  boost::asio::io_context loop_;
  std::unique_ptr<boost::beast::tcp_stream> stream_;
  boost::beast::flat_buffer buffer_;
};

/// Checks an answer to `method` and `target` against the table of routes and docs/openapi.json.
void check_declared(std::string_view method, std::string_view target, const HttpReply& reply);

}  // namespace starling::stream
