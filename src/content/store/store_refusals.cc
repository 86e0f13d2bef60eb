#include "content/store/store_refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/log.h"
#include "content/storage/upload_refusals.h"

namespace h2server::content {

int status_of_failure(const StoreError& error, std::string_view name) {
  using Kind = StoreError::Kind;
  const std::string where = name.empty() ? std::string() : fmt::format(" ({})", name);
  switch (error.kind) {
    case Kind::busy:
    case Kind::stopped:  // the client has left, or the server stops
      return 503;
    case Kind::late:
      base::log_warning("the store did not answer in time{}", where);
      return 504;
    case Kind::denied:
      base::log_error("the store refuses access{}: {}", where, error.reason);
      break;
    case Kind::absent:  // of parts that somebody else has abandoned
    case Kind::not_modified:
    case Kind::precondition:
    case Kind::unsatisfiable:  // it was asked for none of these
    case Kind::failed:
      base::log_error("the store failed{}: {}", where, error.reason);
      break;
  }
  return 502;
}

bool may_be_done(const StoreError& error) noexcept {
  using Kind = StoreError::Kind;
  return error.kind != Kind::absent && error.kind != Kind::precondition &&
         error.kind != Kind::denied;
}

StoreError or_busy(StoreError error) {
  if (error.kind == StoreError::Kind::absent) error.kind = StoreError::Kind::busy;
  return error;
}

void add_retry_after(const StoreError& error, Response& response) {
  if (response.status() != 503) return;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(error.retry_after).count();
  response.add("Retry-After", fmt::format("{}", std::max<std::int64_t>(seconds, 1)));
}

std::unexpected<StoreError> refused(StoreError::Kind kind, std::string_view reason) {
  return std::unexpected(StoreError{.kind = kind, .reason = std::string(reason)});
}

Response refuse_store_error(const StoreError& error, std::string_view name) {
  const int status = status_of_failure(error, name);
  const std::string_view text = status == 503   ? "the store is busy; try again later"
                                : status == 504 ? "the store did not answer in time"
                                                : "the store failed";
  Response response = refuse_upload(status, text);
  add_retry_after(error, response);
  return response;
}

}  // namespace h2server::content
