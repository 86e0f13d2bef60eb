// RequestHeadBuilder: collects the field lines of a request into an exchange and validates them
// (RFC 9113, 8.2 and 8.3). The caller decodes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "h2server/limits.h"
#include "http/h2/h2_exchange.h"
#include "http/h2/hpack/decoder.h"

namespace h2server::http::h2 {

class RequestHeadBuilder {
 public:
  // `limits` must outlive this object.
  explicit RequestHeadBuilder(const Limits& limits) noexcept : limits_(limits) {}

  // Begins the head, or the trailer section, of that exchange.
  void begin_head(H2Exchange& exchange) noexcept { begin(exchange, false); }
  void begin_trailers(H2Exchange& exchange) noexcept { begin(exchange, true); }

  void add(const hpack::FieldLine& line);

  // Returns true if the section exceeds the announced size so far that it must be an attack: a byte
  // of HPACK may stand for 4 KiB.
  [[nodiscard]] bool is_flood() const noexcept { return bytes_ > 4 * limits_.head_bytes_max; }
  // Called after the last line. Returns true if the section is well-formed (RFC 9113, 8.1.1).
  [[nodiscard]] bool validate() noexcept;

 private:
  enum Seen : std::uint8_t {
    seen_method = 1,
    seen_scheme = 2,
    seen_path = 4,
    seen_authority = 8,
    seen_host = 16,
    seen_length = 32,
  };

  void begin(H2Exchange& exchange, bool trailers) noexcept;
  bool judge(const hpack::FieldLine& line);
  [[nodiscard]] bool counts(const hpack::FieldLine& line) noexcept;
  bool add_pseudo(const hpack::FieldLine& line);
  bool interpret_field(const hpack::FieldLine& line);
  void interpret_expect(std::string_view value);
  bool is_authority(std::string_view text);
  bool once(Seen which) noexcept {
    const bool first = (seen_ & which) == 0;
    seen_ |= which;
    return first;
  }
  // Returns a text that lives as long as the exchange.
  std::string_view keep(std::string_view text, bool is_static) {
    return is_static ? text : exchange_->arena.copy(text);
  }

  const Limits& limits_;
  H2Exchange* exchange_ = nullptr;
  std::size_t bytes_ = 0;  // as RFC 9113, 6.5.2 counts them
  std::size_t lines_ = 0;  // all of Cookie as one
  bool has_cookie_ = false;
  std::uint8_t seen_ = 0;
  bool trailers_ = false;
  bool regular_ = false;  // a regular field has come: no more pseudo-fields
  bool malformed_ = false;
  bool web_scheme_ = false;  // http or https
  std::string_view host_;
  std::string authority_;  // the last valid one: most requests of a connection have the same
};

}  // namespace h2server::http::h2
