// Writes the pieces of a log line into memory that is large enough. Pure functions, any thread.
//
// Each function gets the place to write to and returns the place behind what it has written. The
// caller provides the room: see the bounds below.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace h2server::observe {

inline constexpr std::array<char, 200> digit_pairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t value = 0; value < 100; ++value) {
    pairs[2 * value] = static_cast<char>('0' + value / 10);
    pairs[2 * value + 1] = static_cast<char>('0' + value % 10);
  }
  return pairs;
}();

// Copies a literal. Its size is known to the compiler, so this is a few moves.
template <std::size_t size>
inline char* put(char* to, const char (&literal)[size]) noexcept {
  std::memcpy(to, literal, size - 1);
  return to + size - 1;
}

inline char* put(char* to, std::string_view text) noexcept {
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

// `value` is below 100.
inline char* put_pair(char* to, std::uint64_t value) noexcept {
  std::memcpy(to, &digit_pairs[2 * value], 2);
  return to + 2;
}

inline constexpr std::size_t decimal_bytes_max = 20;

inline char* put_decimal(char* to, std::uint64_t value) noexcept {
  if (value < 10) {
    *to = static_cast<char>('0' + value);
    return to + 1;
  }
  if (value < 100) return put_pair(to, value);
  if (value >= 10'000) return std::to_chars(to, to + decimal_bytes_max, value).ptr;
  if (value >= 1000) return put_pair(put_pair(to, value / 100), value % 100);
  *to = static_cast<char>('0' + value / 100);
  return put_pair(to + 1, value % 100);
}

// `value` is below 1'000'000.
inline char* put_six_digits(char* to, std::uint64_t value) noexcept {
  return put_pair(put_pair(put_pair(to, value / 10'000), value / 100 % 100), value % 100);
}

// Writes microseconds as seconds with six decimals.
inline char* put_seconds(char* to, std::int64_t us) noexcept {
  const std::uint64_t value = us < 0 ? 0 : static_cast<std::uint64_t>(us);
  if (value < 1'000'000) {
    to = put(to, "0.");
    return put_six_digits(to, value);
  }
  to = put(put_decimal(to, value / 1'000'000), ".");
  return put_six_digits(to, value % 1'000'000);
}

// How the bytes of a peer's text are written.
enum class Escape : std::uint8_t {
  json,   // of a string: \u00XX for controls, quotes, backslashes; U+FFFD for what is not UTF-8
  text,   // \xHH for controls, quotes, backslashes and bytes outside ASCII, as nginx does
  token,  // as text, and spaces too
};

// The room that put_escaped() needs, what it writes past its end included.
constexpr std::size_t escaped_bytes_max(std::size_t size, std::size_t size_max) noexcept {
  return 6 * (size < size_max ? size : size_max) + 32;
}

// Writes `text`. If it has more than `size_max` bytes, writes the first ones, up to a character's
// end, and a mark: "…" in JSON, "..." otherwise. May write up to 16 bytes past what it returns.
template <Escape escape>
char* put_escaped(char* to, std::string_view text, std::size_t size_max) noexcept;

extern template char* put_escaped<Escape::json>(char*, std::string_view, std::size_t) noexcept;
extern template char* put_escaped<Escape::text>(char*, std::string_view, std::size_t) noexcept;
extern template char* put_escaped<Escape::token>(char*, std::string_view, std::size_t) noexcept;

}  // namespace h2server::observe
