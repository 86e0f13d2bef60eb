#include "app/put/put_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "app/top/full_screen.h"
#include "content/names/markup.h"

namespace h2server::app {

namespace {

constexpr std::chrono::milliseconds bar_pause{100};
constexpr std::chrono::seconds line_pause{10};
constexpr std::chrono::milliseconds measured_for{500};

std::string human_size(std::uint64_t bytes) {
  std::string text;
  content::append_size(text, bytes);
  return text;
}

unsigned percent_of(const PutFigures& figures) {
  if (figures.size == 0) return 100;
  const double share = static_cast<double>(figures.sent) / static_cast<double>(figures.size);
  return static_cast<unsigned>(std::min(share, 1.0) * 100);
}

// "1:02:03" or "0:12"; empty if it is not known.
std::string rest_of(const PutFigures& figures) {
  if (figures.bytes_per_s < 1 || figures.sent > figures.size) return {};
  const double seconds =
      std::ceil(static_cast<double>(figures.size - figures.sent) / figures.bytes_per_s);
  if (seconds > 360'000) return {};
  const auto whole = static_cast<unsigned>(seconds);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// At most so many bytes, and no part of a character of UTF-8.
std::string_view shortened(std::string_view name, std::size_t bytes) {
  if (name.size() <= bytes) return name;
  while (bytes > 0 && (static_cast<unsigned char>(name[bytes]) & 0xc0) == 0x80) --bytes;
  return name.substr(0, bytes);
}

}  // namespace

std::string progress_line(const PutFigures& figures, std::size_t columns) {
  const unsigned percent = percent_of(figures);
  std::string right = fmt::format(" {:3} %", percent);
  if (figures.bytes_per_s >= 1) {
    right += fmt::format("  {}/s", human_size(static_cast<std::uint64_t>(figures.bytes_per_s)));
  }
  if (const std::string rest = rest_of(figures); !rest.empty()) right += "  " + rest;
  const std::string name(shortened(figures.name, std::max<std::size_t>(columns / 3, 8)));
  constexpr std::size_t bar_min = 10;
  constexpr std::size_t bar_max = 40;
  constexpr std::size_t around = 4;  // blanks and brackets
  const std::size_t taken = name.size() + right.size() + around;
  if (taken + bar_min > columns) return std::string(shortened(name + right, columns));
  const std::size_t width = std::min(bar_max, columns - taken);
  const std::size_t full = width * percent / 100;
  return name + "  [" + std::string(full, '#') + std::string(width - full, ' ') + "]" + right;
}

PutProgress::PutProgress(Shape shape, std::string name, std::uint64_t size)
    : shape_(shape), name_(std::move(name)), size_(size) {}

void PutProgress::measure(std::uint64_t sent, Clock::time_point now) {
  const bool first = measured_ == Clock::time_point::min();
  if (!first && now - measured_ < measured_for) return;
  if (!first && sent >= sent_) {
    const double seconds = std::chrono::duration<double>(now - measured_).count();
    const double now_per_s = static_cast<double>(sent - sent_) / seconds;
    bytes_per_s_ = bytes_per_s_ == 0 ? now_per_s : 0.7 * bytes_per_s_ + 0.3 * now_per_s;
  }
  measured_ = now;
  sent_ = sent;
}

void PutProgress::update(std::uint64_t sent) {
  if (shape_ == Shape::nothing) return;
  const auto now = Clock::now();
  measure(sent, now);
  const bool first = shown_ == Clock::time_point::min();
  if (shape_ == Shape::lines) {
    // The first line is due after a pause: most files are sent by then.
    if (first) shown_ = now;
    if (now - shown_ < line_pause) return;
    shown_ = now;
    const PutFigures figures{name_, sent, size_, bytes_per_s_};
    fmt::print(stderr, "{}: {} % of {}\n", name_, percent_of(figures), human_size(size_));
    return;
  }
  if (!first && now - shown_ < bar_pause) return;
  shown_ = now;
  has_bar_ = true;
  const std::string line =
      progress_line({name_, sent, size_, bytes_per_s_}, FullScreen::size().columns - 1);
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
}

void PutProgress::note(std::string_view text) {
  if (shape_ == Shape::nothing) return;
  end();
  fmt::print(stderr, "{}: {}\n", name_, text);
}

void PutProgress::end() {
  if (std::exchange(has_bar_, false)) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = Clock::time_point::min();
}

}  // namespace h2server::app
