#include "config/problems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <tuple>

namespace h2server::config {

namespace {

bool is_at(const Place& a, const Place& b) noexcept { return a.line == b.line && a.file == b.file; }

}  // namespace

void Problems::add(const Place& place, const std::string& text, std::string_view key) {
  const auto same = [&](const Problem& one) { return is_at(place, one.place) && one.text == text; };
  if (std::ranges::any_of(all_, same)) return;
  if (all_.size() < lines_max) all_.push_back({place, text, key});
  else ++others_;
}

bool Problems::has(const Place& place, std::string_view key) const noexcept {
  return std::ranges::any_of(
      all_, [&](const Problem& one) { return is_at(place, one.place) && one.key == key; });
}

std::vector<std::string> Problems::lines() const {
  std::vector<const Problem*> sorted;
  for (const Problem& one : all_) sorted.push_back(&one);
  // Those of one line stay in their order.
  std::ranges::sort(sorted, {}, [](const Problem* one) {
    return std::tuple(std::string_view(one->place.file), one->place.line, one);
  });
  std::vector<std::string> lines;
  for (const Problem* const one : sorted) {
    const bool placed = !one->place.file.empty();
    lines.push_back(placed ? fmt::format("{}: {}", name_of(one->place), one->text) : one->text);
  }
  if (others_ > 0) lines.push_back(fmt::format("and {} more", others_));
  return lines;
}

std::string Problems::text() const { return fmt::format("{}", fmt::join(lines(), "\n")); }

std::string name_of(const Place& place) {
  if (place.file.empty()) return "the command line";
  return place.line == 0 ? place.file : fmt::format("{}:{}", place.file, place.line);
}

}  // namespace h2server::config
