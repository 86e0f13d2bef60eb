// UploadIntent: what a request wants to have stored. Made once, when its route is known; receivers
// read this and not the request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "content/uploads/receive/stated_digests.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

// Field values, with several lines joined by commas; see http::Preconditions.
struct UploadPreconditions {
  std::optional<std::string> if_match = {};
  std::optional<std::string> if_none_match = {};
  std::optional<std::string> if_unmodified_since = {};
  std::int64_t received_s = 0;  // when the request came, since 1970

  [[nodiscard]] bool any() const noexcept {
    return if_match || if_none_match || if_unmodified_since;
  }
};

struct UploadIntent {
  std::string path = {};      // of the file that is the body, a safe one; empty: a form
  std::string boundary = {};  // of the form
  std::string client = {};    // whose share of memory it takes: see share_of()
  std::optional<std::uint64_t> body_bytes = {};
  StatedDigests digests = {};              // of the body
  UploadPreconditions preconditions = {};  // of the file at `path`
  UploadOptions options = {};              // `overwrite`: this request may replace files
  bool locks_are_checked = false;          // by the caller, who knows which the request names

  [[nodiscard]] bool is_form() const noexcept { return path.empty(); }
  // Returns true if the SHA-256 of each file is needed: to be told, or, of a body that is the file,
  // to be compared.
  [[nodiscard]] bool needs_sha256() const noexcept {
    return options.sha256 || (!is_form() && digests.sha256);
  }
  // Returns false for a file that is the body, and has another SHA-256 than is stated. 64 digits.
  [[nodiscard]] bool is_as_stated(std::string_view sha256) const {
    return is_form() || !digests.sha256 || sha256 == hex_digits(*digests.sha256);
  }

  // Of PUT. `path` is a safe one. Without the right to manage, `overwrite` is off, here and below.
  // The error is the response to a body that is not the whole content of a file as it is stored.
  static Result<UploadIntent, Response> of_file(const Request& request, std::string path,
                                                UploadOptions options);
  // Of a form (RFC 7578). The error is 415, or 400.
  static Result<UploadIntent, Response> of_form(const Request& request, UploadOptions options);
};

// What has the path of an upload already.
struct UploadTarget {
  bool exists = false;
  std::string etag = {};        // as downloads have it
  std::int64_t modified_s = 0;  // since 1970
};

[[nodiscard]] bool holds(const UploadPreconditions& stated, const UploadTarget& target);
// Returns 412, for a file that is not in the state that the preconditions ask for.
Response refuse_state(std::string_view path);

}  // namespace h2server::content
