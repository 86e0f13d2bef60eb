// Basic types of HTTP messages (RFC 9110).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace h2server {

enum class Method : std::uint8_t {
  GET,
  HEAD,
  POST,
  PUT,
  DELETE,
  PATCH,
  OPTIONS,
  MOVE,  // this and the next: RFC 4918
  COPY,
  MKCOL,
  PROPFIND,
  PROPPATCH,
  LOCK,
  UNLOCK,
  QUERY,    // RFC 10008
  unknown,  // answered with 501 (RFC 9110, 9.1)
};
using enum Method;
inline constexpr std::size_t method_count = static_cast<std::size_t>(Method::unknown);

enum class Version : std::uint8_t { http_1_0, http_1_1, http_2 };

struct Field {
  std::string_view name;
  std::string_view value;
};

// Field lines in order of arrival. Names compare case-insensitively.
class Fields {
 public:
  void add(std::string_view name, std::string_view value) { lines_.push_back({name, value}); }
  void clear() noexcept { lines_.clear(); }

  // Returns the value of the first line with that name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return lines_.size(); }
  [[nodiscard]] auto begin() const noexcept { return lines_.begin(); }
  [[nodiscard]] auto end() const noexcept { return lines_.end(); }

 private:
  std::vector<Field> lines_;
};

// The values of a path's parameters, by their names in the pattern.
class PathParams {
 public:
  static constexpr std::size_t count_max = 16;  // of a pattern

  void clear() noexcept { items_.clear(); }
  void add(std::string_view name, std::string_view value) { items_.push_back({name, value}); }
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;

 private:
  std::vector<Field> items_;
};

// The part of a request before its body. The views are valid until the exchange ends.
struct RequestHead {
  Method method = Method::GET;
  Version version = Version::http_1_1;
  std::string_view method_name;
  std::string_view target;     // as received
  std::string_view path;       // of the target, percent-decoded, begins with '/'
  std::string_view query;      // of the target, as received, without '?'
  std::string_view authority;  // requested host and port
  bool encrypted = false;
  Fields fields;
  std::optional<std::uint64_t> content_length;  // bytes
  std::int64_t received_s = 0;                  // when the head was complete, since 1970

  // Resets to the default state; keeps the memory.
  void clear() noexcept {
    method = Method::GET;
    version = Version::http_1_1;
    method_name = {};  // one by one: a chain copies each from the one before, which stalls
    target = {};
    path = {};
    query = {};
    authority = {};
    encrypted = false;
    fields.clear();
    content_length.reset();
    received_s = 0;
  }
};

}  // namespace h2server
#pragma GCC visibility pop
