#include "content/uploads/receive/multipart.h"

#include <string.h>  // memmem is not in <cstring>

#include <algorithm>
#include <utility>

#include "base/text/text.h"

namespace h2server::content {
namespace {

using namespace std::string_view_literals;
using base::equals_ignoring_case;
using base::is_alphanumeric;
using base::is_blank;
using base::is_token;
using base::trim;

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view head_end = "\r\n\r\n";
constexpr std::size_t boundary_size_max = 70;  // RFC 2046, 5.1.1

// RFC 2046, 5.1.1: bchars, not ending in a space.
bool is_boundary(std::string_view text) {
  const auto is_boundary_byte = [](char byte) {
    return is_alphanumeric(byte) || "'()+_,-./:=? "sv.find(byte) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= boundary_size_max && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), is_boundary_byte);
}

struct Parameter {
  std::string_view name;
  std::string value;
  bool quoted = false;
};

// Reads the parameters of "main; name=value; name="value"". Two concessions to existing user
// agents: a value without quotes may have any bytes but blanks, controls, quotes and semicolons,
// and a backslash in quotes escapes only a quote or a backslash, since browsers used to send whole
// paths.
class ParameterReader {
 public:
  explicit ParameterReader(std::string_view field) {
    const auto main_end = std::min(field.find(';'), field.size());
    main_ = trim(field.substr(0, main_end));
    rest_ = field.substr(main_end);
  }

  std::string_view main() const { return main_; }

  // Returns true if next() stopped at a syntax error.
  bool malformed() const { return malformed_; }

  std::optional<Parameter> next() {
    while (!rest_.empty() && (is_blank(rest_.front()) || rest_.front() == ';')) {
      rest_.remove_prefix(1);
    }
    if (rest_.empty() || malformed_) return std::nullopt;
    Parameter parameter;
    const auto equals = rest_.find('=');
    parameter.name = rest_.substr(0, equals);
    malformed_ = equals == std::string_view::npos || !is_token(parameter.name);
    if (malformed_) return std::nullopt;
    rest_.remove_prefix(equals + 1);
    parameter.quoted = rest_.starts_with('"');
    malformed_ = parameter.quoted ? !read_quoted(parameter.value) : !read_plain(parameter.value);
    rest_ = trim(rest_);
    malformed_ = malformed_ || (!rest_.empty() && rest_.front() != ';');
    if (malformed_) return std::nullopt;
    return parameter;
  }

 private:
  bool read_quoted(std::string& value) {
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return true;
      }
      const bool escape =
          rest_[i] == '\\' && i + 1 < rest_.size() && (rest_[i + 1] == '"' || rest_[i + 1] == '\\');
      if (escape) ++i;
      value += rest_[i];
    }
    return false;
  }

  bool read_plain(std::string& value) {
    const auto ends_value = [](char byte) {
      const auto code = static_cast<unsigned char>(byte);
      return code <= 0x20 || code == 0x7f || byte == '"' || byte == ';';
    };
    const auto end = std::find_if(rest_.begin(), rest_.end(), ends_value);
    value.assign(rest_.begin(), end);
    rest_.remove_prefix(value.size());
    return !value.empty();
  }

  std::string_view main_;
  std::string_view rest_;
  bool malformed_ = false;
};

// Decodes the three escapes that browsers use in names (WHATWG HTML, 4.10.21.8). Browsers do not
// escape other percent signs, so nothing else is decoded.
std::string decode_browser_escapes(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  while (!text.empty()) {
    const auto escape = text.substr(0, 3);
    const char byte = escape == "%22" ? '"' : escape == "%0D" ? '\r' : escape == "%0A" ? '\n' : 0;
    decoded += byte != 0 ? byte : text.front();
    text.remove_prefix(byte != 0 ? 3 : 1);
  }
  return decoded;
}

// Decodes "UTF-8'language'percent-encoded" (RFC 8187, 3.2.1). No other character set.
std::optional<std::string> decode_extended(std::string_view value) {
  const auto language = value.find('\'');
  if (language == std::string_view::npos) return std::nullopt;
  const auto text = value.find('\'', language + 1);
  if (text == std::string_view::npos) return std::nullopt;
  if (!equals_ignoring_case(value.substr(0, language), "utf-8")) return std::nullopt;

  std::string decoded;
  for (std::size_t i = text + 1; i < value.size(); ++i) {
    if (value[i] != '%') {
      decoded += value[i];
      continue;
    }
    const std::optional<char> byte = base::decode_percent(value.substr(i));
    if (!byte) return std::nullopt;
    decoded += *byte;
    i += 2;
  }
  return decoded;
}

// The functions below return an error message, or an empty one on success. RFC 7578, 4.2.
std::string_view read_disposition(std::string_view value, PartHead& part) {
  ParameterReader reader(value);
  if (!equals_ignoring_case(reader.main(), "form-data")) return "a part is not form-data";
  std::optional<std::string> name, file_name, extended;
  while (const auto parameter = reader.next()) {
    const bool is_extended = equals_ignoring_case(parameter->name, "filename*");
    auto* target = equals_ignoring_case(parameter->name, "name")       ? &name
                   : equals_ignoring_case(parameter->name, "filename") ? &file_name
                   : is_extended                                       ? &extended
                                                                       : nullptr;
    if (target == nullptr) continue;
    if (target->has_value()) return "a parameter of Content-Disposition is given twice";
    const auto decoded =
        parameter->quoted ? decode_browser_escapes(parameter->value) : parameter->value;
    *target = is_extended ? decode_extended(parameter->value) : decoded;
    if (!target->has_value()) return "a filename* cannot be decoded";
  }
  if (reader.malformed()) return "a Content-Disposition cannot be parsed";
  if (!name) return "a part has no name";
  part.name = *std::move(name);
  part.file_name = extended ? std::move(extended) : std::move(file_name);
  return {};
}

std::string_view read_fields(std::string_view head, PartHead& part) {
  bool has_disposition = false;
  bool has_type = false;
  while (!head.empty()) {
    const auto line = head.substr(0, head.find(line_end));
    head.remove_prefix(line.size() + line_end.size());
    const auto name = line.substr(0, line.find(':'));
    if (name.size() == line.size() || !is_token(name)) return "a field of a part cannot be parsed";
    const auto value = trim(line.substr(name.size() + 1));
    if (equals_ignoring_case(name, "content-disposition")) {
      if (std::exchange(has_disposition, true)) return "a part has two Content-Dispositions";
      const auto problem = read_disposition(value, part);
      if (!problem.empty()) return problem;
    } else if (equals_ignoring_case(name, "content-type")) {
      if (std::exchange(has_type, true)) return "a part has two Content-Types";
      part.content_type = value;
    }
  }
  return has_disposition ? ""sv : "a part has no Content-Disposition"sv;
}

// A line that starts with a blank continues the previous one (RFC 5322, 2.2.3, used by RFC 2046).
void unfold(std::string& head) {
  for (auto at = head.find(line_end, 1); at != std::string::npos;
       at = head.find(line_end, at + 2)) {
    if (is_blank(head[at + 2])) head.replace(at, 2, "  ");
  }
}

// `head` is "CRLF *(field CRLF) CRLF". Unfolds it in place.
std::string_view read_part_head(std::string& head, PartHead& part) {
  if (head.find('\0') != std::string::npos) return "a part's head has a NUL";
  for (auto at = head.find('\r'); at != std::string::npos; at = head.find('\r', at + 1)) {
    if (head[at + 1] != '\n') return "a part's head has a CR without LF";
  }
  unfold(head);
  part = PartHead{.name = {}, .file_name = std::nullopt, .content_type = "text/plain"};
  return read_fields(std::string_view(head).substr(2, head.size() - 4), part);
}

// Returns how many bytes at the end of `text` may be the beginning of `delimiter`, whose only CR is
// its first byte. `text` does not contain all of `delimiter`.
std::size_t partial_size(std::string_view text, std::string_view delimiter) {
  auto tail = text.substr(text.size() - std::min(text.size(), delimiter.size() - 1));
  while (!tail.empty()) {
    tail.remove_prefix(std::min(tail.find('\r'), tail.size()));
    if (delimiter.starts_with(tail)) return tail.size();
    tail.remove_prefix(1);
  }
  return 0;
}

}  // namespace

std::optional<std::string> multipart_boundary(std::string_view content_type) {
  ParameterReader reader(content_type);
  if (!equals_ignoring_case(reader.main(), "multipart/form-data")) return std::nullopt;
  std::optional<std::string> boundary;
  while (const auto parameter = reader.next()) {
    if (!equals_ignoring_case(parameter->name, "boundary")) continue;
    if (boundary) return std::nullopt;
    boundary = parameter->value;
  }
  if (reader.malformed() || !boundary || !is_boundary(*boundary)) return std::nullopt;
  return boundary;
}

MultipartParser::MultipartParser(std::string boundary, MultipartLimits limits)
    : look_alike_("\r\n--" + boundary + "-"), limits_(limits) {
  start_content();
}

void MultipartParser::feed(std::string_view bytes) {
  fed_ = bytes;
  position_ = 0;
}

MultipartParser::Event MultipartParser::next() {
  while (true) {
    if (state_ == State::broken) return Event::malformed;
    if (state_ == State::closing) {
      state_ = State::epilogue;
      return Event::finished;
    }
    if (position_ == fed_.size()) return Event::need_more;
    if (const auto event = step()) return *event;
  }
}

// Requires at least one unread byte. Returns nullopt if there is no event yet.
std::optional<MultipartParser::Event> MultipartParser::step() {
  switch (state_) {
    case State::content:
      return matched_ > 0 ? resume_match() : scan();
    case State::after_delimiter:
      return read_after_delimiter();
    case State::second_dash:
      return read_second_dash();
    case State::padding:
      return read_padding();
    case State::line_feed:
      return read_line_feed();
    case State::head:
      return read_head();
    case State::epilogue:
      position_ = fed_.size();
      return std::nullopt;
    case State::closing:
    case State::broken:
      break;  // handled by next()
  }
  return std::nullopt;
}

// The hot path: all but a few bytes of an upload are searched here, once. memmem is faster than
// string_view::find. Measured in feeds of 16 KiB: 24 against 10 GB/s for lines of text, 0.8 against
// 0.2 GB/s for CRs only, the worst case.
std::optional<MultipartParser::Event> MultipartParser::scan() {
  const auto text = rest();
  const auto pattern = delimiter();
  const void* found = memmem(text.data(), text.size(), pattern.data(), pattern.size());
  if (found == nullptr) {
    position_ = fed_.size();
    matched_ = partial_size(text, pattern);
    return give(text.substr(0, text.size() - matched_));
  }
  const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
  position_ += at + pattern.size();
  state_ = State::after_delimiter;
  return give(text.substr(0, at));
}

// Continues a delimiter that started in an earlier feed. On a mismatch only the byte that differs
// is examined again, since a delimiter has no CR but its first byte.
std::optional<MultipartParser::Event> MultipartParser::resume_match() {
  const auto text = rest();
  const auto missing = delimiter().substr(matched_);
  const auto differs = std::mismatch(text.begin(), text.end(), missing.begin(), missing.end());
  const auto equal = static_cast<std::size_t>(differs.first - text.begin());
  position_ += equal;
  matched_ += equal;
  if (equal == missing.size()) {
    state_ = State::after_delimiter;
    return std::nullopt;
  }
  if (position_ == fed_.size()) return std::nullopt;
  return give_look_alike(matched_);
}

std::optional<MultipartParser::Event> MultipartParser::read_after_delimiter() {
  const char byte = fed_[position_];
  if (byte == '-') {
    state_ = State::second_dash;
  } else if (is_blank(byte)) {
    state_ = State::padding;
  } else if (byte == '\r') {
    state_ = State::line_feed;
  } else {
    return give_look_alike(delimiter().size());
  }
  ++position_;
  return std::nullopt;
}

std::optional<MultipartParser::Event> MultipartParser::read_second_dash() {
  if (fed_[position_] != '-') return give_look_alike(look_alike_.size());
  ++position_;
  return end_part(State::closing);
}

std::optional<MultipartParser::Event> MultipartParser::read_padding() {
  const char byte = fed_[position_];
  if (byte != '\r' && !is_blank(byte)) return fail("a boundary is followed by other text");
  if (byte == '\r') state_ = State::line_feed;
  ++position_;
  return std::nullopt;
}

std::optional<MultipartParser::Event> MultipartParser::read_line_feed() {
  if (fed_[position_] != '\n') return fail("a boundary is followed by a CR without LF");
  ++position_;
  return end_part(State::head);
}

// Reads line by line, so that nothing after the head is copied.
std::optional<MultipartParser::Event> MultipartParser::read_head() {
  const auto text = rest();
  const auto line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
  const auto size = head_.size() - line_end.size() + line.size();
  exceeds_limit_ = size > limits_.head_bytes_max;
  if (exceeds_limit_) return fail("a part's head is too long");
  head_ += line;
  position_ += line.size();
  if (!head_.ends_with('\n')) return std::nullopt;
  if (!head_.ends_with(line_end)) return fail("a part's head has an LF without CR");
  if (!head_.ends_with(head_end)) return std::nullopt;
  const auto problem = read_part_head(head_, part_);
  if (!problem.empty()) return fail(problem);
  in_part_ = true;
  start_content();
  return Event::part_begin;
}

// A delimiter may follow at once (RFC 2046, 5.1.1: an empty body or preamble). Its line end counts
// as matched: it is the head's, or is missing before an empty preamble.
void MultipartParser::start_content() {
  state_ = State::content;
  matched_ = line_end.size();
  imagined_ = line_end.size();
}

std::optional<MultipartParser::Event> MultipartParser::end_part(State next) {
  state_ = next;
  matched_ = 0;
  imagined_ = 0;
  head_.assign(line_end);
  if (!std::exchange(in_part_, false)) return std::nullopt;
  return Event::part_end;
}

std::optional<MultipartParser::Event> MultipartParser::give(std::string_view content) {
  if (!in_part_ || content.empty()) return std::nullopt;
  data_ = content;
  return Event::data;
}

// The first `size` bytes of look_alike_, except the imagined ones, were content after all.
std::optional<MultipartParser::Event> MultipartParser::give_look_alike(std::size_t size) {
  const auto content = std::string_view(look_alike_).substr(imagined_, size - imagined_);
  state_ = State::content;
  matched_ = 0;
  imagined_ = 0;
  return give(content);
}

std::optional<MultipartParser::Event> MultipartParser::fail(std::string_view problem) {
  state_ = State::broken;
  problem_ = problem;
  return Event::malformed;
}

}  // namespace h2server::content
