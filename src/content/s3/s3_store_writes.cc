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
#include "http/fields/conditional.h"
#include "http/fields/syntax.h"

namespace h2server::content::s3 {

namespace {

using Kind = StoreError::Kind;
using Method = TransferRequest::Method;
using std::chrono::milliseconds;

// See s3_store.h. No other field's name begins with it, see TransferRequest::fields.
constexpr std::string_view mark_field = "x-amz-meta-h2server-write";

std::unexpected<StoreError> failed(std::string_view reason) {
  return std::unexpected(StoreError{.kind = Kind::failed, .reason = std::string(reason)});
}

std::unexpected<StoreError> refused(Kind kind) { return std::unexpected(StoreError{.kind = kind}); }

std::string new_mark() {
  return fmt::format("{:016x}{:016x}", base::random_number(), base::random_number());
}

// The ids of parts are "MARK.ID", or "MARK+crc32c.ID" if the parts have checksums, with the id of
// the store. So all processes know that.
constexpr std::string_view with_checksums = "+crc32c";

struct IdParts {
  std::string mark;
  std::string id;
  bool checksums = false;
};
IdParts split_id(const std::string& id) {
  const std::size_t dot = id.find('.');
  if (dot == id.npos) return {.mark = {}, .id = id};
  IdParts parts{.mark = id.substr(0, dot), .id = id.substr(dot + 1)};
  parts.checksums = parts.mark.ends_with(with_checksums);
  if (parts.checksums) parts.mark.resize(parts.mark.size() - with_checksums.size());
  return parts;
}

std::string digest_field(std::string_view sha256) {
  return fmt::format("x-amz-content-sha256: {}", sha256);
}

std::string checksum_field(std::string_view crc32c) {
  return fmt::format("x-amz-checksum-crc32c: {}", crc32c);
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
  request.expected = !options.if_match.empty();
  request.fields = {digest_field(payload->sha256), type_field(options),
                    fmt::format("{}: {}", mark_field, mark)};
  add_conditions(request.fields, options);
  StoreResult<WholeAnswer> answer =
      co_await put_payload(end, std::move(request), std::move(payload->crc32c));
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

// A store that does not know the checksum, or wants it otherwise, gets the object without.
Task<StoreResult<WholeAnswer>> S3Store::put_payload(Clock::time_point end, TransferRequest request,
                                                    std::string checksum) {
  const bool summed = !refuses_checksums_.load(std::memory_order_relaxed);
  TransferRequest plain = request;
  if (summed) request.fields.push_back(checksum_field(checksum));
  StoreResult<WholeAnswer> answer = co_await requests_.exchange(std::move(request), end);
  if (answer || !summed || !refuses_checksum(answer.error())) co_return answer;
  answer = co_await requests_.exchange(std::move(plain), end);
  if (answer) refuses_checksums_.store(true, std::memory_order_relaxed);
  co_return answer;
}

// Returns the object if it has the mark, else the refusal. A write was refused for what exists. It
// may be what an earlier try has written, of which libcurl, too, makes some: it sends a request
// again if a kept connection ends before the response.
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
  StoreResult<void> removed = co_await remove_at(*std::move(url), false);
  const bool absent = !removed && removed.error().kind == Kind::absent;
  co_return absent ? StoreResult<void>() : std::move(removed);
}

Task<StoreResult<void>> S3Store::remove_at(std::string url, bool expected) {
  const milliseconds time = requests_.limits().write_max;
  TransferRequest request{.method = Method::remove, .url = std::move(url), .expected = expected};
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
  auto beginning = begin_by(Clock::now() + options.time_max, std::move(request));
  StoreResult<WholeAnswer> answer = co_await in_time(options.time_max, std::move(beginning));
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  Result<std::string, std::string_view> id = begun_id(answer->text);
  if (!id) co_return failed(id.error());
  const bool summed = keeps_whole_checksum(answer->head);
  co_return PartsId{.key = std::move(key),
                    .id = fmt::format("{}{}.{}", mark, summed ? with_checksums : "", *id)};
}

// Asks for the checksum of the whole object, of which parts have theirs.
Task<StoreResult<WholeAnswer>> S3Store::begin_by(Clock::time_point end, TransferRequest request) {
  const bool summed = !refuses_checksums_.load(std::memory_order_relaxed);
  TransferRequest plain = request;
  if (summed) {
    request.fields.emplace_back("x-amz-checksum-algorithm: CRC32C");
    request.fields.emplace_back("x-amz-checksum-type: FULL_OBJECT");
  }
  StoreResult<WholeAnswer> answer = co_await requests_.exchange(std::move(request), end);
  if (answer || !summed || !refuses_checksum(answer.error())) co_return answer;
  answer = co_await requests_.exchange(std::move(plain), end);
  if (answer) refuses_checksums_.store(true, std::memory_order_relaxed);
  co_return answer;
}

Task<StoreResult<StoredPart>> S3Store::put_part(PartsId parts, unsigned number, std::string bytes) {
  std::optional<std::string> url = object_url(location_, parts.key);
  if (!url) co_return refused(Kind::absent);
  if (number == 0 || number > PartLimits::number_max) co_return failed("no number of a part");
  const IdParts id = split_id(parts.id);
  const std::vector<Parameter> query = {{"partNumber", fmt::format("{}", number)},
                                        {"uploadId", id.id}};
  const milliseconds time = requests_.limits().write_max;
  StoredPart part{.number = number, .size = bytes.size()};
  auto putting = put_part_by(Clock::now() + time, with_query(*std::move(url), query),
                             std::move(part), std::move(bytes), id.checksums);
  StoreResult<StoredPart> stored = co_await in_time(time, std::move(putting));
  co_return stored;
}

Task<StoreResult<StoredPart>> S3Store::put_part_by(Clock::time_point end, std::string url,
                                                   StoredPart part, std::string bytes,
                                                   bool summed) {
  StoreResult<Payload> payload = co_await make_payload(std::move(bytes));
  if (!payload) co_return std::unexpected(std::move(payload.error()));
  TransferRequest request{.method = Method::put, .url = std::move(url), .body = payload->bytes};
  request.expected = true;
  request.fields = {digest_field(payload->sha256), type_field(PutOptions())};
  if (summed) {
    part.checksum = std::move(payload->crc32c);
    request.fields.push_back(checksum_field(part.checksum));
  }
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

namespace {

// Takes what was readable in an earlier list, by number.
void fill_in(std::vector<StoredPart>& parts, const std::vector<StoredPart>& earlier) {
  for (const StoredPart& known : earlier) {
    const auto at = std::ranges::lower_bound(parts, known.number, {}, &StoredPart::number);
    if (at == parts.end() || at->number != known.number) {
      parts.insert(at, known);
    } else if (at->etag.empty()) {
      *at = known;
    }
  }
}

bool all_readable(const std::vector<StoredPart>& parts) {
  return std::ranges::none_of(parts, [](const StoredPart& part) { return part.etag.empty(); });
}

bool has_gap(const std::vector<StoredPart>& parts) {
  return !parts.empty() && parts.back().number != parts.size();
}

}  // namespace

// If a node is away and another one has missed a part, MinIO says of every second list that it
// can't read that part, or leaves it out. It is not missing: it may have been acknowledged. But a
// killed server may have left a gap.
Task<StoreResult<std::vector<StoredPart>>> S3Store::list_parts_by(Clock::time_point end,
                                                                  std::string url,
                                                                  std::string upload) {
  constexpr unsigned lists_max = 8;
  constexpr unsigned lists_with_gap_max = 3;
  std::vector<StoredPart> earlier;
  for (unsigned tries = 1;; ++tries) {
    StoreResult<std::vector<StoredPart>> all = co_await list_parts_once(end, url, upload);
    if (!all && all.error().kind == Kind::absent && !earlier.empty()) {
      all.error().kind = Kind::busy;
    }
    if (!all) co_return all;
    fill_in(*all, earlier);
    const bool readable = all_readable(*all);
    if (readable && (tries >= lists_with_gap_max || !has_gap(*all))) co_return all;
    const milliseconds pause = requests_.pause_before(tries);
    if (tries == lists_max || Clock::now() + pause >= end) {
      if (readable) co_return all;
      co_return std::unexpected(
          StoreError{.kind = Kind::busy, .reason = "a part can't be read now"});
    }
    earlier = *std::move(all);
    const Result<void> slept = co_await sleep_for(pause);
    if (!slept) co_return refused(Kind::stopped);
  }
}

Task<StoreResult<std::vector<StoredPart>>> S3Store::list_parts_once(Clock::time_point end,
                                                                    std::string url,
                                                                    std::string upload) {
  std::vector<StoredPart> all;
  for (unsigned after = 0;;) {
    const std::vector<Parameter> query = {{"max-parts", "1000"},
                                          {"part-number-marker", fmt::format("{}", after)},
                                          {"uploadId", upload}};
    TransferRequest request{.url = with_query(url, query), .expected = true};
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

Task<StoreResult<ObjectInfo>> S3Store::find_completed(PartsId parts) {
  std::optional<std::string> url = object_url(location_, parts.key);
  if (!url) co_return refused(Kind::absent);
  const milliseconds time = requests_.limits().write_max;
  auto finding = find_own(Clock::now() + time, *std::move(url), split_id(parts.id).mark,
                          StoreError{.kind = Kind::absent});
  StoreResult<ObjectInfo> info = co_await in_time(time, std::move(finding));
  co_return info;
}

Task<StoreResult<void>> S3Store::abandon_parts(PartsId parts) {
  std::optional<std::string> url = object_url(location_, parts.key);
  if (!url) co_return refused(Kind::absent);
  const std::vector<Parameter> query = {{"uploadId", split_id(parts.id).id}};
  StoreResult<void> removed = co_await remove_at(with_query(*std::move(url), query), true);
  co_return removed;
}

}  // namespace h2server::content::s3
