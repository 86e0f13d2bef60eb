#include "content/uploads/receive/upload_intent.h"

#include <fmt/format.h>

#include <utility>

#include "content/files/client_places.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/access/upload_access.h"
#include "content/uploads/receive/multipart.h"
#include "http/fields/conditional.h"
#include "http/fields/joined_field.h"
#include "http/message.h"

namespace h2server::content {

namespace {

// Refuses bodies that are not the whole content of a file as it is stored.
Result<void, Response> check_representation(const Request& request) {
  // A server that does not know the field would store the part as the whole (RFC 9110, 14.5).
  if (request.field("content-range")) return refused(400, "parts of a file can't be stored");
  const std::string coding = http::joined_field(request.head().fields, "content-encoding")
                                 .value_or(std::string("identity"));
  if (http::equals_ignoring_case(coding, "identity")) return {};
  Response response = refuse_upload(415, "send the file without a content coding");
  response.add("Accept-Encoding", "identity");  // RFC 9110, 15.5.16
  return std::unexpected(std::move(response));
}

UploadPreconditions preconditions_of(const Request& request) {
  const Fields& fields = request.head().fields;
  return {.if_match = http::joined_field(fields, "if-match"),
          .if_none_match = http::joined_field(fields, "if-none-match"),
          .if_unmodified_since = http::joined_field(fields, "if-unmodified-since"),
          .received_s = request.received_s()};
}

// What both kinds have.
Result<UploadIntent, Response> intent_of(const Request& request, const UploadOptions& options) {
  Result<StatedDigests, Response> digests = StatedDigests::of(request.head().fields);
  if (!digests) return std::unexpected(std::move(digests.error()));
  UploadIntent intent{.client = share_of(request),
                      .body_bytes = request.head().content_length,
                      .digests = *digests,
                      .options = options};
  intent.options.overwrite = options.overwrite && may(request, Right::manage);
  return intent;
}

}  // namespace

Result<UploadIntent, Response> UploadIntent::of_file(const Request& request, std::string path,
                                                     UploadOptions options) {
  Result<void, Response> whole = check_representation(request);
  if (!whole) return std::unexpected(std::move(whole.error()));
  Result<UploadIntent, Response> intent = intent_of(request, options);
  if (!intent) return intent;
  intent->path = std::move(path);
  intent->preconditions = preconditions_of(request);
  return intent;
}

Result<UploadIntent, Response> UploadIntent::of_form(const Request& request,
                                                     UploadOptions options) {
  const auto type = request.field("content-type");
  std::optional<std::string> boundary = multipart_boundary(type.value_or(""));
  if (!boundary) return refused(415, "send the files as multipart/form-data with a boundary");
  Result<UploadIntent, Response> intent = intent_of(request, options);
  if (intent) intent->boundary = *std::move(boundary);
  return intent;
}

bool holds(const UploadPreconditions& stated, const UploadTarget& target) {
  // RFC 9110, 13.1.1 to 13.1.4: what does not exist matches no tag, and has no date.
  if (!target.exists) return !stated.if_match;
  const http::Preconditions preconditions{.if_match = stated.if_match,
                                          .if_none_match = stated.if_none_match,
                                          .if_unmodified_since = stated.if_unmodified_since};
  const http::Validators validators{.etag = target.etag, .modified = target.modified_s};
  return http::evaluate(preconditions, validators, false, stated.received_s) ==
         http::PreconditionResult::proceed;
}

Response refuse_state(std::string_view path) {
  return refuse_upload(412, fmt::format("{} is not in the state that the request asks for", path));
}

}  // namespace h2server::content
