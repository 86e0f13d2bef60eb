#include "part_names.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "content/names/file_name.h"
#include "multipart_reading.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

// RFC 3629: each code point in its shortest form, no surrogates.
bool is_utf8(std::string_view text) {
  constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t size = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : 4;
    if ((size == 4 && lead >> 3 != 30) || text.size() - i < size) return false;
    std::uint32_t point = size == 1 ? lead : lead & (0xffU >> (size + 1));
    for (std::size_t k = 1; k < size; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if (byte >> 6 != 2) return false;
      point = point << 6 | (byte & 0x3f);
    }
    if (point < least[size] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
      return false;
    }
    i += size;
  }
  return true;
}

// RFC 8187, 3.2: every byte as an escape.
std::string extended_value(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string value = "UTF-8''";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    value.append("%").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
  }
  return value;
}

// Quotes the text as browsers do (WHATWG HTML, 4.10.21.8) and doubles backslashes. Returns nullopt
// if the text contains one of their escapes, which would be decoded.
std::optional<std::string> quoted_value(std::string_view text) {
  std::string value = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view next = text.substr(i, 3);
    if (next == "%22" || next == "%0D" || next == "%0A") return std::nullopt;
    switch (text[i]) {
      case '"':
        value += "%22";
        break;
      case '\r':
        value += "%0D";
        break;
      case '\n':
        value += "%0A";
        break;
      case '\\':
        value += "\\\\";
        break;
      default:
        value += text[i];
    }
  }
  return value + '"';
}

}  // namespace

void require_safe_file_name(std::string_view claimed) {
  const std::optional<std::string> name = content::safe_file_name(claimed);
  if (!name) return;
  require(!name->empty() && name->size() <= 255, "a file name has 1 to 255 bytes");
  require(name->find_first_of("/\\") == std::string::npos, "a file name is one segment");
  require(is_utf8(*name), "a file name is UTF-8");
  require(!name->starts_with('.'), "a file name is no folder and hides no file");
  require(!name->starts_with("h2_tmp_"), "a file name is no name of ours");
  for (const char c : *name) {
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a file name has no controls");
  }
  require(content::safe_file_name(*name) == name, "a safe name is left as it is");
}

void require_reprints(const content::PartHead& head) {
  const std::optional<std::string> name = quoted_value(head.name);
  if (!name) return;
  std::string body = "--B\r\nContent-Disposition: form-data; name=" + *name;
  if (head.file_name) body += "; filename*=" + extended_value(*head.file_name);
  body += "\r\nContent-Type: " + head.content_type + "\r\n\r\n\r\n--B--";
  const content::MultipartLimits wide{.head_bytes_max = body.size()};
  const MultipartReading reading = read_multipart("B", body, Cuts::whole(), wide);
  require_same(reading.problem, "", "a head that is written again is one");
  require(reading.finished && reading.parts.size() == 1, "and is that of one part");
  const content::PartHead& again = reading.parts[0].head;
  require_same(again.name, head.name, "its name is the same");
  require(again.file_name == head.file_name, "its file's name is the same");
  require_same(again.content_type, head.content_type, "its type is the same");
}

}  // namespace h2server::fuzz
