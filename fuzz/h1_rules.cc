#include "h1_rules.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "h1_conversation.h"
#include "require.h"

namespace h2server::fuzz {

namespace {

using http::h1::Framing;
using http::h1::Parser;

std::string lower(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Returns the values of all lines with that name.
std::vector<std::string_view> values_of(const RequestHead& head, std::string_view name) {
  std::vector<std::string_view> values;
  for (const Field& field : head.fields) {
    if (lower(field.name) == name) values.push_back(field.value);
  }
  return values;
}

// Returns the elements of a list field (RFC 9110, 5.6.1) from all its lines, in lower case.
std::vector<std::string> elements_of(const RequestHead& head, std::string_view name) {
  std::vector<std::string> elements;
  for (std::string_view rest : values_of(head, name)) {
    for (;;) {
      const std::size_t comma = rest.find(',');
      const std::string element = lower(without_blanks(rest.substr(0, comma)));
      if (!element.empty()) elements.push_back(element);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return elements;
}

// Removes the empty line that may precede the request line (RFC 9112, 2.2).
std::string_view without_leading_line(std::string_view bytes) {
  return bytes.starts_with("\r\n") ? bytes.substr(2) : bytes;
}

// RFC 9112, 2.2: lines end with CRLF and contain neither character elsewhere.
std::vector<std::string_view> lines_of(std::string_view bytes) {
  std::vector<std::string_view> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find("\r\n");
    require(end != std::string_view::npos, "a head ends with a line's end");
    const std::string_view line = bytes.substr(0, end);
    require(line.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
            "no line of a head has CR, LF or NUL");
    lines.push_back(line);
    bytes.remove_prefix(end + 2);
  }
  return lines;
}

void require_sound_field(const Field& field) {
  require(!field.name.empty(), "a field has a name");
  for (const char c : field.name) {
    const bool separator = std::string_view("\"(),/:;<=>?@[\\]{}").contains(c);
    require(c > 0x20 && c < 0x7f && !separator, "a field's name is a token (RFC 9110, 5.6.2)");
  }
  for (const char c : field.value) {
    const auto byte = static_cast<unsigned char>(c);
    require((byte >= 0x20 && byte != 0x7f) || byte == '\t', "no field's value has a control");
  }
  require(without_blanks(field.value) == field.value, "a field's value is trimmed");
}

// RFC 9112, 3 and 5: the head contains exactly what its lines contain.
void require_same_lines(std::string_view bytes, const RequestHead& head) {
  const std::vector<std::string_view> lines = lines_of(without_leading_line(bytes));
  require(lines.size() == head.fields.size() + 2, "each line of a head is a field");
  require(lines.back().empty(), "a head ends with an empty line");
  const std::string first = std::string(head.method_name).append(" ").append(head.target) + ' ';
  require(lines[0].starts_with(first), "the request line has the method and the target");
  const std::string_view version = lines[0].substr(first.size());
  require(version.size() == 8 && version.starts_with("HTTP/1."), "the version is HTTP/1");
  require((version.back() == '0') == (head.version == Version::http_1_0), "the version is as said");
  std::size_t i = 1;
  for (const Field& field : head.fields) {
    const std::string_view line = lines[i++];
    require(!line.empty(), "no field is behind the head's end");
    const std::size_t colon = line.find(':');
    require_same(line.substr(0, colon), field.name, "a field has its line's name");
    require_same(without_blanks(line.substr(colon + 1)), field.value, "and its line's value");
    require_sound_field(field);
  }
}

// RFC 9112, 6: a message has one framing, determined by its fields.
void require_one_framing(const RequestHead& head, const Framing& framing) {
  const std::vector<std::string_view> lengths = values_of(head, "content-length");
  const std::vector<std::string> codings = elements_of(head, "transfer-encoding");
  require(lengths.size() <= 1, "one Content-Length at most");
  const bool coded = !values_of(head, "transfer-encoding").empty();
  require(lengths.empty() || !coded, "never Content-Length with Transfer-Encoding");
  const bool chunked = framing.body == Framing::Body::chunked;
  require(chunked == coded, "a coding means chunked");
  require(head.content_length.has_value() == !chunked, "chunked content has no length");
  if (chunked) {
    require(codings == std::vector<std::string>{"chunked"}, "chunked is the only coding");
    require(head.version == Version::http_1_1, "HTTP/1.0 knows no coding");
    return;
  }
  require(framing.length == *head.content_length, "the framing has the head's length");
  require((framing.body == Framing::Body::length) == (framing.length > 0), "a length is a body");
  if (lengths.empty()) {
    require(framing.length == 0, "no length, no body");
    return;
  }
  const std::string_view digits = lengths[0];
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  const std::string shortest = framing.length == 0 ? "" : std::to_string(framing.length);
  require_same(digits.substr(zeros), shortest, "the length is the field's");
}

// RFC 9110, 7.2 and 10.1.1; RFC 9112, 9.3.
void require_sound_connection(const RequestHead& head, const Framing& framing) {
  const bool old = head.version == Version::http_1_0;
  const std::vector<std::string_view> hosts = values_of(head, "host");
  require(hosts.size() <= 1 && (old || hosts.size() == 1), "one Host, which HTTP/1.0 may omit");
  require_same(hosts.empty() ? "" : hosts[0], head.authority, "the authority is Host's");
  const std::vector<std::string> options = elements_of(head, "connection");
  const bool closes = std::ranges::count(options, "close") > 0;
  const bool stays = !old || std::ranges::count(options, "keep-alive") > 0;
  require(framing.keep_alive == (stays && !closes), "the connection goes on as its options say");
  const bool expects = !elements_of(head, "expect").empty() && !old;
  require(framing.expects_continue == (expects && framing.body != Framing::Body::none),
          "a client with a body that expects 100 waits for it");
}

}  // namespace

void require_sound_head(std::string_view bytes, const RequestHead& head, const Framing& framing,
                        const Limits& limits) {
  require(bytes.size() <= limits.head_bytes_max + 1, "a head is as long as its limit at most");
  require(head.fields.size() <= limits.fields_max,
          "a head has as many fields as its limit at most");
  const std::size_t line_end = without_leading_line(bytes).find("\r\n");
  require(line_end < limits.request_line_bytes_max, "a request line is bounded");
  require_same_lines(bytes, head);
  require_one_framing(head, framing);
  require_sound_connection(head, framing);
}

void require_reprints(const RequestHead& head, const Framing& framing) {
  std::string text(head.method_name);
  text.append(" ").append(head.target);
  text += head.version == Version::http_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";
  for (const Field& field : head.fields) {
    text.append(field.name).append(":").append(field.value).append("\r\n");
  }
  text += "\r\n";
  Limits limits;
  limits.head_bytes_max = text.size();
  Parser parser(limits);
  require(parser.parse(text) == Parser::Verdict::complete, "a head that is written again is one");
  require(parser.head_size() == text.size(), "and has the same end");
  RequestHead again;
  parser.fill(text, again);
  require_same(describe(again, parser.framing()), describe(head, framing), "and says the same");
}

}  // namespace h2server::fuzz
