#include "content/archive/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "base/assert.h"
#include "base/text/utf8.h"

namespace h2server::content {

namespace {

constexpr std::size_t block_bytes = 512;
constexpr std::size_t name_bytes = 100;
constexpr std::size_t prefix_bytes = 155;
constexpr std::uint64_t eleven_octal_digits_max = 077777777777;  // 8 GiB - 1; in seconds: 2242
constexpr std::string_view extended_header_name = "PaxHeader";

struct HeaderField {
  std::size_t at;
  std::size_t size;
};

// ustar's header block.
constexpr HeaderField name_field{0, name_bytes};
constexpr HeaderField mode_field{100, 8};
constexpr HeaderField user_field{108, 8};
constexpr HeaderField group_field{116, 8};
constexpr HeaderField size_field{124, 12};
constexpr HeaderField modified_field{136, 12};
constexpr HeaderField checksum_field{148, 8};
constexpr HeaderField type_field{156, 1};
constexpr HeaderField magic_field{257, 8};  // with the version
constexpr HeaderField device_major_field{329, 8};
constexpr HeaderField device_minor_field{337, 8};
constexpr HeaderField prefix_field{345, prefix_bytes};

using Block = std::array<char, block_bytes>;

void put_field(Block& block, const HeaderField& field, std::string_view text) {
  ASSERT(text.size() <= field.size);
  std::ranges::copy(text, block.begin() + static_cast<std::ptrdiff_t>(field.at));
}

// Octal digits that fill the field, but for the byte 0 at its end.
void put_number(Block& block, const HeaderField& field, std::uint64_t value) {
  put_field(block, field, fmt::format("{:0{}o}", value, field.size - 1));
}

struct SplitPath {
  std::string_view prefix;
  std::string_view name;
};

// Splits `path` at a '/' so that both parts fit into their fields, or returns the first bytes of it
// that fit, if there is no such '/'.
SplitPath split(std::string_view path) {
  if (path.size() <= name_bytes) return {{}, path};
  // A directory's '/' at the end belongs to the name, which is not empty.
  const std::size_t slash = path.find('/', path.size() - name_bytes - 1);
  if (slash != std::string_view::npos && slash > 0 && slash <= prefix_bytes &&
      slash + 1 < path.size()) {
    return {path.substr(0, slash), path.substr(slash + 1)};
  }
  return {{}, path.substr(0, name_bytes)};
}

bool fits_in_fields(std::string_view path, const SplitPath& parts) {
  const std::size_t slash = parts.prefix.empty() ? 0 : 1;
  return parts.prefix.size() + slash + parts.name.size() == path.size();
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool fits_in_octal(std::int64_t seconds) {
  return seconds >= 0 && static_cast<std::uint64_t>(seconds) <= eleven_octal_digits_max;
}

// "LENGTH KEYWORD=VALUE\n", where the length counts its own digits.
void append_record(std::string& records, std::string_view keyword, std::string_view value) {
  const std::size_t rest = keyword.size() + value.size() + 3;  // ' ', '=', '\n'
  std::size_t length = rest;
  while (fmt::formatted_size("{}", length) + rest != length) {
    length = fmt::formatted_size("{}", length) + rest;
  }
  records += fmt::format("{} {}={}\n", length, keyword, value);
}

// Returns what ustar's header can't hold, or "".
std::string records_of(const ArchiveEntry& entry, std::string_view path) {
  std::string records;
  if (!is_ascii(path) || !fits_in_fields(path, split(path))) {
    if (!base::is_utf8(path)) append_record(records, "hdrcharset", "BINARY");
    append_record(records, "path", path);
  }
  if (entry.size > eleven_octal_digits_max) {
    append_record(records, "size", fmt::format("{}", entry.size));
  }
  if (!fits_in_octal(entry.modified_s)) {
    append_record(records, "mtime", fmt::format("{}", entry.modified_s));
  }
  return records;
}

struct Header {
  std::string_view path;
  char type;
  std::uint32_t mode;
  std::uint64_t size;
  std::int64_t modified_s;
};

// Numbers that do not fit are 0: an extended header in front has them.
void append_header(std::string& out, const Header& header) {
  Block block{};
  const SplitPath parts = split(header.path);
  put_field(block, prefix_field, parts.prefix);
  put_field(block, name_field, parts.name);
  put_number(block, mode_field, header.mode);
  put_number(block, user_field, 0);
  put_number(block, group_field, 0);
  put_number(block, size_field, header.size <= eleven_octal_digits_max ? header.size : 0);
  put_number(block, modified_field,
             fits_in_octal(header.modified_s) ? static_cast<std::uint64_t>(header.modified_s) : 0);
  put_field(block, type_field, {&header.type, 1});
  put_field(block, magic_field, {"ustar\00000", 8});
  put_number(block, device_major_field, 0);
  put_number(block, device_minor_field, 0);
  // The sum of all bytes, with spaces in its own place.
  put_field(block, checksum_field, "        ");
  const unsigned sum = std::accumulate(block.begin(), block.end(), 0U, [](unsigned so_far, char c) {
    return so_far + static_cast<unsigned char>(c);
  });
  put_field(block, checksum_field, fmt::format("{:06o}", sum) + '\0');
  out.append(block.data(), block.size());
}

void append_padding(std::string& out, std::uint64_t size) {
  out.append(static_cast<std::size_t>((block_bytes - size % block_bytes) % block_bytes), '\0');
}

}  // namespace

Result<void> TarFraming::begin(const ArchiveEntry& entry, std::string& out) {
  const bool directory = entry.kind == ArchiveEntry::Kind::directory;
  ASSERT(!directory || entry.size == 0);
  std::string path(entry.path);
  if (directory) path += '/';
  const std::string records = records_of(entry, path);
  if (!records.empty()) {
    append_header(out, {extended_header_name, 'x', 0644, records.size(), 0});
    out += records;
    append_padding(out, records.size());
  }
  append_header(
      out, {path, directory ? '5' : '0', directory ? 0755U : 0644U, entry.size, entry.modified_s});
  size_ = entry.size;
  return {};
}

void TarFraming::end(std::string& out) { append_padding(out, size_); }

bool TarFraming::finish(std::string& out) {
  out.append(2 * block_bytes, '\0');
  return false;
}

}  // namespace h2server::content
