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
#include <variant>
#include <vector>

#include "h2server/body.h"
#include "h2server/file.h"

namespace h2server {

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

  // Adds a field line. Throws std::invalid_argument for an invalid field (RFC 9110, 5.5) and for
  // fields that the server sets: Date, Content-Length, Connection and Transfer-Encoding.
  Response& add(std::string_view name, std::string_view value);

  [[nodiscard]] int status() const noexcept { return status_; }
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

  int status_ = 200;
  bool whole_file_ = false;
  std::vector<Line> fields_;
  Body body_;
};

}  // namespace h2server
