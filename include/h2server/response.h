// Response: the result of a handler.
//
// Every function throws std::invalid_argument for arguments that cannot be sent. The response is
// then unchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "h2server/body.h"
#include "h2server/file.h"

#pragma GCC visibility push(default)
namespace h2server {

struct Problem;    // h2server/problem.h
struct SetCookie;  // h2server/cookies.h

class Response {
 public:
  struct Line {
    std::string name;
    std::string value;
  };
  // Bytes [first, first + count) of a file.
  struct FilePart {
    FileRef file;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  // Sent as it is produced. Without a size, HTTP/1.1 uses the chunked coding.
  struct Streamed {
    std::unique_ptr<BodySource> source;
    std::optional<std::uint64_t> size;  // bytes
  };
  using Body = std::variant<std::monostate, std::string, FilePart, Streamed>;

  // 200 without a body.
  Response() noexcept = default;
  // `status` is 200 to 599. Lower ones are not final responses, and clients take higher ones for
  // server errors (RFC 9110, 15).
  explicit Response(int status) : status_(checked_status(status)) {}
  Response(int status, std::string body,
           std::string_view content_type = "text/plain; charset=utf-8");
  // 200 with the whole file, which must not be null.
  explicit Response(FileRef file);
  // 200 with the output of the source, which must not be null.
  Response(std::unique_ptr<BodySource> source, std::string_view content_type,
           std::optional<std::uint64_t> size = std::nullopt);

  // With the media types text/plain and text/html, both in UTF-8, and application/json.
  static Response text(std::string body, int status = 200);
  static Response html(std::string body, int status = 200);
  static Response json(std::string body, int status = 200);
  // `location` is a URI reference (RFC 3986, 4.1), not empty. Bytes that may not stand in one are
  // percent-encoded: browsers send `{`, `|` or `"` as they are. If it comes from the client, check
  // where it leads. `status` is 301, 302, 303, 307 or 308; 303 lets the client continue with GET,
  // 307 and 308 with the same method (RFC 9110, 15.4).
  static Response redirect(std::string_view location, int status = 303);
  static Response no_content() { return Response(204); }
  // Invalid: an extension with the name of a standard member or of another extension, with a name
  // that RFC 9457, 3.2 does not recommend, or without a value; a type or an instance that is no URI
  // reference.
  static Response problem(const Problem& problem);

  // Adds a field line. Throws std::invalid_argument for an invalid field (RFC 9110, 5.5) and for
  // fields that the server sets: Date, Content-Length, Connection and Transfer-Encoding.
  Response& add(std::string_view name, std::string_view value) &;
  // Replaces all field lines with that name by one, which comes last.
  Response& replace(std::string_view name, std::string_view value) &;
  // Removes all field lines with that name.
  Response& remove(std::string_view name) &;
  // Adds a Set-Cookie field line, see to_field().
  Response& set_cookie(const SetCookie& cookie) &;
  // The same for temporary responses: return Response::text("a").add("X", "y");
  Response add(std::string_view name, std::string_view value) && {
    return std::move(add(name, value));
  }
  Response replace(std::string_view name, std::string_view value) && {
    return std::move(replace(name, value));
  }
  Response remove(std::string_view name) && { return std::move(remove(name)); }
  Response set_cookie(const SetCookie& cookie) && { return std::move(set_cookie(cookie)); }

  // Returns the value of the first field line with that name, among them those of a whole file.
  // Valid until the response changes. Fields that the server sets are not found.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;

  // As for the constructor. Fields and body stay.
  void set_status(int status);

  [[nodiscard]] int status() const noexcept { return status_; }
  // Without those of a whole file, see described_by().
  [[nodiscard]] const std::vector<Line>& fields() const noexcept { return fields_; }
  [[nodiscard]] const Body& body() const noexcept { return body_; }
  [[nodiscard]] Body& body() noexcept { return body_; }
  // Resets to the state of Response(); keeps the memory.
  void clear() noexcept {
    status_ = 200;
    whole_file_ = false;
    fields_.clear();
    body_.emplace<std::monostate>();
  }
  // A part must lie within its file. Neither a file nor a source may be null.
  void set_body(Body body);

  // Returns the file whose precomputed head describes this response, or null.
  [[nodiscard]] const File* described_by() const noexcept;
  // Returns the body's size if it is known before sending.
  [[nodiscard]] std::optional<std::uint64_t> size() const noexcept;

 private:
  static int checked_status(int status);
  // Makes the fields of a whole file this response's own, so that they can be changed.
  void own_file_fields();

  int status_ = 200;
  bool whole_file_ = false;
  std::vector<Line> fields_;
  Body body_;
};

}  // namespace h2server
#pragma GCC visibility pop
