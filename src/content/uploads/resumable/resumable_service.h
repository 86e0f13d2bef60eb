// What the handlers of both resumable protocols share.
//
// Any thread. Handlers keep it alive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "content/uploads/resumable/active_uploads.h"
#include "content/uploads/resumable/resumable_uploads.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"
#include "h2server/uploads.h"

namespace h2server::content {

struct ResumableOptions {
  std::string base = "/uploads";  // of the uploads
  std::string files = "/files";   // where stored files are found
  // Called when a file has its name. By all workers concurrently, so it must not wait. May be
  // empty.
  std::function<void(const Request&, const StoredFile&)> stored = {};
};

struct ResumableService {
  ResumableService(std::shared_ptr<ResumableUploads> uploads, ResumableOptions given)
      : store(std::move(uploads)), options(std::move(given)) {}

  // The path of an upload, and of a stored file.
  [[nodiscard]] std::string url_of(std::string_view id) const;
  [[nodiscard]] std::string file_url_of(std::string_view name) const;

  const std::shared_ptr<ResumableUploads> store;
  const ResumableOptions options;
  ActiveUploads active;
};
using ResumableServiceRef = std::shared_ptr<ResumableService>;

// Returns true if the request may replace a file.
bool may_overwrite(const ResumableService& service, const Request& request);

// Which requests that have the upload open are aborted, if they are of this process and began
// before the one with `number`: a request may have waited for the store since its client left.
// `stalled`: those that have stored nothing for a while, see PendingLimits.
enum class TakeOver : std::uint8_t { stalled, any };
// The error is 404, 410 or 423, here and below.
Task<Result<FoundUpload, Response>> find_upload(ResumableServiceRef service, std::string id,
                                                TakeOver take_over, std::uint64_t number);

// Tells the upload what a request says about all of it. A length that was not known counts towards
// the quota of the request's token. Errors are those of ResumableUpload::announce(), and 413.
Task<Result<void, Response>> announce_length(Request& request, ResumableUpload& upload,
                                             std::optional<std::uint64_t> length,
                                             std::optional<Sha256::Value> sha256);

// Stores an upload that is whole; under the name that the query gives as "name", if it does.
Task<Result<StoredFile, Response>> store_upload(ResumableServiceRef service, Request& request,
                                                ResumableUpload& upload);
// DELETE of an upload, in both protocols: removes it, or forgets that it was stored.
Task<Response> delete_upload(ResumableServiceRef service, Request& request);

// The safe form of a name, or of "name" in the query, which precedes. Empty if there is neither.
// The error is 400.
Result<std::string, Response> choose_name(const ResumableService& service, const Request& request,
                                          std::string_view claimed);

// "Tue, 24 Nov 2026 22:40:03 GMT".
std::string date_of(std::int64_t unix_seconds);
// GET of an upload: what it is, in JSON.
Response describe_upload(const ResumableService& service, std::string_view id,
                         const PendingStatus& status);
// Adds Repr-Digest (RFC 9530) of a stored file; none if there is no digest.
void add_digest(Response& response, std::string_view sha256);

}  // namespace h2server::content
