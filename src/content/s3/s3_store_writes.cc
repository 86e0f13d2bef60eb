// The calls of S3Store that write.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "content/s3/answers.h"
#include "content/s3/payload.h"
#include "content/s3/s3_store.h"
#include "content/s3/write_answers.h"
#include "http/conditional.h"
#include "http/syntax.h"

namespace h2server::content::s3 {

namespace {

using Kind = StoreError::Kind;
using Method = TransferRequest::Method;
using std::chrono::milliseconds;

// See s3_store.h. A number of its own, as there is no other name that begins with it.
constexpr std::string_view mark_field = "x-amz-meta-h2server-write";

std::unexpected<StoreError> failed(std::string_view reason) {
  return std::unexpected(StoreError{.kind = Kind::failed, .reason = std::string(reason)});
}

std::unexpected<StoreError> refused(Kind kind) { return std::unexpected(StoreError{.kind = kind}); }

std::string new_mark() {
  return fmt::format("{:016x}{:016x}", base::random_number(), base::random_number());
}

// The ids of parts are "MARK.ID", with the id of the store, so that all processes know the mark.
struct IdParts {
  std::string mark;
  std::string id;
};
IdParts split_id(const std::string& id) {
  const std::size_t dot = id.find('.');
  if (dot == id.npos) return {.mark = {}, .id = id};
  return {.mark = id.substr(0, dot), .id = id.substr(dot + 1)};
}

std::string digest_field(std::string_view sha256) {
  return fmt::format("x-amz-content-sha256: {}", sha256);
}

// S3's own type is that of an object without one; libcurl's would be that of a form.
std::string type_field(const PutOptions& options) {
  const std::string& type = options.content_type;
  const bool usable = !type.empty() && std::ranges::all_of(type, http::is_field_value_character);
  return "Content-Type: " + (usable ? type : "binary/octet-stream");
}

bool is_conditional(const PutOptions& options) noexcept {
  return options.must_be_new || !options.if_match.empty();
}

// A tag that is none matches nothing.
bool never_matches(const PutOptions& options) noexcept {
  return !options.if_match.empty() && !http::is_strong_tag(options.if_match);
}

void add_conditions(std::vector<std::string>& fields, const PutOptions& options) {
  if (options.must_be_new) fields.emplace_back("If-None-Match: *");
  if (!options.if_match.empty()) fields.push_back("If-Match: " + options.if_match);
}

}  // namespace

// --- whole objects ----------------------------------------------------------------------------

Task<StoreResult<ObjectInfo>> S3Store::put(std::string key, std::string bytes, PutOptions options) {
  std::optional<std::string> url = object_url(location_, key);
  if (!url) co_return refused(Kind::absent);
  if (never_matches(options)) co_return refused(Kind::precondition);
  const milliseconds time = options.time_max;
  auto putting = put_by(Clock::now() + time, *std::move(url), std::move(bytes), std::move(options));
  StoreResult<ObjectInfo> info = co_await in_time(time, std::move(putting));
  co_return info;
}

Task<StoreResult<ObjectInfo>> S3Store::put_by(Clock::time_point end, std::string url,
                                              std::string bytes, PutOptions options) {
  ObjectInfo info{.size = bytes.size(), .content_type = options.content_type};
  StoreResult<Payload> payload = co_await make_payload(std::move(bytes));
  if (!payload) co_return std::unexpected(std::move(payload.error()));
  const std::string mark = new_mark();
  TransferRequest request{.method = Method::put, .url = url, .body = payload->bytes};
  request.fields = {digest_field(payload->sha256), type_field(options),
                    fmt::format("{}: {}", mark_field, mark)};
  add_conditions(request.fields, options);
  StoreResult<WholeAnswer> answer = co_await requests_.exchange(std::move(request), end);
  if (!answer && answer.error().kind == Kind::precondition && is_conditional(options)) {
    StoreResult<ObjectInfo> own =
        co_await find_own(end, std::move(url), mark, std::move(answer.error()));
    co_return own;
  }
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  Result<std::string, std::string_view> tag = written_tag(answer->head);
  if (!tag) co_return failed(tag.error());
  info.etag = *std::move(tag);
  co_return info;
}

// A write was refused for what exists. It may be what an earlier try has written, of which libcurl,
// too, makes some: it sends a request again if a kept connection ends before the response.
Task<StoreResult<ObjectInfo>> S3Store::find_own(Clock::time_point end, std::string url,
                                                std::string mark, StoreError refusal) {
  TransferRequest request{.method = Method::head, .url = std::move(url), .brief = true};
  request.fields = {digest_field(no_body_sha256)};
  StoreResult<OpenedTransfer> opened = co_await requests_.open(std::move(request), end);
  if (!opened && opened.error().kind == Kind::absent) co_return std::unexpected(std::move(refusal));
  if (!opened && opened.error().kind == Kind::denied) {
    // It is not known whether the write was carried out, which `denied` would deny.
    opened.error().kind = Kind::failed;
  }
  if (!opened) co_return std::unexpected(std::move(opened.error()));
  const bool own = !mark.empty() && opened->head.find(mark_field) == mark;
  if (!own) co_return std::unexpected(std::move(refusal));
  Result<ObjectHead, std::string_view> head = object_head(opened->head);
  if (!head) co_return failed(head.error());
  co_return std::move(head->info);
}

Task<StoreResult<void>> S3Store::remove(std::string key) {
  std::optional<std::string> url = object_url(location_, key);
  if (!url) co_return StoreResult<void>();
  StoreResult<void> removed = co_await remove_at(*std::move(url));
  const bool absent = !removed && removed.error().kind == Kind::absent;
  co_return absent ? StoreResult<void>() : std::move(removed);
}

Task<StoreResult<void>> S3Store::remove_at(std::string url) {
  const milliseconds time = requests_.limits().write_max;
  TransferRequest request{.method = Method::remove, .url = std::move(url)};
  request.fields = {digest_field(no_body_sha256)};
  auto removing = requests_.exchange(std::move(request), Clock::now() + time);
  StoreResult<WholeAnswer> answer = co_await in_time(time, std::move(removing));
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return StoreResult<void>();
}

// --- parts ------------------------------------------------------------------------------------

Task<StoreResult<PartsId>> S3Store::begin_parts(std::string key, PutOptions options) {
  std::optional<std::string> url = object_url(location_, key);
  if (!url) co_return refused(Kind::absent);
  const std::vector<Parameter> query = {{"uploads"}};
  const std::string mark = new_mark();
  TransferRequest request{.method = Method::post, .url = with_query(*std::move(url), query)};
  request.fields = {digest_field(no_body_sha256), type_field(options),
                    fmt::format("{}: {}", mark_field, mark)};
  auto beginning = requests_.exchange(std::move(request), Clock::now() + options.time_max);
  StoreResult<WholeAnswer> answer = co_await in_time(options.time_max, std::move(beginning));
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  Result<std::string, std::string_view> id = begun_id(answer->text);
  if (!id) co_return failed(id.error());
  co_return PartsId{.key = std::move(key), .id = fmt::format("{}.{}", mark, *id)};
}

Task<StoreResult<StoredPart>> S3Store::put_part(PartsId parts, unsigned number, std::string bytes) {
  std::optional<std::string> url = object_url(location_, parts.key);
  if (!url) co_return refused(Kind::absent);
  if (number == 0 || number > PartLimits::number_max) co_return failed("no number of a part");
  const std::vector<Parameter> query = {{"partNumber", fmt::format("{}", number)},
                                        {"uploadId", split_id(parts.id).id}};
  const milliseconds time = requests_.limits().write_max;
  auto putting = put_part_by(Clock::now() + time, with_query(*std::move(url), query), number,
                             std::move(bytes));
  StoreResult<StoredPart> part = co_await in_time(time, std::move(putting));
  co_return part;
}

Task<StoreResult<StoredPart>> S3Store::put_part_by(Clock::time_point end, std::string url,
                                                   unsigned number, std::string bytes) {
  StoredPart part{.number = number, .size = bytes.size()};
  StoreResult<Payload> payload = co_await make_payload(std::move(bytes));
  if (!payload) co_return std::unexpected(std::move(payload.error()));
  TransferRequest request{.method = Method::put, .url = std::move(url), .body = payload->bytes};
  request.fields = {digest_field(payload->sha256), type_field(PutOptions())};
  StoreResult<WholeAnswer> answer = co_await requests_.exchange(std::move(request), end);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  Result<std::string, std::string_view> tag = written_tag(answer->head);
  if (!tag) co_return failed(tag.error());
  part.etag = *std::move(tag);
  co_return part;
}

Task<StoreResult<std::vector<StoredPart>>> S3Store::list_parts(PartsId parts) {
  std::optional<std::string> url = object_url(location_, parts.key);
  if (!url) co_return refused(Kind::absent);
  const milliseconds time = requests_.limits().write_max;
  auto listing = list_parts_by(Clock::now() + time, *std::move(url), split_id(parts.id).id);
  StoreResult<std::vector<StoredPart>> all = co_await in_time(time, std::move(listing));
  co_return all;
}

Task<StoreResult<std::vector<StoredPart>>> S3Store::list_parts_by(Clock::time_point end,
                                                                  std::string url,
                                                                  std::string upload) {
  std::vector<StoredPart> all;
  for (unsigned after = 0;;) {
    const std::vector<Parameter> query = {{"max-parts", "1000"},
                                          {"part-number-marker", fmt::format("{}", after)},
                                          {"uploadId", upload}};
    TransferRequest request{.url = with_query(url, query)};
    request.fields = {digest_field(no_body_sha256)};
    StoreResult<WholeAnswer> answer = co_await requests_.exchange(std::move(request), end);
    if (!answer) co_return std::unexpected(std::move(answer.error()));
    Result<PartList, std::string_view> page = part_list(answer->text);
    if (!page) co_return failed(page.error());
    if (!page->parts.empty() && page->parts.front().number <= after) {
      co_return failed("the list of parts does not go on");
    }
    std::ranges::move(page->parts, std::back_inserter(all));
    if (page->next == 0) co_return all;
    after = page->next;
  }
}

Task<StoreResult<ObjectInfo>> S3Store::complete_parts(PartsId parts, std::vector<StoredPart> all,
                                                      PutOptions options) {
  std::optional<std::string> url = object_url(location_, parts.key);
  if (!url) co_return refused(Kind::absent);
  if (never_matches(options)) co_return refused(Kind::precondition);
  if (all.empty()) co_return failed("there are no parts");
  const milliseconds time = options.time_max;
  auto completing = complete_parts_by(Clock::now() + time, *std::move(url), std::move(parts),
                                      std::move(all), std::move(options));
  StoreResult<ObjectInfo> info = co_await in_time(time, std::move(completing));
  co_return info;
}

Task<StoreResult<ObjectInfo>> S3Store::complete_parts_by(Clock::time_point end, std::string url,
                                                         PartsId parts, std::vector<StoredPart> all,
                                                         PutOptions options) {
  ObjectInfo info;
  for (const StoredPart& part : all) info.size += part.size;
  StoreResult<Payload> payload = co_await make_payload(completion(all));
  if (!payload) co_return std::unexpected(std::move(payload.error()));
  const IdParts id = split_id(parts.id);
  const std::vector<Parameter> query = {{"uploadId", id.id}};
  TransferRequest request{
      .method = Method::post, .url = with_query(url, query), .body = payload->bytes};
  request.fields = {digest_field(payload->sha256), "Content-Type: application/xml"};
  add_conditions(request.fields, options);
  StoreResult<WholeAnswer> answer = co_await requests_.exchange(std::move(request), end);
  const bool done_before =
      !answer && (answer.error().kind == Kind::absent || answer.error().kind == Kind::precondition);
  if (done_before) {
    StoreResult<ObjectInfo> own =
        co_await find_own(end, std::move(url), id.mark, std::move(answer.error()));
    co_return own;
  }
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  Result<std::string, std::string_view> tag = completed_tag(answer->text);
  if (!tag) co_return failed(tag.error());
  info.etag = *std::move(tag);
  co_return info;
}

Task<StoreResult<void>> S3Store::abandon_parts(PartsId parts) {
  std::optional<std::string> url = object_url(location_, parts.key);
  if (!url) co_return refused(Kind::absent);
  const std::vector<Parameter> query = {{"uploadId", split_id(parts.id).id}};
  StoreResult<void> removed = co_await remove_at(with_query(*std::move(url), query));
  co_return removed;
}

}  // namespace h2server::content::s3
