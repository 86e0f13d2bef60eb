#include "h2server/trace.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/random.h"
#include "http/fields/syntax.h"

namespace h2server {

namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::size_t field_size = 55;  // of version 00

// W3C Trace Context, 3.2.2: HEXDIGLC.
bool is_hex(std::string_view text) noexcept {
  return text.find_first_not_of(digits) == std::string_view::npos;
}

bool is_zero(std::string_view text) noexcept {
  return text.find_first_not_of('0') == std::string_view::npos;
}

void write_hex(std::uint64_t value, std::span<char> out) noexcept {
  for (std::size_t i = out.size(); i-- > 0; value >>= 4) out[i] = digits[value & 15];
}

}  // namespace

std::optional<TraceContext> TraceContext::parse(std::string_view value) noexcept {
  if (value.size() < field_size) return std::nullopt;
  const std::string_view version = value.substr(0, 2);
  const std::string_view trace = value.substr(3, trace_digits);
  const std::string_view parent = value.substr(36, parent_digits);
  const std::string_view flags = value.substr(53, 2);
  if (!is_hex(version) || version == "ff") return std::nullopt;
  const bool ends = value.size() == field_size || (version != "00" && value[field_size] == '-');
  const bool divided = value[2] == '-' && value[35] == '-' && value[52] == '-';
  if (!ends || !divided || !is_hex(trace) || !is_hex(parent) || !is_hex(flags)) return std::nullopt;
  if (is_zero(trace) || is_zero(parent)) return std::nullopt;
  TraceContext context;
  std::ranges::copy(trace, context.digits_.begin());
  std::ranges::copy(parent, context.digits_.begin() + trace_digits);
  context.sampled_ = (http::hex_digit(flags[1]) & 1) != 0;  // 3.2.2.5: other flags are ignored
  return context;
}

TraceContext TraceContext::start(bool sampled, std::array<std::uint64_t, 2> trace,
                                 std::uint64_t parent) noexcept {
  if (trace[0] == 0 && trace[1] == 0) trace[1] = 1;
  TraceContext context;
  const std::span<char> out = context.digits_;
  write_hex(trace[0], out.first(trace_digits / 2));
  write_hex(trace[1], out.subspan(trace_digits / 2, trace_digits / 2));
  context.sampled_ = sampled;
  return context.child(parent);
}

TraceContext TraceContext::start(bool sampled) noexcept {
  return start(sampled, {random_id(), random_id()}, random_id());
}

TraceContext TraceContext::child(std::uint64_t parent) const noexcept {
  TraceContext context = *this;
  write_hex(std::max<std::uint64_t>(parent, 1), std::span(context.digits_).subspan(trace_digits));
  return context;
}

TraceContext TraceContext::child() const noexcept { return child(random_id()); }

std::string TraceContext::to_field() const {
  std::string field = "00-";
  field.append(trace_id()).append("-").append(parent_id()).append(sampled_ ? "-01" : "-00");
  return field;
}

std::optional<TraceContext> trace_of(const Request& request) noexcept {
  constexpr std::size_t state_bytes_max = 512;
  std::optional<std::string_view> value;
  std::string state;
  for (const Field& line : request.head().fields) {
    if (http::equals_ignoring_case(line.name, "tracestate")) {
      // 3.3.1: several lines are one list (RFC 9110, 5.3).
      if (!state.empty() && !line.value.empty()) state += ',';
      state.append(line.value);
      continue;
    }
    if (!http::equals_ignoring_case(line.name, "traceparent")) continue;
    if (value) return std::nullopt;
    value = line.value;
  }
  if (!value) return std::nullopt;
  std::optional<TraceContext> context = TraceContext::parse(*value);
  if (context && state.size() <= state_bytes_max) context->state_ = std::move(state);
  return context;
}

std::uint64_t random_id() noexcept { return base::random_number(); }

}  // namespace h2server
