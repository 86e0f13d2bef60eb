#include "app/top/top_layout.h"

#include <algorithm>

#include "app/top/top_text.h"

namespace h2server::app {

namespace {

std::string_view sequence_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::title:
      return "\x1b[1m";
    case Tone::quiet:
      return "\x1b[2m";
    case Tone::chart:
      return "\x1b[36m";
    case Tone::good:
      return "\x1b[32m";
    case Tone::warning:
      return "\x1b[33m";
    case Tone::bad:
      return "\x1b[1;31m";
  }
  return "";
}

}  // namespace

Line& Line::put(std::string_view text, Tone tone) {
  const std::size_t columns = std::min(columns_of(text), room_);
  if (columns == 0) return *this;
  const bool toned = colour_ && tone != Tone::plain;
  if (toned) text_ += sequence_of(tone);
  text_ += left(text, columns);
  if (toned) text_ += "\x1b[0m";
  room_ -= columns;
  return *this;
}

Line& Line::put_left(std::string_view text, std::size_t columns, Tone tone) {
  return put(left(text, columns), tone);
}

Line& Line::put_right(std::string_view text, std::size_t columns, Tone tone) {
  return put(right(text, columns), tone);
}

Line& Line::fill(std::size_t columns) {
  return room_ > columns ? put(std::string(room_ - columns, ' ')) : *this;
}

void Block::add(Line line) { lines_.push_back(line.fill().text()); }

void Block::add(const Block& below) {
  lines_.insert(lines_.end(), below.lines_.begin(), below.lines_.end());
}

void Block::add(const Block& left, const Block& right) {
  const std::string between(columns_ - left.columns_ - right.columns_, ' ');
  const std::size_t rows = std::max(left.lines_.size(), right.lines_.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const auto of = [row](const Block& block) {
      return row < block.lines_.size() ? block.lines_[row] : std::string(block.columns_, ' ');
    };
    lines_.push_back(of(left) + between + of(right));
  }
}

void Block::cut(std::size_t rows) {
  if (lines_.size() > rows) lines_.resize(rows);
}

}  // namespace h2server::app
