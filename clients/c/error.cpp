// SPDX-License-Identifier: Apache-2.0
// Keeps the last error of each thread: see error.hpp. Also implements starling_last_error,
// starling_version and starling_row_status_text.
#include "starling/clients/c/error.hpp"

#include <new>

#include "starling/clients/c/structs.hpp"
#include "starling/protocol/client/client.hpp"
#include "starling/protocol/client/result.hpp"

namespace starling::c {
namespace {

thread_local Failure last_failure{.code = STARLING_OK};

/// Returns the text of an exception as a sentence, with a capital letter and a full stop. Some
/// exceptions have neither, because a program prints its name before them. An endpoint at the front
/// keeps its letters, so that the reader can copy it.
std::string sentence_of(const char* words) {
  std::string sentence = words;
  if (sentence.empty()) return sentence;
  const bool is_endpoint = sentence.substr(0, sentence.find(' ')).find("://") != std::string::npos;
  if (!is_endpoint && sentence.front() >= 'a' && sentence.front() <= 'z')
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  if (sentence.back() != '.') sentence += '.';
  return sentence;
}

/// Stores this thread's last error without throwing. If there is no memory for the sentence, only
/// the code is stored.
starling_code keep(starling_code code, const char* sentence) noexcept {
  last_failure.code = code;
  try {
    last_failure = Failure{.code = code, .sentence = sentence_of(sentence)};
  } catch (...) {
    last_failure.name.clear();
    last_failure.sentence.clear();
    last_failure.limit_name.clear();
    last_failure.limit_value = 0;
  }
  return code;
}

}  // namespace

void fail(starling_code code, std::string sentence) {
  throw FailureError({.code = code, .sentence = std::move(sentence)});
}

void fail(const protocol::Problem& problem) {
  throw FailureError({.code = problem.code == protocol::ErrorCode::tick_failed
                                  ? STARLING_TICK_FAILED
                                  : STARLING_REFUSED,
                      .name = std::string(to_string(problem.code)),
                      .sentence = problem.sentence,
                      .limit_name = problem.limit.name,
                      .limit_value = problem.limit.value});
}

starling_code keep_error() noexcept {
  try {
    throw;
  } catch (const FailureError& error) {
    try {
      last_failure = error.failure;
      return error.failure.code;
    } catch (...) {
      return keep(error.failure.code, "");
    }
  } catch (const protocol::RefusedError& error) {
    return keep(STARLING_REFUSED, error.what());
  } catch (const protocol::TimeoutError& error) {
    return keep(STARLING_TIMED_OUT, error.what());
  } catch (const protocol::KeyError& error) {
    return keep(STARLING_REFUSED, error.what());
  } catch (const protocol::EndpointError& error) {
    return keep(STARLING_UNAVAILABLE, error.what());
  } catch (const std::bad_alloc&) {
    return keep(STARLING_OUT_OF_MEMORY,
                "There is no memory for this call; free some, or pass less.");
  } catch (const std::length_error&) {
    return keep(STARLING_OUT_OF_MEMORY, "An array would be longer than memory; pass less at once.");
  } catch (const std::invalid_argument& error) {
    return keep(STARLING_INVALID_ARGUMENT, error.what());
  } catch (const std::exception& error) {
    return keep(STARLING_INTERNAL, error.what());
  } catch (...) {
    return keep(STARLING_INTERNAL, "An unknown exception was thrown.");
  }
}

}  // namespace starling::c

using namespace starling;

starling_code starling_last_error(starling_error* error) {
  return c::guard([&] {
    const c::Failure& last = c::last_failure;
    c::write_struct(error, "error",
                    starling_error{.size = 0,
                                   .code = last.code,
                                   .name = last.name.c_str(),
                                   .sentence = last.sentence.c_str(),
                                   .limit_name = last.limit_name.c_str(),
                                   .limit_value = last.limit_value});
  });
}

const char* starling_version(void) {
  return STARLING_VERSION;
}

const char* starling_row_status_text(starling_row_status status) {
  // Every text of to_string ends with a NUL, because it is a literal.
  if (status == STARLING_ROW_ACCEPTED) return "accepted";
  if (status > static_cast<unsigned>(protocol::last_row_reason)) return "unknown status";
  return to_string(static_cast<protocol::RowReason>(status)).data();
}
