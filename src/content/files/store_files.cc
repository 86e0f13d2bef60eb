#include "content/files/store_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/text/text.h"
#include "content/cache/checked_body.h"
#include "content/cache/disk_counts.h"
#include "content/cache/object_cache.h"
#include "content/files/file_requests.h"
#include "content/files/listing_page.h"
#include "content/files/static_files.h"
#include "content/files/store_listings.h"
#include "content/names/attachment.h"
#include "content/store/store_refusals.h"
#include "http/answer.h"
#include "http/fields/conditional_fields.h"
#include "http/fields/date.h"
#include "http/fields/ranges.h"
#include "http/message.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;
using file::Lookup;

// --- what the store is asked ------------------------------------------------------------------

// Returns the field's value if it is one range; else an empty text: the whole object is an answer
// to any Range (RFC 9110, 14.2).
std::string single_range(std::string_view field) {
  constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();
  const bool single = field.find(',') == field.npos &&
                      http::choose_range(field, any_size).verdict == http::RangeVerdict::partial;
  return single ? std::string(base::trim(field)) : std::string();
}

// Stores read lists of tags, weak tags and If-Range wrongly. So they are asked for what saves a
// transfer, and the head that comes back is evaluated here.
GetOptions options_of(const Request& request, const http::ConditionalFields& fields) {
  GetOptions options;
  const auto tag_in = [](std::optional<std::string_view> value) {
    const std::string_view tag = base::trim(value.value_or(""));
    return http::is_strong_tag(tag) ? std::string(tag) : std::string();
  };
  const http::Preconditions& asked = fields.preconditions;
  if (!fields.lists_go_on) options.conditions.if_none_match = tag_in(asked.if_none_match);
  // RFC 9110, 14.2: Range is defined for GET only.
  if (request.method() != Method::GET || !fields.range) return options;
  options.range = single_range(*fields.range);
  if (options.range.empty() || !asked.if_range) return options;
  options.conditions.if_match = tag_in(asked.if_range);
  // A date can't be handed on.
  if (options.conditions.if_match.empty()) options.range.clear();
  return options;
}

bool is_whole(const OpenedObject& opened) noexcept { return opened.count == opened.info.size; }

// --- the response -----------------------------------------------------------------------------

// The body of a response to HEAD, which is not read.
class UnreadBody final : public BodySource {
 public:
  Task<Result<std::string_view>> read() override {
    co_return std::unexpected(Error{EPROTO, "the body of HEAD"});
  }
};

http::PreconditionResult evaluate(const Request& request, const http::ConditionalFields& fields,
                                  const ObjectInfo& info) {
  http::ConditionalFields known = fields;
  if (info.modified_s == 0) {  // RFC 9110, 13.1.3: without a date, there is nothing to compare
    known.preconditions.if_modified_since.reset();
    known.preconditions.if_unmodified_since.reset();
  }
  return http::evaluate(request.head(), known, {info.etag, info.modified_s});
}

// Of 200, 206 and 304 (RFC 9110, 15.4.5).
void add_validators(Response& response, const ObjectInfo& info, std::int64_t now_s) {
  if (info.modified_s > 0) {
    std::array<char, http::date_size> date;
    // RFC 9110, 8.8.2.1: never in the future.
    http::format_date(std::min(info.modified_s, now_s), date);
    response.add("Last-Modified", std::string_view(date.data(), date.size()));
  }
  if (!info.etag.empty()) response.add("ETag", info.etag);
}

Response not_modified(const Request& request, const ObjectInfo& info) {
  Response response(304);
  add_validators(response, info, request.received_s());
  for (const Response::Line& line : info.fields) {
    const bool in_304 = base::equals_ignoring_case(line.name, "Cache-Control") ||
                        base::equals_ignoring_case(line.name, "Expires");
    if (in_304) response.add(line.name, line.value);
  }
  return response;
}

Response unsatisfiable(std::uint64_t size) {
  Response response = http::error_response(416);
  response.add("Content-Range", fmt::format("bytes */{}", size));
  return response;
}

// Returns the choice of the request's Range; `whole` if it does not count.
http::RangeChoice range_of(const Request& request, const http::ConditionalFields& fields,
                           const ObjectInfo& info) {
  const http::Validators validators{info.etag, info.modified_s};
  const bool applies = request.method() == Method::GET && fields.range &&
                       http::range_applies(fields.preconditions, validators, request.received_s());
  if (!applies) return {};
  return http::choose_range(*fields.range, info.size);
}

// Returns true if the store has sent the part that the client has asked for.
bool is_chosen(const http::RangeChoice& choice, const OpenedObject& opened) noexcept {
  return choice.verdict == http::RangeVerdict::partial && choice.range.first == opened.first &&
         choice.range.count == opened.count;
}

StoreResult<Response> failed_answer(std::string_view reason) {
  StoreError error;
  error.reason = reason;
  return std::unexpected(std::move(error));
}

// Shared by all workers.
class StoreFiles {
 public:
  StoreFiles(std::shared_ptr<Store> store, const FilesOptions& options, http::MediaTypesRef types,
             DiskPlace disk)
      : store_(std::move(store)),
        options_(options),
        types_(std::move(types)),
        disk_(std::move(disk)),
        listings_(store_, options.hidden),
        objects_(store_, types_, {.fresh_ms = options.fresh.count()}, file::Cache::of_process(),
                 ObjectCache::budget_of_process(), disk_) {}

  // Returns nullopt if the answer needs the store.
  std::optional<Response> attempt(Request& request) const;
  Task<Response> serve(Request& request);

 private:
  // These return the response, or why there is none.
  Task<StoreResult<Response>> find(const Request& request, std::string key);
  Task<StoreResult<Response>> ask(const Request& request, std::string key);
  Task<StoreResult<Response>> find_index(const Request& request, std::string prefix);
  Task<StoreResult<Response>> list(const Request& request, std::string prefix);

  Task<StoreResult<OpenedObject>> open(const Request& request, std::string key,
                                       const http::ConditionalFields& fields);
  [[nodiscard]] bool is_refused(std::string_view path) const;
  [[nodiscard]] Response kept_answer(const Request& request, std::string_view key,
                                     FileRef file) const;
  [[nodiscard]] Response unchecked_answer(const Request& request, std::string_view key,
                                          const DiskObject& object, FileRef file) const;
  [[nodiscard]] Response answer(const Request& request, std::string_view key,
                                const http::ConditionalFields& fields, OpenedObject opened) const;

  const std::shared_ptr<Store> store_;
  const FilesOptions options_;
  const http::MediaTypesRef types_;
  const DiskPlace disk_;
  StoreListings listings_;
  ObjectCache objects_;
};

bool has_own_name(std::string_view path) {
  for (std::size_t at = path.find(own_name); at != path.npos; at = path.find(own_name, at + 1)) {
    const std::string_view rest = path.substr(at + own_name.size());
    const bool begins = at == 0 || path[at - 1] == '/';
    if (begins && (rest.empty() || rest.front() == '/')) return true;
  }
  return false;
}

bool StoreFiles::is_refused(std::string_view path) const {
  return options_.hidden ? has_own_name(path) : is_hidden(path);
}

// Returns the response with an object from memory or from the disk.
Response StoreFiles::kept_answer(const Request& request, std::string_view key, FileRef file) const {
  if (const DiskObject* const object = DiskObject::of(*file)) {
    DiskCounts::of_process().hits.fetch_add(1, std::memory_order_relaxed);
    if (!object->checked()) return unchecked_answer(request, key, *object, std::move(file));
  }
  Response response = request.reply_ok_with_file(std::move(file));
  if (response.status() < 300 && asks_for_download(request)) {
    response.replace("Content-Disposition", attachment(key.substr(key.rfind('/') + 1)));
  }
  return response;
}

// Of a file that an earlier process has written.
Response StoreFiles::unchecked_answer(const Request& request, std::string_view key,
                                      const DiskObject& object, FileRef file) const {
  const http::ConditionalFields fields = http::find_conditional_fields(request.head().fields);
  const ObjectInfo& info = object.info();
  const http::RangeChoice choice = range_of(request, fields, info);
  const bool partial = choice.verdict == http::RangeVerdict::partial;
  const http::ByteRange range = partial ? choice.range : http::ByteRange{0, info.size};
  OpenedObject opened{.info = info, .first = range.first, .count = range.count};
  CheckedBody::Source source{.disk = disk_,
                             .store = store_,
                             .key = std::string(key),
                             .file = std::move(file),
                             .budget = ObjectCache::budget_of_process()};
  opened.body = std::make_unique<CheckedBody>(std::move(source), range.first, range.count);
  return answer(request, key, fields, std::move(opened));
}

std::optional<Response> StoreFiles::attempt(Request& request) const {
  const std::string_view target = request.param("path");
  if (is_refused(target)) return http::error_response(404);
  const bool directory = names_directory(target);
  const auto known = [this](std::string_view key) { return objects_.known(key); };
  std::string* const index = directory ? &kept_copy(target) : nullptr;
  std::optional<Lookup> found =
      directory ? known_index(options_.index, *index, known) : known(target);
  if (!found) return std::nullopt;
  if (found->kind == Lookup::Kind::file) {
    const std::string_view key = directory ? std::string_view(*index) : target;
    return kept_answer(request, key, std::move(found->file));
  }
  if (found->kind != Lookup::Kind::absent || !options_.fallback.empty()) return std::nullopt;
  if (directory && options_.listing) return std::nullopt;
  if (directory) return http::error_response(404);
  found = known(kept_copy(target) += '/');
  if (!found) return std::nullopt;
  return found->kind == Lookup::Kind::directory ? redirect_to_directory(request)
                                                : http::error_response(404);
}

Task<StoreResult<OpenedObject>> StoreFiles::open(const Request& request, std::string key,
                                                 const http::ConditionalFields& fields) {
  GetOptions options = options_of(request, fields);
  if (request.method() == Method::HEAD) {
    StoreResult<ObjectInfo> info = co_await store_->head(std::move(key), std::move(options));
    if (!info) co_return std::unexpected(std::move(info.error()));
    OpenedObject known{.info = *std::move(info), .body = std::make_unique<UnreadBody>()};
    known.count = known.info.size;
    co_return known;
  }
  StoreResult<OpenedObject> opened = co_await store_->get(key, options);
  if (options.range.empty()) co_return opened;
  const bool usable =
      opened
          ? is_whole(*opened) || is_chosen(range_of(request, fields, opened->info), *opened)
          : opened.error().kind != Kind::precondition && opened.error().kind != Kind::unsatisfiable;
  if (usable) co_return opened;
  options.range.clear();
  options.conditions.if_match.clear();
  // Ends the transfer of what is not wanted.
  opened = std::unexpected(StoreError());
  StoreResult<OpenedObject> whole = co_await store_->get(std::move(key), std::move(options));
  co_return whole;
}

Response StoreFiles::answer(const Request& request, std::string_view key,
                            const http::ConditionalFields& fields, OpenedObject opened) const {
  const ObjectInfo& info = opened.info;
  switch (evaluate(request, fields, info)) {
    case http::PreconditionResult::failed:
      return http::error_response(412);
    case http::PreconditionResult::not_modified:
      return not_modified(request, info);
    case http::PreconditionResult::proceed:
      break;
  }
  const http::RangeChoice choice = range_of(request, fields, info);
  if (choice.verdict == http::RangeVerdict::unsatisfiable) return unsatisfiable(info.size);
  const bool partial = is_chosen(choice, opened);
  Response response(partial ? 206 : 200);
  if (partial) {
    response.add("Content-Range", fmt::format("bytes {}-{}/{}", opened.first,
                                              opened.first + opened.count - 1, info.size));
  }
  response.add("Content-Type",
               info.content_type.empty() ? types_->of(key) : std::string_view(info.content_type));
  add_validators(response, info, request.received_s());
  response.add("Accept-Ranges", "bytes");
  for (const Response::Line& line : info.fields) response.add(line.name, line.value);
  if (asks_for_download(request)) {
    response.replace("Content-Disposition", attachment(key.substr(key.rfind('/') + 1)));
  }
  const std::uint64_t count = opened.count;
  response.set_body(Response::Streamed{std::move(opened.body), count});
  return response;
}

// RFC 9110, 14.2: Range is defined for GET only.
ObjectCache::Load load_for(const Request& request) {
  const bool whole = request.method() == Method::GET && !request.field("range");
  return whole ? ObjectCache::Load::yes : ObjectCache::Load::no;
}

Task<StoreResult<Response>> StoreFiles::find(const Request& request, std::string key) {
  StoreResult<ObjectCache::Found> found = co_await objects_.find(key, load_for(request));
  if (!found) co_return std::unexpected(std::move(found.error()));
  if (found->file != nullptr) co_return kept_answer(request, key, std::move(found->file));
  if (found->opened) {
    const http::ConditionalFields fields = http::find_conditional_fields(request.head().fields);
    co_return answer(request, key, fields, *std::move(found->opened));
  }
  StoreResult<Response> response = co_await ask(request, std::move(key));
  co_return response;
}

// The store decides on what the request wants of an object that is not kept.
Task<StoreResult<Response>> StoreFiles::ask(const Request& request, std::string key) {
  const http::ConditionalFields fields = http::find_conditional_fields(request.head().fields);
  StoreResult<OpenedObject> opened = co_await open(request, key, fields);
  if (opened && !is_whole(*opened) &&
      !is_chosen(range_of(request, fields, opened->info), *opened)) {
    co_return failed_answer("it sent a part of an object in answer to a request for the whole");
  }
  if (opened) co_return answer(request, key, fields, *std::move(opened));
  StoreError& error = opened.error();
  if (error.kind != Kind::not_modified) co_return std::unexpected(std::move(error));
  // RFC 9110, 15.4.5: the response has the tag. Stores may leave it out, and then it is that of the
  // request, the only one that they were asked about.
  if (error.info.etag.empty()) error.info.etag = base::trim(*fields.preconditions.if_none_match);
  const bool refused = evaluate(request, fields, error.info) == http::PreconditionResult::failed;
  if (refused) co_return http::error_response(412);
  co_return not_modified(request, error.info);
}

Task<StoreResult<Response>> StoreFiles::find_index(const Request& request, std::string prefix) {
  for (const std::string& name : options_.index) {
    StoreResult<Response> found = co_await find(request, prefix + name);
    if (found || found.error().kind != Kind::absent) co_return found;
  }
  co_return std::unexpected(StoreError{.kind = Kind::absent});
}

Task<StoreResult<Response>> StoreFiles::list(const Request& request, std::string prefix) {
  StoreResult<FolderEntriesRef> entries = co_await listings_.find(prefix);
  if (!entries) co_return std::unexpected(std::move(entries.error()));
  ListingPage page{.path = std::move(prefix), .types = types_};
  co_return listing_response(request, *std::move(entries), std::move(page));
}

// Returns the response if there is nothing to send.
Response store_refusal(const StoreError& error) {
  if (error.kind == Kind::absent) return http::error_response(404);
  Response response = http::error_response(status_of_failure(error));
  add_retry_after(error, response);
  return response;
}

Task<Response> StoreFiles::serve(Request& request) {
  const std::string path(request.param("path"));
  if (is_refused(path)) co_return http::error_response(404);
  if (http::memory_is_tight()) co_return http::refuse_for_memory();
  const bool directory = names_directory(path);
  Task<StoreResult<Response>> look = directory ? find_index(request, path) : find(request, path);
  StoreResult<Response> found = co_await look;
  const auto is_absent = [&found] { return !found && found.error().kind == Kind::absent; };
  if (is_absent() && !directory) {
    const bool leads = co_await objects_.is_folder(path);
    if (leads) co_return redirect_to_directory(request);
  }
  if (is_absent() && directory && options_.listing) {
    StoreResult<Response> listing = co_await list(request, path);
    found = std::move(listing);
    if (found) co_return *std::move(found);
  }
  const bool varies = is_absent() && !options_.fallback.empty();
  if (varies && asks_for_page(request)) {
    StoreResult<Response> page = co_await find(request, options_.fallback);
    found = std::move(page);
  }
  Response response = found ? *std::move(found) : store_refusal(found.error());
  if (varies) response.replace("Vary", "Accept");
  co_return response;
}

}  // namespace

Handler store_files(std::shared_ptr<Store> store, const FilesOptions& options,
                    http::MediaTypesRef types, DiskPlace disk) {
  const auto files =
      std::make_shared<StoreFiles>(std::move(store), options, std::move(types), std::move(disk));
  Handler::Attempt attempt = [files](Request& request) { return files->attempt(request); };
  return {std::move(attempt), [files](Request& request) { return files->serve(request); }};
}

}  // namespace h2server::content

namespace h2server {

Handler store_files(std::shared_ptr<Store> store, const FilesOptions& options) {
  return content::store_files(std::move(store), options, content::media_types(options));
}

}  // namespace h2server
