#include "content/storage/pending_description.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

#include "base/text/text.h"
#include "h2server/json.h"

namespace h2server::content {

namespace {

constexpr std::array<std::pair<Concatenation, std::string_view>, 3> concatenations = {{
    {Concatenation::none, "none"},
    {Concatenation::partial, "partial"},
    {Concatenation::final, "final"},
}};

void append_member(std::string& json, std::string_view name, std::string_view value) {
  json += json.empty() ? "{\n  " : ",\n  ";
  json.append(json_string(name)).append(": ").append(value);
}

void append_number_member(std::string& json, std::string_view name, std::uint64_t value) {
  append_member(json, name, std::to_string(value));
}

void append_text_member(std::string& json, std::string_view name, std::string_view value) {
  if (!value.empty()) append_member(json, name, json_string(value));
}

// Reads an object of strings and numbers, as to_json() writes it.
class Reader {
 public:
  explicit Reader(std::string_view json) : rest_(json) {}

  // Returns false if what follows is something else.
  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }
  std::optional<std::string> read_string() {
    if (!take('"')) return std::nullopt;
    std::string text;
    while (!rest_.empty() && rest_.front() != '"') {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c != '\\') {
        text += c;
        continue;
      }
      if (!read_escape(text)) return std::nullopt;
    }
    if (rest_.empty()) return std::nullopt;
    rest_.remove_prefix(1);
    return text;
  }
  std::optional<std::uint64_t> read_number() {
    skip_blanks();
    std::size_t size = 0;
    while (size < rest_.size() && base::is_digit(rest_[size])) ++size;
    const std::optional<std::uint64_t> number = base::parse_decimal(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return number;
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (base::is_blank(rest_.front()) || rest_.front() == '\n')) {
      rest_.remove_prefix(1);
    }
  }
  // json_string() escapes quotes, backslashes and control characters.
  bool read_escape(std::string& text) {
    if (rest_.empty()) return false;
    const char kind = rest_.front();
    rest_.remove_prefix(1);
    if (kind == '"' || kind == '\\') {
      text += kind;
      return true;
    }
    if (kind != 'u' || rest_.size() < 4) return false;
    unsigned code = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
    if (error != std::errc() || end != rest_.data() + 4 || code > 0x7f) return false;
    text += static_cast<char>(code);
    rest_.remove_prefix(4);
    return true;
  }

  std::string_view rest_;
};

bool read_text(Reader& reader, std::string& target) {
  std::optional<std::string> text = reader.read_string();
  if (!text) return false;
  target = *std::move(text);
  return true;
}

bool read_concatenation(Reader& reader, Concatenation& target) {
  const std::optional<std::string> text = reader.read_string();
  for (const auto& [value, name] : concatenations) {
    if (text != name) continue;
    target = value;
    return true;
  }
  return false;
}

// Returns false if the member is unknown or has an invalid value.
bool read_member(Reader& reader, std::string_view name, PendingDescription& description) {
  if (name == "length") return (description.length = reader.read_number()).has_value();
  if (name == "checked") return (description.checked = reader.read_number()).has_value();
  if (name == "name") return read_text(reader, description.name);
  if (name == "metadata") return read_text(reader, description.metadata);
  if (name == "parts") return read_text(reader, description.parts);
  if (name == "declared_sha256") return read_text(reader, description.declared_sha256);
  if (name == "sha256") return read_text(reader, description.sha256);
  if (name == "concatenation") return read_concatenation(reader, description.concatenation);
  if (name != "created") return false;
  const std::optional<std::uint64_t> created = reader.read_number();
  description.created_s = static_cast<std::int64_t>(created.value_or(0));
  return created.has_value();
}

}  // namespace

std::string to_json(const PendingDescription& description) {
  std::string json;
  append_number_member(json, "created", static_cast<std::uint64_t>(description.created_s));
  if (description.length) append_number_member(json, "length", *description.length);
  if (description.checked) append_number_member(json, "checked", *description.checked);
  append_text_member(json, "name", description.name);
  append_text_member(json, "metadata", description.metadata);
  for (const auto& [value, name] : concatenations) {
    if (value == description.concatenation) append_text_member(json, "concatenation", name);
  }
  append_text_member(json, "parts", description.parts);
  append_text_member(json, "declared_sha256", description.declared_sha256);
  append_text_member(json, "sha256", description.sha256);
  return json + "\n}\n";
}

std::optional<PendingDescription> parse_description(std::string_view json) {
  Reader reader(json);
  PendingDescription description;
  if (!reader.take('{')) return std::nullopt;
  do {
    const std::optional<std::string> name = reader.read_string();
    if (!name || !reader.take(':')) return std::nullopt;
    if (!read_member(reader, *name, description)) return std::nullopt;
  } while (reader.take(','));
  if (!reader.take('}') || !reader.at_end()) return std::nullopt;
  return description;
}

}  // namespace h2server::content
