// What the head of a PUT says about the file that is its body. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "content/uploads/receive/stated_digests.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"

namespace h2server::content {

// Field values, with several lines joined by commas; see http::Preconditions.
struct RawPreconditions {
  std::optional<std::string> if_match = {};
  std::optional<std::string> if_none_match = {};
  std::optional<std::string> if_unmodified_since = {};
  std::int64_t received_s = 0;  // when the request came, since 1970
};

struct RawHead {
  std::string path;  // a safe one
  std::optional<std::uint64_t> body_bytes = {};
  StatedDigests digests = {};
  RawPreconditions preconditions = {};

  // `path` is a safe one. The error is the response to a body that is not the whole content of a
  // file as it is stored.
  static Result<RawHead, Response> of(const Request& request, std::string path);
};

// What has the path of an upload already.
struct UploadTarget {
  bool exists = false;
  std::string etag = {};        // as downloads have it
  std::int64_t modified_s = 0;  // since 1970
};

[[nodiscard]] bool holds(const RawPreconditions& stated, const UploadTarget& target);
// Returns 412, for a file that is not in the state that the preconditions ask for.
Response refuse_state(std::string_view path);

}  // namespace h2server::content
