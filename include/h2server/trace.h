// TraceContext: where a request stands in a distributed trace, as the fields traceparent and
// tracestate carry it (W3C Trace Context, Level 1).
//
//   const TraceContext trace = trace_of(request).value_or(TraceContext::start(true)).child();
//   // log trace.trace_id(), send "traceparent: " + trace.to_field() upstream, and
//   // "tracestate: " + trace.state() unless that is empty
//
// A value object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "h2server/request.h"

#pragma GCC visibility push(default)
namespace h2server {

class TraceContext {
 public:
  // Parses the value of traceparent (3.2). Returns nullopt if it is malformed. Later versions are
  // read as far as version 00 goes (3.2.4).
  [[nodiscard]] static std::optional<TraceContext> parse(std::string_view value) noexcept;
  // Starts a trace. `trace` and `parent` should be random; if a value is zero, 1 is used.
  [[nodiscard]] static TraceContext start(bool sampled, std::array<std::uint64_t, 2> trace,
                                          std::uint64_t parent) noexcept;
  // The same with numbers of random_id().
  [[nodiscard]] static TraceContext start(bool sampled) noexcept;

  // Returns the context for what this request causes: in the same trace, with a parent id of its
  // own, which should be random.
  [[nodiscard]] TraceContext child(std::uint64_t parent) const noexcept;
  [[nodiscard]] TraceContext child() const noexcept;

  // 32 and 16 hexadecimal digits in lower case, not all zero.
  [[nodiscard]] std::string_view trace_id() const noexcept {
    return {digits_.data(), trace_digits};
  }
  [[nodiscard]] std::string_view parent_id() const noexcept {
    return {digits_.data() + trace_digits, parent_digits};
  }
  // Returns true if the caller may have recorded the trace (3.2.2.5.1).
  [[nodiscard]] bool sampled() const noexcept { return sampled_; }

  // Returns the value of traceparent, in version 00.
  [[nodiscard]] std::string to_field() const;

  // Returns the value of tracestate, for what this request causes (3.3): what other systems want to
  // be passed on. Empty if there is none.
  [[nodiscard]] const std::string& state() const noexcept { return state_; }

 private:
  static constexpr std::size_t trace_digits = 32;
  static constexpr std::size_t parent_digits = 16;

  std::array<char, trace_digits + parent_digits> digits_{};
  bool sampled_ = false;
  std::string state_;

  TraceContext() = default;
  friend std::optional<TraceContext> trace_of(const Request& request) noexcept;
};

// Returns the context that the request carries: nullopt if it has no traceparent, several, or a
// malformed one. A tracestate of more than 512 bytes is dropped (3.3.1.5).
[[nodiscard]] std::optional<TraceContext> trace_of(const Request& request) noexcept;

// Returns a random number from the kernel, one system call. Any thread.
[[nodiscard]] std::uint64_t random_id() noexcept;

}  // namespace h2server
#pragma GCC visibility pop
