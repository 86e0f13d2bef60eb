// Defines request number n: its target, fields, body and the expected response.
//
// Writes the heads of HTTP/1.1 itself; HTTP/2 takes the parts. Only head() changes state: it reuses
// a buffer.
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
  std::string path = "/";  // {n} is replaced by the request's number
  std::string authority;
  std::string_view scheme = "http";
  bool has_upload = false;
  std::uint64_t upload_bytes = 0;
  bool multipart = false;                   // one part "file" with the filename load-{n}
  bool closes = false;                      // HTTP/1.1: Connection: close
  std::uint32_t message_bytes = 0;          // HTTP/1.1: size of the padded head; 0: no padding
  int status = 200;                         // expected
  std::optional<std::uint64_t> body_bytes;  // expected
};

class RequestPlan {
 public:
  // The error is a message for the operator: the head is longer than message_bytes.
  static Result<RequestPlan, std::string> make(RequestSpec spec);

  [[nodiscard]] const RequestSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] bool to_head() const noexcept { return spec_.method == "HEAD"; }
  // Value of content-type, empty if the request has none.
  [[nodiscard]] std::string_view content_type() const noexcept { return content_type_; }

  [[nodiscard]] std::string path(std::uint64_t number) const;
  [[nodiscard]] Upload upload(std::uint64_t number) const;
  // Returns the HTTP/1.1 head for a body of `body_bytes`. Valid until the next call.
  [[nodiscard]] std::string_view head(std::uint64_t number, std::uint64_t body_bytes);

 private:
  explicit RequestPlan(RequestSpec spec);
  void write_head(std::uint64_t number, std::uint64_t body_bytes);

  RequestSpec spec_;
  std::string_view content_type_;
  bool numbered_;     // each request has a different head
  std::string head_;  // written last
};

}  // namespace h2server::lab::load
