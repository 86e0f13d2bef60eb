#include "app/doctor/doctor_text.h"

#include <fmt/format.h>

#include <array>
#include <fstream>

#include "base/text/text.h"

namespace h2server::app {

std::string read_small(const std::filesystem::path& file, std::size_t bytes_max) {
  std::ifstream in(file, std::ios::binary);
  std::string text(bytes_max, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

std::optional<std::uint64_t> read_number(const std::filesystem::path& file) {
  const std::string text = read_small(file, 64);
  return base::parse_decimal(std::string_view(text).substr(0, text.find_first_of(" \t\n")));
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 || value >= 10 ? 0 : 1, units.at(unit));
}

std::string counted(std::uint64_t number, const std::string& noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

}  // namespace h2server::app
