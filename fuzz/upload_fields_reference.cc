#include "upload_fields_reference.h"

#include <algorithm>
#include <regex>
#include <set>

namespace h2server::fuzz {

namespace {

const std::string six = "[A-Za-z0-9+/]";             // six bits
const std::string two_left = "[AQgw]";               // and four bits of zero
const std::string four_left = "[AEIMQUYcgkosw048]";  // and two
const std::string tail_of_one = six + two_left;
const std::string tail_of_two = six + six + four_left;
// With padding, as tus has it; and with or without (RFC 9651, 4.2.7).
const std::string padded = "(?:" + six + "{4})*(?:" + tail_of_one + "==|" + tail_of_two + "=)?";
const std::string unpadded =
    "(?:" + six + "{4})*(?:" + tail_of_one + "={0,2}|" + tail_of_two + "=?)?";

// RFC 9651, 3.
const std::string key = "[a-z*][a-z0-9_.*-]*";
const std::string number = "-?(?:[0-9]{1,12}\\.[0-9]{1,3}|[0-9]{1,15})";
const std::string string = R"("(?:[ !#-\[\]-~]|\\["\\])*")";
const std::string token = "[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*";
const std::string bare =
    "(?:" + number + "|" + string + "|" + token + "|:" + unpadded + ":|\\?[01])";
const std::string parameters = "(?:; *" + key + "(?:=" + bare + ")?)*";
const std::string item = bare + parameters;
const std::string inner_list = "\\( *(?:" + item + "(?: +" + item + ")*)? *\\)" + parameters;

bool matches(const std::string& text, const std::string& expression, std::smatch& parts) {
  static std::vector<std::pair<std::string, std::regex>> known;
  auto found = std::ranges::find(known, expression, &std::pair<std::string, std::regex>::first);
  if (found == known.end()) found = known.emplace(known.end(), expression, std::regex(expression));
  return std::regex_match(text, parts, found->second);
}

bool matches(const std::string& text, const std::string& expression) {
  std::smatch parts;
  return matches(text, expression, parts);
}

std::string without_end(std::string text) {
  text.erase(std::min(text.find_last_not_of(" \t") + 1, text.size()));
  return text;
}

std::string without_blanks(const std::string& text) {
  return without_end(text.substr(std::min(text.find_first_not_of(" \t"), text.size())));
}

// Splits at separators that are not within quotes.
std::vector<std::string> split(const std::string& text, char separator, bool quotes) {
  std::vector<std::string> pieces(1);
  bool quoted = false;
  bool escaped = false;
  for (const char c : text) {
    if (c == separator && !quoted) {
      pieces.emplace_back();
      continue;
    }
    pieces.back() += c;
    if (quotes && c == '"' && !escaped) quoted = !quoted;
    escaped = quoted && c == '\\' && !escaped;
  }
  return pieces;
}

// Reads a member whose key is that of a digest which counts.
bool read_digest(const std::string& member, const std::string& digest, std::string& value) {
  std::smatch parts;
  if (!matches(member, key + "=:(" + digest + ")=*:" + parameters, parts)) return false;
  value = parts[1];
  return true;
}

bool read_member(const std::string& member, DigestTexts& found) {
  std::smatch parts;
  if (!matches(member, "(" + key + ")(?:=(?:" + inner_list + "|" + item + ")|" + parameters + ")",
               parts)) {
    return false;
  }
  if (parts[1] == "sha-256") {
    return read_digest(member, six + "{42}" + four_left, found.sha256);
  }
  if (parts[1] == "sha-512") return read_digest(member, six + "{85}" + two_left, found.sha512);
  found.other = true;
  return true;
}

}  // namespace

bool fits_reference(const std::string& value) {
  return std::ranges::all_of(
             split(value, ',', false),
             [](const std::string& piece) { return piece.size() <= piece_bytes_max; }) &&
         std::ranges::all_of(split(value, ',', true), [](const std::string& piece) {
           return piece.size() <= piece_bytes_max;
         });
}

std::optional<DigestTexts> digests_by_reference(const std::string& value) {
  DigestTexts found;
  const std::string text = value.substr(std::min(value.find_first_not_of(' '), value.size()));
  if (text.empty()) return found;
  const std::vector<std::string> members = split(text, ',', true);
  for (const std::string& member : members) {
    const bool first = &member == &members.front();
    if (!read_member(first ? without_end(member) : without_blanks(member), found)) {
      return std::nullopt;
    }
  }
  return found;
}

std::optional<MetadataTexts> metadata_by_reference(const std::string& value) {
  MetadataTexts found;
  std::set<std::string> keys;
  for (const std::string& piece : split(value, ',', false)) {
    const std::string pair = without_blanks(piece);
    if (pair.empty()) continue;
    std::smatch parts;
    if (!matches(pair, "([!-~]+)(?: [ \t]*(" + padded + "))?", parts)) return std::nullopt;
    if (!keys.insert(parts[1]).second) return std::nullopt;
    found.emplace_back(parts[1], parts[2]);
  }
  return found;
}

std::optional<std::vector<std::string>> concat_by_reference(const std::string& value,
                                                            std::size_t parts_max) {
  if (value == "partial") return std::vector<std::string>();
  if (!value.starts_with("final;")) return std::nullopt;
  std::vector<std::string> ids;
  for (const std::string& url : split(value.substr(6), ' ', false)) {
    if (url.empty()) continue;
    std::smatch parts;
    if (!matches(url, "[^]*/uploads/([0-9a-f]{32})", parts)) return std::nullopt;
    ids.push_back(parts[1]);
  }
  const std::set<std::string> different(ids.begin(), ids.end());
  if (ids.empty() || ids.size() > parts_max || different.size() != ids.size()) return std::nullopt;
  return ids;
}

std::optional<std::pair<std::string, std::string>> checksum_by_reference(const std::string& value) {
  std::smatch parts;
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"sha1", six + "{26}" + four_left + "="},
      {"sha256", six + "{42}" + four_left + "="},
      {"sha512", six + "{85}" + two_left + "=="}};
  for (const auto& [algorithm, digest] : kinds) {
    if (matches(value, algorithm + " [ \t]*(" + digest + ")[ \t]*", parts)) {
      return std::pair(algorithm, parts[1].str());
    }
  }
  return std::nullopt;
}

std::optional<std::string> integer_by_reference(const std::string& value) {
  std::smatch parts;
  if (!matches(value, "[ \t]*([0-9]{1,15})[ \t]*(?:;[^]*)?", parts)) return std::nullopt;
  return parts[1];
}

std::optional<std::string> boolean_by_reference(const std::string& value) {
  std::smatch parts;
  if (!matches(value, "[ \t]*\\?([01])[ \t]*(?:;[^]*)?", parts)) return std::nullopt;
  return parts[1];
}

bool is_item(const std::string& value) { return matches(value, " *" + item + " *"); }

}  // namespace h2server::fuzz
