// SPDX-License-Identifier: Apache-2.0
// The exception for a request whose target or body cannot be used. The readers of JSON and of
// parameters throw it before anything changes, and HttpApi answers with it.
#pragma once

#include <string>

namespace starling::stream {

struct BadRequest {
  std::string sentence;  ///< what was wrong, and what to send instead
  unsigned status = 400;
};

}  // namespace starling::stream
