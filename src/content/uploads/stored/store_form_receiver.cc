#include "content/uploads/stored/store_form_receiver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "base/log.h"
#include "content/names/object_key.h"
#include "content/storage/upload_path.h"
#include "content/storage/upload_refusals.h"
#include "content/store/store_refusals.h"
#include "content/uploads/receive/received_digest.h"
#include "h2server/task_group.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

// Of a form, beside the file that is being received. Other files wait in the store, as parts.
constexpr std::size_t kept_bytes_max = 1024 * 1024;

}  // namespace

StoreFormReceiver::StoreFormReceiver(FormHead head, StoreUploads& uploads,
                                     const UploadOptions& options)
    : head_(std::move(head)),
      parser_(head_.boundary),
      uploads_(uploads),
      options_(options),
      digests_(head_.digests) {}

Task<Result<void, Response>> StoreFormReceiver::take(std::string_view bytes) {
  Result<void, Response> taken = co_await store(bytes);
  if (!taken) co_await discard();
  co_return taken;
}

Task<Result<void, Response>> StoreFormReceiver::store(std::string_view bytes) {
  const bool hashed = co_await add_to_digests(bytes, digests_, nullptr);
  if (!hashed) co_return refused(503, "the server stops");
  rest_ += bytes.size();
  parser_.feed(bytes);
  for (;;) {
    Result<void, Response> done = {};
    switch (parser_.next()) {
      case MultipartParser::Event::need_more:
        co_return check_form_rest(rest_, options_);
      case MultipartParser::Event::part_begin:
        done = co_await begin_part();
        break;
      case MultipartParser::Event::data:
        if (in_file_) done = co_await write(parser_.data());
        break;
      case MultipartParser::Event::part_end:
        in_file_ = false;
        break;
      case MultipartParser::Event::finished:
        break;
      case MultipartParser::Event::malformed:
        co_return refused(400, fmt::format("malformed multipart/form-data: {}", parser_.problem()));
    }
    if (!done) co_return done;
  }
}

Task<Result<void, Response>> StoreFormReceiver::begin_part() {
  const PartHead& part = parser_.part();
  // An empty name: the form was sent without a file.
  if (!part.file_name || part.file_name->empty()) co_return Result<void, Response>();
  std::optional<std::string> path = safe_upload_path(*part.file_name, options_.folders);
  if (!path || !is_object_key(*path)) co_return refused(400, "not a file name that can be stored");
  if (files_.size() == UploadLimits::files_max) co_return refused(413, "too many files");
  const bool twice = std::ranges::any_of(
      files_, [&path](const auto& file) { return file->writer.key() == *path; });
  if (twice) co_return refused(409, fmt::format("{} is sent twice", *path));
  if (!files_.empty()) {
    ObjectWriter& last = files_.back()->writer;
    const bool keeps = last.in_memory() <= uploads_.limits().unbudgeted_bytes &&
                       kept_ + last.in_memory() <= kept_bytes_max;
    if (keeps) kept_ += last.in_memory();
    StoreResult<void> sent = {};
    if (!keeps) sent = co_await last.flush();
    if (!sent) co_return std::unexpected(refuse_store_error(sent.error(), last.key()));
  }
  Result<void, Response> added = co_await add_file(*std::move(path));
  co_return added;
}

// Refuses a name before its content is sent in vain. The store decides at the end.
Task<Result<void, Response>> StoreFormReceiver::add_file(std::string path) {
  const StoreResult<ObjectInfo> found = co_await uploads_.store().head(path, GetOptions());
  if (!found && found.error().kind != Kind::absent) {
    co_return std::unexpected(refuse_store_error(found.error(), path));
  }
  if (found && !options_.overwrite) {
    co_return std::unexpected(refuse_upload_error(EEXIST, path));
  }
  files_.push_back(std::make_unique<File>(uploads_.writer_parts(),
                                          uploads_.plan(std::move(path), std::nullopt)));
  File& file = *files_.back();
  file.replaces = found.has_value();
  if (options_.sha256) file.sha256.emplace();
  in_file_ = true;
  co_return Result<void, Response>();
}

Task<Result<void, Response>> StoreFormReceiver::write(std::string_view bytes) {
  File& file = *files_.back();
  rest_ -= bytes.size();
  ObjectWriter& writer = file.writer;
  const std::uint64_t most = ObjectWriter::bytes_max(uploads_.limits(), false);
  const std::uint64_t limit =
      options_.file_bytes_max == 0 ? most : std::min(most, options_.file_bytes_max);
  if (bytes.size() > limit - writer.size()) {
    co_return refused(
        413, fmt::format("{} is larger than a file may be: {} bytes", writer.key(), limit));
  }
  bool hashed = true;
  if (file.sha256) hashed = co_await add_to_digest(bytes, *file.sha256);
  if (!hashed) co_return refused(503, "the server stops");
  const StoreResult<void> written = co_await writer.write(bytes);
  if (!written) co_return std::unexpected(refuse_store_error(written.error(), writer.key()));
  co_return Result<void, Response>();
}

// --- the end ----------------------------------------------------------------------------------

Result<void, Response> StoreFormReceiver::check_complete() {
  if (!parser_.finished()) return refused(400, "the body ends before its closing boundary");
  if (files_.empty()) return refused(400, "the form holds no file");
  if (!digests_.matches()) return std::unexpected(refuse_digest());
  return {};
}

Task<Stored> StoreFormReceiver::commit() {
  Result<void, Response> complete = check_complete();
  if (!complete) {
    co_await discard();
    co_return std::unexpected(std::move(complete.error()));
  }
  Stored stored = co_await make_all();
  if (!stored) co_await discard();
  co_return stored;
}

bool StoreFormReceiver::may_have_stored() const {
  return std::ranges::any_of(files_, [](const auto& file) { return file->writer.may_be_made(); });
}

Task<Stored> StoreFormReceiver::make_all() {
  std::vector<StoredFile> made;
  for (const auto& file : files_) {
    PutOptions condition{.must_be_new = !options_.overwrite};
    StoreResult<ObjectInfo> object = co_await file->writer.commit(std::move(condition));
    if (object) {
      made.push_back({.name = file->writer.key(),
                      .size = file->writer.size(),
                      .sha256 = digits_of(file->sha256),
                      .etag = std::move(object->etag),
                      .replaced = file->replaces});
      continue;
    }
    TaskGroup removing;  // has no token that could have stopped
    removing.start(take_back(made));
    co_await removing.join();
    const std::string& name = file->writer.key();
    if (object.error().kind == Kind::precondition) {
      co_return std::unexpected(refuse_upload_error(EEXIST, name));
    }
    co_return std::unexpected(refuse_store_error(object.error(), name));
  }
  co_return made;
}

Task<void> StoreFormReceiver::take_back(const std::vector<StoredFile>& made) {
  for (const StoredFile& file : made) {
    if (file.replaced) continue;
    try {
      const StoreResult<void> removed = co_await uploads_.store().remove(file.name);
      if (removed) continue;
    } catch (const std::exception&) {  // no memory
    }
    base::log_error("{} of a form that failed stays in the store", file.name);
  }
}

Task<void> StoreFormReceiver::discard() {
  for (const auto& file : files_) co_await file->writer.discard();
}

}  // namespace h2server::content
