// Messages to the operator: one line each on standard error.
//
// Any thread may write. A line is one system call, so lines never mix. If standard error is a
// closed pipe, lines are lost and no signal is raised.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace h2server::base {

enum class Severity { info, warning, error };

void log_line(Severity severity, std::string_view text) noexcept;

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(Severity::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(Severity::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_line(Severity::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace h2server::base
