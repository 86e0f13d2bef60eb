#include "content/cache/disk_object.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"

namespace h2server::content {

namespace {

constexpr std::string_view first_line = "h2server object 1";
constexpr std::string_view digest_name = "sha256";

Sha256::Value digest_of(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.finish();
}

// Removes a line from the front of `text`; nullopt if there is none.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<Sha256::Value> read_digest(std::string_view digits) {
  const auto bytes = bytes_of_hex_digits(digits);
  Sha256::Value value{};
  if (!bytes || bytes->size() != value.size()) return std::nullopt;
  std::ranges::copy(*bytes, value.begin());
  return value;
}

// Returns false if the line is none of a head.
bool read_line(std::string_view line, DiskHead& head) {
  const std::size_t colon = line.find(": ");
  if (colon == line.npos) return false;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = line.substr(colon + 2);
  ObjectInfo& info = head.info;
  if (name == "etag") info.etag = value;
  if (name == "type") info.content_type = value;
  if (name == "size" || name == "modified") {
    const std::optional<std::uint64_t> number = base::parse_decimal(value);
    if (number && name == "size") info.size = *number;
    if (number && name == "modified") info.modified_s = static_cast<std::int64_t>(*number);
    return number.has_value();
  }
  if (name == "field") {
    const std::size_t end = value.find(": ");
    if (end == value.npos) return false;
    info.fields.push_back({std::string(value.substr(0, end)), std::string(value.substr(end + 2))});
  }
  if (name == "block") {
    const std::optional<Sha256::Value> digest = read_digest(value);
    if (digest) head.digests.push_back(*digest);
    return digest.has_value();
  }
  return name == "etag" || name == "type" || name == "field";
}

}  // namespace

std::string to_text(const DiskHead& head) {
  const ObjectInfo& info = head.info;
  std::string text = fmt::format("{}\nsize: {}\netag: {}\nmodified: {}\ntype: {}\n", first_line,
                                 info.size, info.etag, info.modified_s, info.content_type);
  for (const Response::Line& line : info.fields) {
    text += fmt::format("field: {}: {}\n", line.name, line.value);
  }
  for (const Sha256::Value& digest : head.digests) {
    text += fmt::format("block: {}\n", hex_digits(digest));
  }
  text += fmt::format("{}: {}\n", digest_name, hex_digits(digest_of(text)));
  return text;
}

std::optional<DiskHead> parse_disk_head(std::string_view text) {
  const std::string_view whole = text;
  DiskHead head;
  if (take_line(text) != first_line) return std::nullopt;
  for (;;) {
    const std::size_t at = whole.size() - text.size();
    const std::optional<std::string_view> line = take_line(text);
    if (!line) return std::nullopt;
    if (line->starts_with(digest_name)) {
      const std::string expected = hex_digits(digest_of(whole.substr(0, at)));
      const bool same = line->substr(digest_name.size()) == ": " + expected;
      const bool fits = head.digests.size() == disk_blocks(head.info.size);
      return same && fits && text.empty() ? std::optional(std::move(head)) : std::nullopt;
    }
    if (!read_line(*line, head)) return std::nullopt;
  }
}

bool DiskObject::check(std::size_t block, std::string_view bytes) const {
  if (digest_of(bytes) != head_.digests[block]) return false;
  if (!checks_->done()) checks_->note(block);
  return true;
}

}  // namespace h2server::content
