// SPDX-License-Identifier: Apache-2.0
// What the tests of starling.hpp share: the sentence with which a call is refused.
#pragma once

#include <string>

#include <gmock/gmock.h>

#include "starling/starling.hpp"

namespace starling::test {

/// Checks that the call throws Error with this code, and returns its sentence.
template <class Call>
std::string refusal(starling_code code, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "the call is not refused";
  return "";
}

}  // namespace starling::test
