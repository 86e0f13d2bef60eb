// What request number n looks like: its target, its fields, its body, and the answer it should get.
//
// Immutable once made. Writes HTTP/1.1's heads itself; HTTP/2 takes the parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "h2server/result.h"
#include "load/upload.h"

namespace h2server::lab::load {

struct RequestSpec {
  std::string method = "GET";
  std::string path = "/";  // {n} becomes the request's number
  std::string authority;
  std::string_view scheme = "http";
  bool has_upload = false;
  std::uint64_t upload_bytes = 0;
  bool multipart = false;           // one part "file" with the filename load-{n}
  bool closes = false;              // HTTP/1.1: Connection: close
  std::uint32_t message_bytes = 0;  // HTTP/1.1: the head is padded by a field to this; 0: it is not
  int status = 200;                 // expected
  std::optional<std::uint64_t> body_bytes;  // expected
};

class RequestPlan {
 public:
  // The error is a line for the operator: a message is longer than it should become.
  static Result<RequestPlan, std::string> make(RequestSpec spec);

  [[nodiscard]] const RequestSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] bool to_head() const noexcept { return spec_.method == "HEAD"; }
  // Of HTTP/2's content-type; empty where the request has none.
  [[nodiscard]] std::string_view content_type() const noexcept { return content_type_; }

  [[nodiscard]] std::string path(std::uint64_t number) const;
  [[nodiscard]] Upload upload(std::uint64_t number) const;
  // HTTP/1.1's head of a request whose body has that size. Valid until the next call.
  [[nodiscard]] std::string_view head(std::uint64_t number, std::uint64_t body_bytes);

 private:
  explicit RequestPlan(RequestSpec spec);
  void write_head(std::uint64_t number, std::uint64_t body_bytes);

  RequestSpec spec_;
  std::string_view content_type_;
  bool numbered_;     // no head is like the one before
  std::string head_;  // the last one that was written
};

}  // namespace h2server::lab::load
