#include "observe/otlp.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/text/text.h"
#include "base/text/utf8.h"
#include "observe/access_record.h"
#include "observe/url_parts.h"

namespace h2server::observe {

namespace {

// ---- protobuf (https://protobuf.dev/programming-guides/encoding/)

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

// Appends the fields of one message to `out`. As in proto3, zero and empty values are left out.
class MessageWriter {
 public:
  explicit MessageWriter(std::string& out) : out_(out) {}

  void put_varint(unsigned field, std::uint64_t value) {
    if (value != 0) put_always(field, value);
  }
  // For a member of a oneof, where zero is a value too.
  void put_always(unsigned field, std::uint64_t value) {
    put_tag(field, WireType::varint);
    append_varint(value);
  }
  void put_fixed64(unsigned field, std::uint64_t value) {
    if (value == 0) return;
    put_tag(field, WireType::fixed64);
    append_little_endian(value, 8);
  }
  void put_fixed32(unsigned field, std::uint32_t value) {
    if (value == 0) return;
    put_tag(field, WireType::fixed32);
    append_little_endian(value, 4);
  }
  void put_bytes(unsigned field, std::string_view bytes) {
    if (!bytes.empty()) put_bytes_always(field, bytes);
  }
  void put_bytes(unsigned field, std::span<const std::uint8_t> bytes) {
    put_bytes(field, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void put_text(unsigned field, std::string_view text) {
    put_bytes(field, base::to_valid_utf8(text));
  }
  void put_text_always(unsigned field, std::string_view text) {
    put_bytes_always(field, base::to_valid_utf8(text));
  }
  // Writes a message within this one: `write` gets its writer.
  template <class Write>
  void put_message(unsigned field, Write&& write) {
    std::string content;
    MessageWriter inner(content);
    std::forward<Write>(write)(inner);
    put_bytes_always(field, content);
  }

 private:
  void put_tag(unsigned field, WireType type) {
    append_varint(std::uint64_t{field} << 3 | static_cast<std::uint8_t>(type));
  }
  void put_bytes_always(unsigned field, std::string_view bytes) {
    put_tag(field, WireType::length_delimited);
    append_varint(bytes.size());
    out_ += bytes;
  }
  void append_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(0x80 | (value & 0x7f));
    out_ += static_cast<char>(value);
  }
  void append_little_endian(std::uint64_t value, unsigned size) {
    for (; size > 0; --size, value >>= 8) out_ += static_cast<char>(value & 0xff);
  }

  std::string& out_;
};

// ---- messages of opentelemetry-proto; the numbers are those of its fields

void write_attribute(MessageWriter& key_value, const Attribute& attribute) {
  key_value.put_text(1, attribute.name);
  key_value.put_message(2, [&](MessageWriter& any_value) {
    if (const auto* const text = std::get_if<std::string>(&attribute.value)) {
      any_value.put_text_always(1, *text);
      return;
    }
    // int64: negative numbers are those of two's complement.
    any_value.put_always(3, static_cast<std::uint64_t>(std::get<std::int64_t>(attribute.value)));
  });
}

void write_attributes(MessageWriter& message, unsigned field,
                      std::span<const Attribute> attributes) {
  for (const Attribute& attribute : attributes) {
    message.put_message(field,
                        [&](MessageWriter& key_value) { write_attribute(key_value, attribute); });
  }
}

void write_span(MessageWriter& message, const Span& span) {
  constexpr std::uint64_t kind_server = 2;
  constexpr std::uint64_t status_error = 2;
  // SpanFlags: whether the parent is of another process is known, and it is: 0x100 and 0x200.
  constexpr std::uint32_t sampled = 0x01;
  constexpr std::uint32_t has_is_remote = 0x100;
  constexpr std::uint32_t is_remote = 0x200;
  const bool has_parent = span.parent_span_id != SpanId{};
  message.put_bytes(1, std::span<const std::uint8_t>(span.trace_id));
  message.put_bytes(2, std::span<const std::uint8_t>(span.span_id));
  message.put_text(3, span.trace_state);
  if (has_parent) message.put_bytes(4, std::span<const std::uint8_t>(span.parent_span_id));
  message.put_text(5, span.name);
  message.put_varint(6, kind_server);
  message.put_fixed64(7, span.start_unix_ns);
  message.put_fixed64(8, span.end_unix_ns);
  write_attributes(message, 9, span.attributes);
  if (span.failed) {
    message.put_message(15, [&](MessageWriter& status) {
      status.put_text(2, span.failure);
      status.put_varint(3, status_error);
    });
  }
  message.put_fixed32(16, sampled | has_is_remote | (has_parent ? is_remote : 0));
}

// ---- what a request is called

// Bounds the memory of a queue of spans, whatever clients send.
constexpr std::size_t text_bytes_max = 1024;

// RFC 9110, 9.3, and PATCH (RFC 5789).
bool is_known_method(std::string_view method) {
  constexpr std::array known{"GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                             "CONNECT", "OPTIONS", "TRACE", "PATCH"};
  return std::ranges::find(known, method) != known.end();
}

std::string_view version_text(std::uint8_t version) {
  return version == 20 ? "2" : version == 10 ? "1.0" : "1.1";
}

// Empty for a response of 5xx that did end.
std::string_view why_failed(const AccessRecord& record) {
  if (record.cut_off != CutOff::none) return name_of(record.cut_off);
  return record.status == 0 ? "no_response" : "";
}

// Collects attributes; those without a value are left out.
class Attributes {
 public:
  explicit Attributes(std::vector<Attribute>& list) : list_(list) {}
  void add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    list_.emplace_back(std::string(name), std::string(value.substr(0, text_bytes_max)));
  }
  void add_number(std::string_view name, std::uint64_t value) {
    if (value == 0) return;
    list_.emplace_back(std::string(name),
                       static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX)));
  }

 private:
  std::vector<Attribute>& list_;
};

void add_request(Attributes& attributes, const AccessRecord& record, bool queries) {
  const bool known = is_known_method(record.method);
  const PathAndQuery target = split_target(record.target);
  const HostAndPort server = split_authority(record.authority);
  attributes.add("http.request.method", known ? record.method : "_OTHER");
  if (!known) attributes.add("http.request.method_original", record.method);
  attributes.add("url.scheme", record.encrypted ? "https" : "http");
  attributes.add("url.path", target.path);
  if (queries) attributes.add("url.query", target.query);
  attributes.add("http.route", record.route);
  attributes.add("server.address", server.host);
  attributes.add_number("server.port", base::parse_decimal(server.port).value_or(0));
  const bool forwarded = !record.forwarded_client.empty();
  attributes.add("client.address", forwarded ? record.forwarded_client : record.connection.client);
  attributes.add("network.peer.address", record.connection.client);
  attributes.add("network.protocol.version", version_text(record.version));
  attributes.add("user_agent.original", record.user_agent);
  attributes.add_number("http.request.body.size", record.request_bytes);
  attributes.add("h2server.site", record.site);
}

void add_response(Attributes& attributes, const AccessRecord& record, bool failed) {
  attributes.add_number("http.response.status_code", static_cast<unsigned>(record.status));
  attributes.add_number("http.response.body.size", record.response_bytes);
  if (!failed) return;
  const std::string_view reason = why_failed(record);
  attributes.add("error.type",
                 reason.empty() ? std::to_string(record.status) : std::string(reason));
}

std::uint64_t unix_ns(std::int64_t us) {
  return us > 0 ? static_cast<std::uint64_t>(us) * 1000 : 0;
}

// Returns true if all of `bytes` were set.
bool read_digits(std::string_view digits, std::span<std::uint8_t> bytes) noexcept {
  if (digits.size() != 2 * bytes.size()) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = base::hex_digit(digits[2 * i]);
    const int low = base::hex_digit(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

}  // namespace

void describe(Span& span, const AccessRecord& record, bool queries) {
  span.trace_id = trace_id_of(record.trace_id);
  span.name = is_known_method(record.method) ? record.method : "HTTP";
  if (!record.route.empty()) {
    span.name.append(" ").append(record.route.substr(0, text_bytes_max));
  }
  span.start_unix_ns = unix_ns(record.begun_unix_us);
  span.end_unix_ns = unix_ns(record.begun_unix_us + record.duration_us);
  span.failed = record.status == 0 || record.status >= 500 || record.cut_off != CutOff::none;
  span.failure = why_failed(record);
  span.attributes.clear();
  Attributes attributes(span.attributes);
  add_request(attributes, record, queries);
  add_response(attributes, record, span.failed);
}

TraceId trace_id_of(std::string_view digits) noexcept {
  TraceId id{};
  return read_digits(digits, id) ? id : TraceId{};
}

SpanId span_id_of(std::string_view digits) noexcept {
  SpanId id{};
  return read_digits(digits, id) ? id : SpanId{};
}

std::string encode_export(std::span<const Span> spans, std::span<const Attribute> resource) {
  std::string bytes;
  MessageWriter request(bytes);
  request.put_message(1, [&](MessageWriter& resource_spans) {
    resource_spans.put_message(
        1, [&](MessageWriter& message) { write_attributes(message, 1, resource); });
    resource_spans.put_message(2, [&](MessageWriter& scope_spans) {
      scope_spans.put_message(1, [](MessageWriter& scope) { scope.put_text(1, "h2server"); });
      for (const Span& span : spans) {
        scope_spans.put_message(2, [&](MessageWriter& message) { write_span(message, span); });
      }
    });
  });
  return bytes;
}

}  // namespace h2server::observe
