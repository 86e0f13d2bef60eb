// Lines and blocks of the screen of `h2server top`, which keep to their width in columns.
//
// Values, for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace h2server::app {

enum class Tone : std::uint8_t { plain, title, quiet, chart, good, warning, bad };

// A line in the making.
class Line {
 public:
  Line(bool colour, std::size_t columns) : colour_(colour), room_(columns) {}

  // Adds as much of the text as there is room for. Its characters take a column each.
  Line& put(std::string_view text, Tone tone = Tone::plain);
  // The same, padded or cut to that many columns.
  Line& put_left(std::string_view text, std::size_t columns, Tone tone = Tone::plain);
  Line& put_right(std::string_view text, std::size_t columns, Tone tone = Tone::plain);
  // Adds spaces until there is room for `columns` only.
  Line& fill(std::size_t columns = 0);

  [[nodiscard]] std::size_t room() const noexcept { return room_; }  // columns
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  bool colour_;
  std::size_t room_;
  std::string text_;
};

// Lines of one width.
class Block {
 public:
  Block(bool colour, std::size_t columns) : colour_(colour), columns_(columns) {}

  [[nodiscard]] Line line() const { return {colour_, columns_}; }
  void add(Line line);
  void add_text(std::string_view text, Tone tone = Tone::plain) { add(line().put(text, tone)); }
  void add_empty() { add(line()); }
  // Adds the lines of another one.
  void add(const Block& below);
  // Adds two blocks side by side.
  void add(const Block& left, const Block& right);
  // Drops what is above that many lines.
  void cut(std::size_t rows);

  [[nodiscard]] bool colour() const noexcept { return colour_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }

 private:
  bool colour_;
  std::size_t columns_;
  std::vector<std::string> lines_;
};

}  // namespace h2server::app
