#include "content/uploads/resumable/resumable_service.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "base/text/text.h"
#include "content/names/markup.h"
#include "content/storage/upload_path.h"
#include "content/storage/upload_refusals.h"
#include "content/uploads/access/upload_access.h"
#include "content/uploads/access/upload_quota.h"
#include "h2server/query.h"
#include "http/fields/date.h"
#include "http/fields/digest_fields.h"

namespace h2server::content {

std::string ResumableService::url_of(std::string_view id) const {
  return options.base + "/" + std::string(id);
}

std::string ResumableService::file_url_of(std::string_view name) const {
  std::string url = options.files;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('/'), name.size());
    url += '/';
    append_segment(url, name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return url;
}

bool may_overwrite(const ResumableService& service, const Request& request) {
  return service.store->options().overwrite && may(request, Right::manage);
}

Task<Result<FoundUpload, Response>> find_upload(ResumableServiceRef service, std::string id,
                                                TakeOver take_over, std::uint64_t number) {
  Result<FoundUpload, Response> found = co_await service->store->find(id);
  if (found || found.error().status() != 423) co_return found;
  if (take_over == TakeOver::stalled) {
    Result<PendingStatus, Response> status = co_await service->store->status(id);
    const std::int64_t now = base::unix_seconds();
    if (!status || now - status->changed_s < service->store->limits().stalled_s) co_return found;
  }
  const bool ended = co_await service->active.take_over(id, number);
  if (!ended) co_return found;
  Result<FoundUpload, Response> again = co_await service->store->find(id);
  co_return again;
}

Task<Result<void, Response>> announce_length(Request& request, ResumableUpload& upload,
                                             std::optional<std::uint64_t> length,
                                             std::optional<Sha256::Value> sha256) {
  const std::uint64_t added = upload.description().length ? 0 : length.value_or(0);
  Result<void, Response> done = charge_upload(request, added);
  if (!done) co_return done;
  done = co_await upload.announce(length, sha256);
  if (!done) refund_upload(request, added);
  co_return done;
}

Task<Result<StoredFile, Response>> store_upload(ResumableServiceRef service, Request& request,
                                                ResumableUpload& upload) {
  Result<std::string, Response> chosen = choose_name(*service, request, {});
  if (!chosen) co_return std::unexpected(std::move(chosen.error()));
  std::optional<std::string> name;
  if (!chosen->empty()) name = *std::move(chosen);
  const bool overwrite = may_overwrite(*service, request);
  Result<StoredFile, Response> stored = co_await upload.store(std::move(name), overwrite);
  if (stored && service->options.stored) service->options.stored(request, *stored);
  if (upload.may_be_stored()) request.attach(MayHaveStored{});
  co_return stored;
}

Task<Response> delete_upload(ResumableServiceRef service, Request& request) {
  const std::string id(request.param("id"));
  const std::uint64_t number = service->active.next_number();
  Result<FoundUpload, Response> found = co_await find_upload(service, id, TakeOver::any, number);
  if (!found) co_return std::move(found.error());
  Result<void, Response> done;
  if (found->open != nullptr) {
    done = co_await found->open->remove();
    co_await found->open->close();
  } else {
    done = co_await service->store->forget(id);
  }
  if (!done) co_return std::move(done.error());
  co_return Response::no_content();
}

Result<std::string, Response> choose_name(const ResumableService& service, const Request& request,
                                          std::string_view claimed) {
  const Parameters query = request.query_parameters();
  claimed = query.find("name").value_or(claimed);
  if (claimed.empty()) return std::string();
  std::optional<std::string> name = safe_upload_path(claimed, service.store->options().folders);
  if (name) return *std::move(name);
  return std::unexpected(refuse_upload(400, "not a file name that can be stored"));
}

std::string date_of(std::int64_t unix_seconds) {
  std::array<char, http::date_size> date{};
  http::format_date(unix_seconds, date);
  return {date.data(), date.size()};
}

Response describe_upload(const ResumableService& service, std::string_view id,
                         const PendingStatus& status) {
  const PendingDescription& description = status.description;
  const bool partial = description.concatenation == Concatenation::partial;
  const bool whole = partial && description.length == status.offset;
  std::string json = "{\"id\":";
  append_json(json, id);
  json += ",\"name\":";
  append_json(json, description.name);
  json += ",\"offset\":";
  append_number(json, status.offset);
  json += ",\"length\":";
  if (description.length) append_number(json, *description.length);
  if (!description.length) json += "null";
  json += status.stored || whole ? ",\"complete\":true" : ",\"complete\":false";
  json += ",\"expires\":\"";
  append_time(json, status.expires_s);
  json += '"';
  if (status.stored) {
    json += ",\"url\":";
    append_json(json, service.file_url_of(description.name));
    if (!description.sha256.empty()) json += ",\"sha256\":\"" + description.sha256 + '"';
  }
  json += "}\n";
  Response response = Response::json(std::move(json));
  response.add("Cache-Control", "no-store");
  response.add("X-Content-Type-Options", "nosniff");  // the name is the client's choice
  return response;
}

void add_digest(Response& response, std::string_view sha256) {
  Sha256::Value value{};
  if (sha256.size() != value.size() * 2) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const int high = base::hex_digit(sha256[2 * i]);
    value[i] = static_cast<unsigned char>(high * 16 + base::hex_digit(sha256[2 * i + 1]));
  }
  response.add("Repr-Digest", http::digest_field(value));
}

}  // namespace h2server::content
