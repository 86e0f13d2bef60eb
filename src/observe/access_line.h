// LineFormatter: writes an AccessRecord as one line of the access log, "\n" included.
//
// Text is Apache's combined format. JSON is one object whose members have the names of
// OpenTelemetry's semantic conventions; a member that would be empty is absent. Peers choose most
// of the bytes: each text is limited, and no byte of it can end a string or a line. User
// information in URLs ("http://user:password@") is left out.
//
// A worker owns one: it keeps the second and the server's names that it has formatted last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "observe/access_record.h"

namespace h2server::observe {

enum class LineFormat : std::uint8_t { text, json };

struct LineOptions {
  LineFormat format = LineFormat::text;
  bool queries = true;  // false: leaves out the queries of targets and referers
};

// Bytes of a peer's text that a line has at most, before escapes.
struct LineLimits {
  static constexpr std::size_t method = 32;
  static constexpr std::size_t target = 2048;
  static constexpr std::size_t authority = 261;  // a host's name, ':' and a port
  static constexpr std::size_t user = 128;
  static constexpr std::size_t referer = 512;
  static constexpr std::size_t user_agent = 512;
  static constexpr std::size_t trace_id = 32;
  static constexpr std::size_t route = 256;
  static constexpr std::size_t site = 128;
  static constexpr std::size_t address = 64;
};

class LineFormatter {
 public:
  explicit LineFormatter(LineOptions options) noexcept : options_(options) {}

  // The room that write() needs for `record`.
  [[nodiscard]] static std::size_t bytes_max(const AccessRecord& record) noexcept;

  // Writes the line and returns its size. May write past it, within bytes_max().
  [[nodiscard]] std::size_t write(const AccessRecord& record, char* to);

 private:
  static constexpr std::size_t moment_room = 48;

  // Takes the time of `record` apart: formats its second, unless that is done, and returns its
  // microseconds.
  std::uint32_t set_moment(std::int64_t unix_us) noexcept;
  char* write_text(const AccessRecord& record, char* to) noexcept;
  char* write_json(const AccessRecord& record, char* to);

  void set_server(const AccessRecord& record);

  const LineOptions options_;
  std::int64_t second_ = -1;
  std::size_t moment_bytes_ = 0;
  std::array<char, moment_room> moment_{};  // how lines of this second begin, or their time
  // JSON: the members of these two, which seldom change.
  std::string authority_;
  std::string site_;
  std::size_t server_bytes_ = 0;
  std::array<char, 6 * (LineLimits::authority + LineLimits::site) + 256> server_;
};

}  // namespace h2server::observe
