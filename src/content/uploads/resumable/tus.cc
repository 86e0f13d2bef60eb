#include "content/uploads/resumable/tus.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/text/text.h"
#include "content/files/client_places.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/resumable/resumable_body.h"
#include "content/uploads/resumable/tus_fields.h"
#include "content/uploads/resumable/upload_metadata.h"
#include "http/fields/syntax.h"

namespace h2server::content {

namespace {

constexpr int checksum_mismatch = 460;  // of tus
constexpr std::string_view upload_type = "application/offset+octet-stream";

// Every response says it.
Response tell_version(Response response) {
  response.replace("Tus-Resumable", tus_version);
  return response;
}

Result<void, Response> check_version(const Request& request) {
  if (request.field("tus-resumable") == tus_version) return {};
  Response response = refuse_upload(412, "this server speaks version 1.0.0 of tus");
  response.add("Tus-Version", tus_version);
  return std::unexpected(std::move(response));
}

bool has_body(const Request& request) {
  return request.head().content_length.value_or(0) > 0 || request.field("transfer-encoding");
}

bool has_tus_type(const Request& request) {
  const std::string_view type = request.field("content-type").value_or("");
  return http::equals_ignoring_case(http::trim(type.substr(0, type.find(';'))), upload_type);
}

Result<std::optional<ExpectedDigest>, Response> find_checksum(const Request& request) {
  const auto field = request.field("upload-checksum");
  if (!field) return std::nullopt;
  std::optional<ExpectedDigest> checksum = parse_upload_checksum(*field);
  if (!checksum) return refused(400, "an Upload-Checksum of an unknown kind");
  return checksum;
}

// Upload-Length. Unset: it is deferred, or a final upload has none.
Result<std::optional<std::uint64_t>, Response> find_length(const Request& request, bool required) {
  const auto field = request.field("upload-length");
  const auto deferred = request.field("upload-defer-length");
  if (!field && (!required || deferred == "1")) return std::nullopt;
  if (!field || deferred) return refused(400, "one of Upload-Length and Upload-Defer-Length: 1");
  const std::optional<std::uint64_t> length = base::parse_decimal(*field);
  if (!length) return refused(400, "an Upload-Length that is no number");
  return length;
}

// --- POST ---------------------------------------------------------------------------------------

struct Creation {
  NewUpload upload;
  std::vector<std::string> parts;  // ids, of a final upload
};

std::string field_of_parts(const ResumableService& service, const std::vector<std::string>& ids) {
  std::string text = "final;";
  for (const std::string& id : ids) {
    if (text.back() != ';') text += ' ';
    text += service.url_of(id);
  }
  return text;
}

Result<Creation, Response> read_tus_creation(const ResumableService& service,
                                             const Request& request) {
  const PendingLimits& limits = service.store->limits();
  Creation creation;
  if (const auto field = request.field("upload-concat")) {
    if (!service.store->concatenates()) return refused(501, "uploads can't be concatenated here");
    std::optional<UploadConcat> concat =
        parse_upload_concat(*field, service.options.base, limits.parts_max);
    if (!concat) return refused(400, "an Upload-Concat that can't be read");
    creation.upload.concatenation = concat->kind;
    creation.parts = std::move(concat->ids);
  }
  const bool is_final = creation.upload.concatenation == Concatenation::final;
  if (is_final) creation.upload.parts = field_of_parts(service, creation.parts);
  Result<std::optional<std::uint64_t>, Response> length = find_length(request, !is_final);
  if (!length) return std::unexpected(std::move(length.error()));
  if (is_final && *length) return refused(400, "a final upload has no length of its own");
  creation.upload.length = *length;
  creation.upload.client = share_of(request);
  const std::string_view metadata = request.field("upload-metadata").value_or("");
  if (metadata.size() > limits.metadata_bytes_max) return refused(400, "too much Upload-Metadata");
  const auto known = parse_upload_metadata(metadata);
  if (!known) return refused(400, "an Upload-Metadata that can't be read");
  creation.upload.metadata = metadata;
  Result<std::string, Response> name = choose_name(service, request, file_name_of(*known));
  if (!name) return std::unexpected(std::move(name.error()));
  if (creation.upload.concatenation != Concatenation::partial) creation.upload.name = *name;
  return creation;
}

void add_expiry(Response& response, std::int64_t expires_s) {
  response.add("Upload-Expires", date_of(expires_s));
}

std::int64_t expiry_from_now(const ResumableService& service) {
  return base::unix_seconds() + service.store->limits().expire_s;
}

void add_size_limit(Response& response, const ResumableService& service) {
  const std::uint64_t most = service.store->options().file_bytes_max;
  if (most != 0) response.add("Tus-Max-Size", std::to_string(most));
}

Response created(const ResumableService& service, const std::string& id) {
  Response response(201);
  response.add("Location", service.url_of(id));
  add_expiry(response, expiry_from_now(service));
  return response;
}

Task<Response> concatenate(ResumableServiceRef service, Request& request, Creation creation) {
  const bool overwrite = may_overwrite(*service, request);
  Result<ConcatenatedUpload, Response> made = co_await service->store->concatenate(
      std::move(creation.upload), std::move(creation.parts), overwrite);
  if (!made) co_return std::move(made.error());
  if (service->options.stored) service->options.stored(request, made->file);
  co_return created(*service, made->id);
}

// Receives a body and stores the upload if that made it whole. Returns what is wrong, or nothing.
Task<std::optional<Response>> take_tus_body(ResumableServiceRef service, Request& request,
                                            ResumableUpload& upload,
                                            std::optional<ExpectedDigest>& checksum) {
  Result<bool, Response> matches = co_await receive_upload_body(request, upload, checksum);
  if (!matches) co_return std::move(matches.error());
  if (!*matches) {
    co_return refuse_upload(checksum_mismatch, "the body does not match its checksum");
  }
  if (!upload.whole() || upload.is_partial()) co_return std::nullopt;
  Result<StoredFile, Response> stored = co_await store_upload(service, request, upload);
  if (!stored) co_return std::move(stored.error());
  co_return std::nullopt;
}

// The request that creates an upload may have its first bytes.
Task<Response> fill_new_tus(ResumableServiceRef service, Request& request, ResumableUpload& upload,
                            std::optional<ExpectedDigest>& checksum) {
  std::optional<Response> refusal = co_await take_tus_body(service, request, upload, checksum);
  if (!refusal) {
    Response response = created(*service, upload.id());
    response.add("Upload-Offset", std::to_string(upload.offset()));
    add_digest(response, upload.description().sha256);
    co_return response;
  }
  // Only if it may still be finished does the client need to know it: its name is taken or locked.
  const bool stays = refusal->status() == 409 || refusal->status() == 423;
  if (stays) refusal->add("Location", service->url_of(upload.id()));
  if (!stays) co_await upload.remove();
  co_return *std::move(refusal);
}

Task<Response> create(ResumableServiceRef service, Request& request) {
  Result<Creation, Response> creation = read_tus_creation(*service, request);
  if (!creation) co_return std::move(creation.error());
  if (creation->upload.concatenation == Concatenation::final) {
    Response response = co_await concatenate(service, request, *std::move(creation));
    co_return response;
  }
  Result<std::optional<ExpectedDigest>, Response> checksum = find_checksum(request);
  if (!checksum) co_return std::move(checksum.error());
  if (has_body(request) && !has_tus_type(request)) {
    co_return refuse_upload(415, "a body has the type application/offset+octet-stream");
  }
  ActiveUploads::Registration active(service->active, request);
  const bool overwrite = may_overwrite(*service, request);
  Result<std::unique_ptr<ResumableUpload>, Response> made =
      co_await service->store->create(std::move(creation->upload), overwrite);
  if (!made) {
    Response refusal = std::move(made.error());
    if (refusal.status() == 413) add_size_limit(refusal, *service);
    co_return refusal;
  }
  ResumableUpload& upload = **made;
  active.enter(upload.id());
  Response response = co_await fill_new_tus(service, request, upload, *checksum);
  co_await upload.close();
  co_return response;
}

// --- HEAD ---------------------------------------------------------------------------------------

Response head_response(const PendingStatus& status) {
  const PendingDescription& description = status.description;
  Response response(200);
  response.add("Cache-Control", "no-store");
  response.add("Upload-Offset", std::to_string(status.offset));
  if (description.length) response.add("Upload-Length", std::to_string(*description.length));
  if (!description.length) response.add("Upload-Defer-Length", "1");
  if (!description.metadata.empty()) response.add("Upload-Metadata", description.metadata);
  if (description.concatenation == Concatenation::partial) response.add("Upload-Concat", "partial");
  if (!description.parts.empty()) response.add("Upload-Concat", description.parts);
  add_expiry(response, status.expires_s);
  if (status.stored) add_digest(response, description.sha256);
  return response;
}

// A client takes an offset at the end for a stored file. So what a killed server left whole, or
// what had a name that was taken, is stored now, or the client learns why not.
bool needs_storing(const PendingStatus& status) {
  return !status.stored && status.description.concatenation != Concatenation::partial &&
         status.description.length == status.offset;
}

Task<std::optional<Response>> store_now(ResumableServiceRef service, Request& request,
                                        std::string id) {
  Result<FoundUpload, Response> found = co_await service->store->find(std::move(id));
  if (!found) co_return std::move(found.error());
  if (found->open == nullptr) co_return std::nullopt;
  std::optional<Response> refusal;
  if (found->open->whole()) {
    Result<StoredFile, Response> stored = co_await store_upload(service, request, *found->open);
    if (!stored) refusal = std::move(stored.error());
  }
  co_await found->open->close();
  co_return refusal;
}

Task<Response> look(ResumableServiceRef service, Request& request) {
  const std::string id(request.param("id"));
  Result<PendingStatus, Response> status = co_await service->store->status(id);
  if (!status) co_return std::move(status.error());
  if (needs_storing(*status)) {
    std::optional<Response> refusal = co_await store_now(service, request, id);
    if (refusal) co_return *std::move(refusal);
    status = co_await service->store->status(id);
    if (!status) co_return std::move(status.error());
  }
  co_return head_response(*status);
}

// --- PATCH --------------------------------------------------------------------------------------

Response appended(const ResumableService& service, std::uint64_t offset) {
  Response response(204);
  response.add("Upload-Offset", std::to_string(offset));
  add_expiry(response, expiry_from_now(service));
  return response;
}

// The last response may have been lost: the end of a stored upload is no error.
Response append_to_stored(const ResumableService& service, const PendingStatus& status,
                          std::uint64_t offset) {
  if (status.description.concatenation == Concatenation::final) {
    return refuse_upload(403, "a final upload can't be changed");
  }
  if (status.offset == offset) return appended(service, offset);
  return refuse_upload(409, "the upload is complete");
}

struct Patch {
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length = {};
  std::optional<ExpectedDigest> checksum = {};
};

Result<Patch, Response> read_patch(const Request& request) {
  if (!has_tus_type(request)) {
    return refused(415, "a PATCH has the type application/offset+octet-stream");
  }
  const auto offset = base::parse_decimal(request.field("upload-offset").value_or(""));
  if (!offset) return refused(400, "a PATCH needs an Upload-Offset");
  Result<std::optional<std::uint64_t>, Response> length = find_length(request, false);
  if (!length) return std::unexpected(std::move(length.error()));
  Result<std::optional<ExpectedDigest>, Response> checksum = find_checksum(request);
  if (!checksum) return std::unexpected(std::move(checksum.error()));
  return Patch{.offset = *offset, .length = *length, .checksum = *std::move(checksum)};
}

Task<Response> append_to_tus(ResumableServiceRef service, Request& request, ResumableUpload& upload,
                             Patch& patch) {
  if (upload.offset() != patch.offset) {
    Response response = refuse_upload(409, "the upload has another offset");
    response.add("Upload-Offset", std::to_string(upload.offset()));
    co_return response;
  }
  Result<void, Response> announced =
      co_await announce_length(request, upload, patch.length, std::nullopt);
  if (!announced) co_return std::move(announced.error());
  const std::optional<std::uint64_t> most = upload.description().length;
  const std::uint64_t bytes = request.head().content_length.value_or(0);
  if (most && bytes > *most - patch.offset) {
    co_return refuse_upload(413, "the body exceeds the upload's length");
  }
  std::optional<Response> refusal =
      co_await take_tus_body(service, request, upload, patch.checksum);
  if (refusal) co_return *std::move(refusal);
  Response response = appended(*service, upload.offset());
  add_digest(response, upload.description().sha256);  // of a stored file
  co_return response;
}

Task<Response> append(ResumableServiceRef service, Request& request) {
  Result<Patch, Response> patch = read_patch(request);
  if (!patch) co_return std::move(patch.error());
  ActiveUploads::Registration active(service->active, request);
  Result<FoundUpload, Response> found = co_await find_upload(
      service, std::string(request.param("id")), TakeOver::stalled, active.number());
  if (!found) co_return std::move(found.error());
  if (found->stored) co_return append_to_stored(*service, *found->stored, patch->offset);
  active.enter(found->open->id());
  Response response = co_await append_to_tus(service, request, *found->open, *patch);
  co_await found->open->close();
  co_return response;
}

// Checks the version that the client speaks, answers, and tells the server's.
using Answer = Task<Response> (*)(ResumableServiceRef, Request&);
Task<Response> speak(ResumableServiceRef service, Request& request, Answer answer) {
  Result<void, Response> version = check_version(request);
  if (!version) co_return tell_version(std::move(version.error()));
  Response response = co_await answer(service, request);
  co_return tell_version(std::move(response));
}

}  // namespace

Task<Response> tus_post(ResumableServiceRef service, Request& request) {
  return speak(std::move(service), request, create);
}

Task<Response> tus_head(ResumableServiceRef service, Request& request) {
  return speak(std::move(service), request, look);
}

Task<Response> tus_patch(ResumableServiceRef service, Request& request) {
  return speak(std::move(service), request, append);
}

Task<Response> tus_delete(ResumableServiceRef service, Request& request) {
  return speak(std::move(service), request, delete_upload);
}

void add_tus_abilities(Response& response, const ResumableService& service) {
  response.add("Tus-Resumable", tus_version);
  response.add("Tus-Version", tus_version);
  std::string extensions(tus_extensions);
  if (service.store->concatenates()) extensions += ",concatenation";
  response.add("Tus-Extension", extensions);
  response.add("Tus-Checksum-Algorithm", tus_checksum_algorithms);
  add_size_limit(response, service);
}

}  // namespace h2server::content
