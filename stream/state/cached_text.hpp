// SPDX-License-Identifier: Apache-2.0
// A text that is slow to make and often read. It is made again only when it is older than a period.
// Server answers /metrics with it, so that many scrapes do not hold the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace starling::stream {

class CachedText {
 public:
  /// A text is used for `period_us` after it was made.
  CachedText(std::int64_t period_us, std::function<std::string()> make)
      : period_us_(period_us), make_(std::move(make)) {}

  const std::string& at(std::int64_t now_us) {
    if (made_us_ && now_us - *made_us_ < period_us_) return text_;
    text_ = make_();
    made_us_ = now_us;
    return text_;
  }

 private:
  const std::int64_t period_us_;
  const std::function<std::string()> make_;
  std::string text_;
  std::optional<std::int64_t> made_us_;
};

}  // namespace starling::stream
