#include "content/archive/omissions.h"

#include <fmt/format.h>

#include "base/text/utf8.h"

namespace h2server::content {

namespace {

constexpr std::size_t lines_bytes_max = 64UL * 1024;

// A name must not look like several lines.
std::string without_controls(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

void Omissions::add(std::string_view path, std::string_view reason) {
  ++count_;
  if (lines_.size() >= lines_bytes_max) return;
  lines_ += fmt::format("{}: {}\n", without_controls(base::to_valid_utf8(path)), reason);
  ++shown_;
}

std::string Omissions::text() const {
  std::string text = "These files and folders could not be read and are not in this archive:\n\n";
  text += lines_;
  if (count_ > shown_) text += fmt::format("… and {} more\n", count_ - shown_);
  return text;
}

}  // namespace h2server::content
