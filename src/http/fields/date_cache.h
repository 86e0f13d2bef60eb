// DateCache: the value of the Date field, formatted once a second. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "http/fields/date.h"

namespace h2server::http {

class DateCache {
 public:
  // The result is valid until the next call.
  std::string_view at(std::int64_t unix_seconds) noexcept {
    if (unix_seconds != formatted_) {
      format_date(unix_seconds, text_);
      formatted_ = unix_seconds;
    }
    return {text_.data(), text_.size()};
  }

 private:
  std::array<char, date_size> text_;
  std::int64_t formatted_ = -1;
};

}  // namespace h2server::http
