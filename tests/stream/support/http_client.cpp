// SPDX-License-Identifier: Apache-2.0
// Sends requests with Boost.Beast and waits for their answers: see http_client.hpp.
#include "tests/stream/support/http_client.hpp"

#include <algorithm>
#include <cctype>
#include <memory>

#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "starling/stream/http/media_types.hpp"
#include "starling/stream/http/routes.hpp"
#include "starling/stream/json/bad_request.hpp"
#include "tests/stream/support/openapi_file.hpp"
#include "tests/stream/support/running_server.hpp"

namespace starling::stream {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

HttpReply HttpClient::get(std::string_view target, const Fields& fields) {
  return ask("GET", target, {}, fields);
}

HttpReply HttpClient::remove(std::string_view target, const Fields& fields) {
  return ask("DELETE", target, {}, fields);
}

HttpReply HttpClient::post(std::string_view target, std::string body, std::string_view type) {
  return ask("POST", target, std::move(body), {{"Content-Type", std::string(type)}});
}

HttpReply HttpClient::put(std::string_view target, std::string body) {
  return ask("PUT", target, std::move(body), {{"Content-Type", "application/json"}});
}

HttpReply HttpClient::ask(std::string_view method, std::string_view target, std::string body,
                          const Fields& fields) {
  if (!stream_) connect();
  http::request<http::string_body> request;
  request.method_string({method.data(), method.size()});
  request.target({target.data(), target.size()});
  request.set(http::field::host, endpoint_);
  request.body() = std::move(body);
  if (!request.body().empty()) request.content_length(request.body().size());
  for (const auto& [name, value] : fields) {
    request.erase(name);
    if (!value.empty()) request.set(name, value);
  }
  finish([&](auto done) { http::async_write(*stream_, request, done); });
  http::response_parser<http::string_body> parser;
  parser.body_limit(std::size_t{64} << 20);
  parser.skip(method == "HEAD");
  const auto error = finish([&](auto done) { http::async_read(*stream_, buffer_, parser, done); });
  HttpReply reply;
  if (!error) {
    reply.status = parser.get().result_int();
    reply.body = parser.get().body();
    for (const auto& field : parser.get()) {
      std::string name(field.name_string().data(), field.name_string().size());
      std::ranges::transform(name, name.begin(), [](unsigned char letter) {
        return static_cast<char>(std::tolower(letter));
      });
      reply.fields[name] = {field.value().data(), field.value().size()};
    }
    check_declared(method, target, reply);
  }
  if (error || !parser.get().keep_alive()) stream_.reset();
  return reply;
}

void HttpClient::connect() {
  const std::size_t colon = endpoint_.rfind(':');
  const auto port = static_cast<std::uint16_t>(std::stoi(endpoint_.substr(colon + 1)));
  stream_ = std::make_unique<beast::tcp_stream>(loop_);
  buffer_.clear();
  stream_->connect({asio::ip::make_address(endpoint_.substr(0, colon)), port});
}

template <class Start>
beast::error_code HttpClient::finish(Start start) {
  beast::error_code result;
  stream_->expires_after(patience);
  start([&](const beast::error_code& error, std::size_t) { result = error; });
  loop_.restart();
  loop_.run();
  return result;
}

void check_declared(std::string_view method, std::string_view target, const HttpReply& reply) {
  EXPECT_EQ(reply.fields.at("x-content-type-options"), "nosniff") << target;
  EXPECT_EQ(reply.fields.at("cache-control"), "no-store") << target;
  RouteMatch match;
  try {
    match = find_route(method, target);
  } catch (const BadRequest&) {
    EXPECT_EQ(reply.status, 400u) << target;
  }
  if (match.route == nullptr) return;
  EXPECT_EQ(std::ranges::count(match.route->statuses(), reply.status), 1)
      << method << " " << target << " answers " << reply.status << ": " << reply.body;
  EXPECT_EQ(openapi_fault_of(method, match.route->path, reply.status,
                             media_type_of(reply.fields.at("content-type")), reply.body),
            "")
      << method << " " << target << " answers " << reply.status << ": " << reply.body;
}

}  // namespace starling::stream
