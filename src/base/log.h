// Messages to the operator: one line each on standard error, or in a file, with the time in front.
//
// What readers would not see as it is becomes harmless_text(); only a line for information may be
// several lines. Any thread may write. A line is one system call, so lines never mix. If standard
// error is a closed pipe, lines are lost and no signal is raised. A warning or an error that
// repeats the line before it within ten seconds is counted instead of written; "TEXT (repeated N
// times)" follows with the next line, after these ten seconds, or by flush_log().
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

namespace h2server::base {

enum class Severity : std::uint8_t { info, warning, error };

// Allocates nothing and never waits for another thread: two that write at once do so without
// counting repetitions.
void log_line(Severity severity, std::string_view text) noexcept;

// Writes the line about repetitions, if there were any. Call it before the program ends.
void flush_log() noexcept;
// The same if the ten seconds are over. Call it now and then.
void flush_due_log() noexcept;

// From now on, lines go to the file at `path`, which is made if it is missing and appended to; an
// empty path is standard error again. Returns 0, or an errno value: then nothing changes.
int log_to_file(std::string_view path) noexcept;

// Opens the file anew, after a program has renamed it. Returns 0, also without a file, or an errno
// value: then lines go to the file that is open.
int reopen_log() noexcept;

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
