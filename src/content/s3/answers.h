// Reads the responses of S3: fields, errors and lists. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/store.h"

namespace h2server::content::s3 {

struct AnswerLimits {
  static constexpr std::size_t error_bytes_max = 64 * 1024;  // of the body of an error
  // Of a page of a list: 1000 keys of 1024 bytes, each of which takes three encoded, and 400 bytes
  // of elements around it.
  static constexpr std::size_t list_bytes_max = 4 * 1024 * 1024;
};

// The status and the field lines of a response. Names are in any case.
struct AnswerHead {
  int status = 0;
  std::vector<Response::Line> fields = {};

  // Returns the value of the first field line with that name; empty if there is none.
  [[nodiscard]] std::string_view find(std::string_view name) const noexcept;
};

// What 200 and 206 promise.
struct ObjectHead {
  ObjectInfo info = {};
  std::uint64_t first = 0;  // of the bytes that the body has
  std::uint64_t count = 0;
};

// Of a response to GET or HEAD with the status 200 or 206. The error says what is missing or wrong
// in it.
Result<ObjectHead, std::string_view> object_head(const AnswerHead& head);

// Of a response with the status 300 or above, or with an error in its body; `body` may be cut, or
// empty as that of HEAD.
StoreError store_error(const AnswerHead& head, std::string_view body);

// Returns true for a document about an error. AWS sends some after the status 200, since it begins
// to answer before it knows.
bool is_error_text(std::string_view body);

// Returns true if the same request may be answered otherwise a moment later: the store is busy or
// has failed.
bool may_be_retried(const StoreError& error) noexcept;

// Returns true if a store refuses a request because of the checksum in it, as far as it says so.
bool refuses_checksum(const StoreError& error) noexcept;

// Of a response to ListObjectsV2 with the status 200. `prefix` is that of the request with the
// location's, which all keys begin with. The error says what is wrong.
Result<ListPage, std::string_view> list_page(std::string_view body, std::string_view prefix);

}  // namespace h2server::content::s3
