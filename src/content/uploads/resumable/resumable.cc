#include "content/uploads/resumable/resumable.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "content/files/client_places.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/area/resumable_fields.h"
#include "content/uploads/resumable/resumable_body.h"
#include "content/uploads/resumable/upload_metadata.h"
#include "h2server/uploads.h"
#include "http/fields/digest_fields.h"
#include "http/fields/syntax.h"

namespace h2server::content {

namespace {

// What a request says about its upload.
struct Asked {
  bool complete = false;                 // its content ends the upload
  std::optional<std::uint64_t> length;   // of the upload
  std::optional<Sha256::Value> sha256;   // of the upload
  std::optional<ExpectedDigest> digest;  // of the content
};

std::uint64_t interop_version(const Request& request) {
  const auto field = request.field("upload-draft-interop-version");
  return (field ? parse_item_integer(*field) : std::nullopt).value_or(newest_interop_version);
}

template <class Parse>
auto parse_field(const Request& request, std::string_view name, Parse parse) {
  const auto field = request.field(name);
  return field ? parse(*field) : decltype(parse(*field))();
}

Response digest_refusal() { return refuse_upload(400, "a digest that can't be read"); }

Result<void, Response> read_digests(const Request& request, Asked& asked) {
  const auto content = http::find_digest_field(request.head().fields, "content-digest");
  const auto whole = http::find_digest_field(request.head().fields, "repr-digest");
  if ((content && content->malformed) || (whole && whole->malformed)) {
    return std::unexpected(digest_refusal());
  }
  if (whole) asked.sha256 = whole->sha256;
  if (content && content->sha256) asked.digest = ExpectedDigest::of<Sha256>(*content->sha256);
  if (content && content->sha512) asked.digest = ExpectedDigest::of<Sha512>(*content->sha512);
  return {};
}

// `offset` is where the content begins. Section 4.1.3: the length is known from Upload-Length, and
// from Content-Length if the content ends the upload.
Result<Asked, Response> read_request(const Request& request, std::uint64_t offset) {
  Asked asked;
  const std::optional<bool> complete = parse_field(request, "upload-complete", parse_item_boolean);
  if (!complete) return std::unexpected(refuse_upload(400, "Upload-Complete is ?0 or ?1"));
  asked.complete = *complete;
  asked.length = parse_field(request, "upload-length", parse_item_integer);
  if (!asked.length && request.field("upload-length")) {
    return std::unexpected(refuse_upload(400, "an Upload-Length that is no number"));
  }
  if (const auto bytes = request.head().content_length) {
    const std::uint64_t end = *bytes > UINT64_MAX - offset ? UINT64_MAX : offset + *bytes;
    const bool fits =
        !asked.length || (asked.complete ? end == *asked.length : end <= *asked.length);
    if (!fits) return std::unexpected(inconsistent_length());
    if (asked.complete) asked.length = end;
  }
  Result<void, Response> digests = read_digests(request, asked);
  if (!digests) return std::unexpected(std::move(digests.error()));
  return asked;
}

void add_limit(Response& response, const ResumableService& service, std::int64_t age_s) {
  response.add("Upload-Limit", upload_limit(service.store->options().file_bytes_max, age_s));
}

void add_state(Response& response, bool complete, std::uint64_t offset) {
  response.add("Upload-Complete", item_boolean(complete));
  response.add("Upload-Offset", std::to_string(offset));
}

// The fields of 104 (Upload Resumption Supported), and of a final response that leaves the upload
// incomplete.
void announce(Response& response, const ResumableService& service, std::string_view id) {
  response.add("Location", service.url_of(id));
  add_limit(response, service, service.store->limits().expire_s);
}

// Of an upload that is stored.
Response resumable_response(const ResumableService& service, const StoredFile& file) {
  Response response = created_response({file});
  response.replace("Location", service.file_url_of(file.name));
  response.remove("Repr-Digest");
  add_digest(response, file.sha256);
  add_state(response, true, file.size);
  return response;
}

// tus-js-client 4, which speaks versions 5 and 6, sends ?0 also with the last piece of a file, and
// takes an offset at the end for success.
bool completes(const Request& request, const ResumableUpload& upload, const Asked& asked) {
  return asked.complete || (interop_version(request) <= 6 && upload.whole());
}

// Ends a request whose body was received: stores the upload, or leaves it for more.
Task<Response> end_request(ResumableServiceRef service, Request& request, ResumableUpload& upload,
                           const Asked& asked) {
  if (!completes(request, upload, asked)) {
    Response response(204);
    add_state(response, false, upload.offset());
    announce(response, *service, upload.id());
    co_return response;
  }
  Result<void, Response> announced =
      co_await announce_length(request, upload, upload.offset(), std::nullopt);
  if (!announced && announced.error().status() == 400) co_return inconsistent_length();
  if (!announced) co_return std::move(announced.error());
  Result<StoredFile, Response> stored = co_await store_upload(service, request, upload);
  if (stored) co_return resumable_response(*service, *stored);
  Response refusal = std::move(stored.error());
  add_state(refusal, true, upload.offset());
  co_return refusal;
}

// Returns what is wrong with the body, or nothing.
Task<std::optional<Response>> take_body(Request& request, ResumableUpload& upload, Asked& asked) {
  Result<bool, Response> matches = co_await receive_upload_body(request, upload, asked.digest);
  if (!matches) co_return std::move(matches.error());
  if (!*matches) co_return refuse_upload(400, "the body does not match its digest");
  co_return std::nullopt;
}

// --- creation -----------------------------------------------------------------------------------

Result<NewUpload, Response> read_creation(const ResumableService& service, const Request& request,
                                          std::string name, const Asked& asked) {
  NewUpload upload{.length = asked.length, .name = std::move(name), .sha256 = asked.sha256};
  upload.client = share_of(request);
  if (!upload.name.empty()) return upload;
  const std::string_view disposition = request.field("content-disposition").value_or("");
  Result<std::string, Response> chosen =
      choose_name(service, request, file_name_of_disposition(disposition));
  if (!chosen) return std::unexpected(std::move(chosen.error()));
  upload.name = *std::move(chosen);
  return upload;
}

// Sends 104 (Upload Resumption Supported) to a client of this version of the draft: it then knows
// the upload and can go on after an interruption of the request that creates it. Returns false to
// others: what the interruption leaves is of use to nobody.
bool announce_resumption(const ResumableService& service, Request& request, std::string_view id) {
  if (!request.field("upload-draft-interop-version")) return false;
  if (interop_version(request) != newest_interop_version) return false;
  Response said;
  said.add("Upload-Draft-Interop-Version", std::to_string(newest_interop_version));
  announce(said, service, id);
  std::vector<Field> fields;
  for (const Response::Line& line : said.fields()) fields.push_back({line.name, line.value});
  request.send_interim(104, fields);
  return true;
}

// The request that creates an upload may have its first bytes.
Task<Response> fill_new(ResumableServiceRef service, Request& request, ResumableUpload& upload,
                        Asked& asked) {
  const bool announced = announce_resumption(*service, request, upload.id());
  std::optional<Response> refusal = co_await take_body(request, upload, asked);
  if (refusal) {
    if (!announced) co_await upload.remove();
    if (announced) refusal->replace("Location", service->url_of(upload.id()));  // it is still there
    co_return *std::move(refusal);
  }
  Response response = co_await end_request(service, request, upload, asked);
  if (response.status() == 204) response.set_status(201);
  if (!response.find("Location")) response.add("Location", service->url_of(upload.id()));
  co_return response;
}

}  // namespace

Task<Response> resumable_create(ResumableServiceRef service, Request& request, std::string name) {
  Result<Asked, Response> asked = read_request(request, 0);
  if (!asked) co_return std::move(asked.error());
  Result<NewUpload, Response> creation = read_creation(*service, request, std::move(name), *asked);
  if (!creation) co_return std::move(creation.error());
  ActiveUploads::Registration active(service->active, request);
  const bool overwrite = may_overwrite(*service, request);
  Result<std::unique_ptr<ResumableUpload>, Response> made =
      co_await service->store->create(*std::move(creation), overwrite);
  if (!made) {
    Response refusal = std::move(made.error());
    if (refusal.status() == 413) add_limit(refusal, *service, service->store->limits().expire_s);
    co_return refusal;
  }
  active.enter((*made)->id());
  Response response = co_await fill_new(service, request, **made, *asked);
  co_await (*made)->close();
  co_return response;
}

// --- offset retrieval ---------------------------------------------------------------------------

Task<Response> resumable_head(ResumableServiceRef service, Request& request) {
  std::string id(request.param("id"));
  // The earlier request has failed as the client sees it, and must not change the offset any more.
  if (request.field("upload-draft-interop-version")) {
    const std::uint64_t number = service->active.next_number();
    co_await service->active.take_over(id, number);
  }
  Result<PendingStatus, Response> status = co_await service->store->status(id);
  if (!status) co_return std::move(status.error());
  Response response(204);
  add_state(response, status->stored, status->offset);
  if (status->description.length) {
    response.add("Upload-Length", std::to_string(*status->description.length));
  }
  add_limit(response, *service, status->expires_s - request.received_s());
  response.add("Cache-Control", "no-store");
  if (status->stored) add_digest(response, status->description.sha256);
  co_return response;
}

// --- append -------------------------------------------------------------------------------------

namespace {

// Interop version 5 and those before had no media type.
bool has_upload_type(const Request& request) {
  if (interop_version(request) <= 5) return true;
  const std::string_view type = request.field("content-type").value_or("");
  return http::equals_ignoring_case(http::trim(type.substr(0, type.find(';'))),
                                    partial_upload_type);
}

Response refuse_stored(const ResumableService& service, const Request& request,
                       const PendingStatus& status) {
  const bool empty = request.head().content_length == 0;
  Response response = empty ? completed_upload() : inconsistent_length();
  add_state(response, true, status.offset);
  response.add("Location", service.file_url_of(status.description.name));
  return response;
}

Task<Response> append_to(ResumableServiceRef service, Request& request, ResumableUpload& upload,
                         std::uint64_t offset, Asked& asked) {
  if (upload.is_partial()) co_return refuse_upload(409, "a partial upload of tus has no end");
  if (upload.offset() != offset) {
    Response response = mismatching_offset(upload.offset(), offset);
    response.add("Upload-Complete", item_boolean(false));
    co_return response;
  }
  Result<void, Response> announced =
      co_await announce_length(request, upload, asked.length, asked.sha256);
  if (!announced && announced.error().status() == 400) co_return inconsistent_length();
  if (!announced) co_return std::move(announced.error());
  std::optional<Response> refusal = co_await take_body(request, upload, asked);
  if (!refusal) {
    Response response = co_await end_request(service, request, upload, asked);
    response.remove("Location");
    if (response.status() == 201) {
      response.add("Location", service->file_url_of(upload.description().name));
    }
    co_return response;
  }
  if (upload.exceeded()) {
    // Section 4.1.3: the upload is invalid if it was found by receiving too much.
    if (!request.head().content_length) co_await upload.remove();
    co_return inconsistent_length();
  }
  add_state(*refusal, false, upload.offset());
  co_return *std::move(refusal);
}

}  // namespace

Task<Response> resumable_patch(ResumableServiceRef service, Request& request) {
  if (!has_upload_type(request)) {
    Response response = refuse_upload(415, "a PATCH has the type application/partial-upload");
    response.add("Accept-Patch", partial_upload_type);
    co_return response;
  }
  const auto offset = parse_field(request, "upload-offset", parse_item_integer);
  if (!offset) co_return refuse_upload(400, "a PATCH needs an Upload-Offset");
  Result<Asked, Response> asked = read_request(request, *offset);
  if (!asked) co_return std::move(asked.error());
  ActiveUploads::Registration active(service->active, request);
  Result<FoundUpload, Response> found = co_await find_upload(
      service, std::string(request.param("id")), TakeOver::any, active.number());
  if (!found) co_return std::move(found.error());
  if (found->stored) co_return refuse_stored(*service, request, *found->stored);
  active.enter(found->open->id());
  Response response = co_await append_to(service, request, *found->open, *offset, *asked);
  co_await found->open->close();
  co_return response;
}

void add_resumable_abilities(Response& response, const ResumableService& service) {
  response.add("Accept-Patch", partial_upload_type);
  add_limit(response, service, service.store->limits().expire_s);
}

}  // namespace h2server::content
