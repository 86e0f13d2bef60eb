#include "require.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace h2server::fuzz {

namespace {

constexpr std::size_t before_bytes = 40;  // of context, the same in both texts
constexpr std::size_t shown_bytes = 400;

void print_escaped(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      std::fputc(c, stderr);
    } else {
      std::fprintf(stderr, "\\x%02x", byte);
    }
  }
  std::fputc('\n', stderr);
}

}  // namespace

void require(bool holds, std::string_view what) {
  if (holds) [[likely]]
    return;
  std::fprintf(stderr, "broken invariant: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void require_same(std::string_view left, std::string_view right, std::string_view what) {
  if (left == right) [[likely]]
    return;
  const auto differs = std::ranges::mismatch(left, right).in1;
  const auto at = static_cast<std::size_t>(differs - left.begin());
  const std::size_t from = at - std::min(at, before_bytes);
  std::fprintf(stderr, "different from byte %zu on; from byte %zu:\n", at, from);
  print_escaped(left.substr(from, shown_bytes));
  print_escaped(right.substr(from, shown_bytes));
  require(false, what);
}

}  // namespace h2server::fuzz
