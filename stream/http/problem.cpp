// SPDX-License-Identifier: Apache-2.0
// Makes problem documents, and chooses their statuses: see problem.hpp.
#include "starling/stream/http/problem.hpp"

#include <cstdint>

#include "starling/knn/base/assert.hpp"
#include "starling/knn/base/json_text.hpp"

namespace starling::stream {

using protocol::ErrorCode;

namespace {

std::string_view title_of(unsigned status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

/// `add_members` adds further members to the JSON object.
template <class AddMembers>
HttpAnswer make_problem(unsigned status, std::string_view sentence, std::string_view code,
                        const AddMembers& add_members) {
  JsonText json;
  json.begin_object();
  json.key("type").text("about:blank").key("title").text(title_of(status));
  json.key("status").number(std::uint64_t{status}).key("detail").text(sentence);
  if (!code.empty()) json.key("code").text(code);
  add_members(json);
  json.end_object();
  HttpAnswer answer{
      .status = status, .content_type = "application/problem+json", .body = json.take() + "\n"};
  if (status == 429 || status == 503) answer.fields.emplace_back("Retry-After", "1");
  return answer;
}

}  // namespace

HttpAnswer problem_answer(unsigned status, std::string_view sentence, std::string_view code) {
  return make_problem(status, sentence, code, [](JsonText&) {});
}

HttpAnswer problem_answer(const protocol::Problem& problem) {
  return make_problem(status_of(problem.code), problem.sentence, to_string(problem.code),
                      [&](JsonText& json) {
                        const protocol::ReachedLimit& limit = problem.limit;
                        if (!limit.name.empty())
                          json.key("limit").text(limit.name).key("limit_value").number(limit.value);
                      });
}

HttpAnswer no_place_answer(const PlaceWords& words, const Places::Taken& taken) {
  const std::string connections(words.connections);
  if (taken.outcome == Places::Outcome::quota) {
    const protocol::ReachedLimit quota{"quota." + std::string(words.quota), taken.bound};
    return problem_answer(
        protocol::Problem{ErrorCode::busy,
                          "You have as many " + connections + " as " + to_string(quota) +
                              " allows; end one of them, or ask the server's owner to raise " +
                              quota.name + " in the keys file.",
                          quota});
  }
  const protocol::ReachedLimit limit{std::string(words.limit), taken.bound};
  return problem_answer(protocol::Problem{
      ErrorCode::busy,
      "There are as many " + connections + " as " + to_string(limit) +
          " allows, and no other client has more than you; try again when one has ended, or start "
          "the server with a larger --" +
          limit.name + ".",
      limit});
}

HttpAnswer stopping_answer() {
  return problem_answer(protocol::Problem{
      ErrorCode::shutting_down,
      "The server is stopping and accepts no further client; connect again in a while.",
      {}});
}

HttpAnswer unknown_object_answer(std::uint64_t tick, std::int64_t tau_us) {
  const std::string sentence =
      tick == 0
          ? "No tick has finished yet, so the server can show no object; ask again after the next "
            "tick."
          : "Tick " + std::to_string(tick) +
                " has no object with this id: it was never put, was removed, or has expired. Check "
                "the id. An object that was just put is there from the next tick on.";
  return make_problem(
      404, sentence, to_string(protocol::RowReason::unknown_object),
      [&](JsonText& json) { json.key("tick").number(tick).key("time_us").number(tau_us); });
}

unsigned status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_value:
    case ErrorCode::bad_text:
    case ErrorCode::k_out_of_range:
    case ErrorCode::malformed:
    case ErrorCode::wrong_version:
    case ErrorCode::unknown_request:
    case ErrorCode::array_mismatch:
    case ErrorCode::tau_too_early:
    case ErrorCode::not_manual:
      return 400;
    case ErrorCode::not_allowed:
      return 403;
    case ErrorCode::unknown_stream:
      return 404;
    case ErrorCode::frame_too_large:
    case ErrorCode::too_many_rows:
      return 413;
    case ErrorCode::too_many_streams:
    case ErrorCode::out_of_credit:
      return 429;
    case ErrorCode::none:
    case ErrorCode::unknown_session:
    case ErrorCode::too_many_sessions:
    case ErrorCode::sequence_gap:
    case ErrorCode::sequence_forgotten:
    case ErrorCode::busy:
    case ErrorCode::tick_failed:
    case ErrorCode::page_expired:
    case ErrorCode::shutting_down:
    case ErrorCode::answer_failed:
    case ErrorCode::log_put_back:
      return 503;
  }
  assertion_failed("every error code has a status");
}

}  // namespace starling::stream
