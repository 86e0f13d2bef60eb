// Spans of requests, and their encoding for an OpenTelemetry collector: OTLP 1.x, the protobuf
// bytes of an ExportTraceServiceRequest (opentelemetry-proto, trace/v1/trace.proto), as they are
// POSTed to /v1/traces. Encoding only: app/admin/trace_sender.h sends.
//
// Values and pure functions, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "h2server/access_record.h"

namespace h2server::observe {

// Names are those of OpenTelemetry's semantic conventions for HTTP, version 1.23 and later.
struct Attribute {
  std::string name;
  std::variant<std::string, std::int64_t> value;

  bool operator==(const Attribute&) const = default;
};

using TraceId = std::array<std::uint8_t, 16>;  // as on the wire: the first digit pair first
using SpanId = std::array<std::uint8_t, 8>;

// A request that the server has answered: a span of kind SERVER.
struct Span {
  TraceId trace_id{};            // not all zero
  SpanId span_id{};              // not all zero
  SpanId parent_span_id{};       // all zero: the root of its trace
  std::string trace_state = {};  // the value of the field tracestate; may be empty
  std::string name = {};         // "GET /items/{id}"
  std::uint64_t start_unix_ns = 0;
  std::uint64_t end_unix_ns = 0;
  std::vector<Attribute> attributes = {};
  bool failed = false;       // status ERROR; else UNSET
  std::string failure = {};  // says why if it failed; may be empty

  bool operator==(const Span&) const = default;
};

// Sets all of `span` but span_id, parent_span_id and trace_state, which the record does not have.
// `queries`: with the query of the target. Texts are shortened to 1024 bytes.
//
// The status is an error for 5xx, for a body that was cut off, and if there was no response; 4xx is
// the client's failure, not the server's. A method that HTTP does not define becomes "_OTHER" and
// the span's name "HTTP", so that clients cannot make up names.
void describe(Span& span, const AccessRecord& record, bool queries);

// Returns the bytes that hexadecimal digits stand for, all zero unless there are two per byte.
TraceId trace_id_of(std::string_view digits) noexcept;
SpanId span_id_of(std::string_view digits) noexcept;

// Returns an ExportTraceServiceRequest. `resource` describes this process: "service.name" and so
// on. Texts that are not UTF-8, which protobuf demands, get U+FFFD in place of what is not.
std::string encode_export(std::span<const Span> spans, std::span<const Attribute> resource);

}  // namespace h2server::observe
