#include "content/uploads/stored/store_receiver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "base/log.h"
#include "content/names/object_key.h"
#include "content/storage/upload_refusals.h"
#include "content/store/store_refusals.h"
#include "content/uploads/receive/received_digest.h"
#include "h2server/task_group.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

// Of a form, beside the file that is being received. Other files wait in the store, as parts.
constexpr std::size_t kept_bytes_max = 1024 * 1024;

// No file may be larger than an object.
UploadIntent bounded(UploadIntent intent, const WriterLimits& limits) {
  const bool size_known = !intent.is_form() && intent.body_bytes;
  const std::uint64_t most = ObjectWriter::bytes_max(limits, size_known);
  std::uint64_t& wanted = intent.options.file_bytes_max;
  wanted = wanted == 0 ? most : std::min(wanted, most);
  return intent;
}

}  // namespace

StoreReceiver::StoreReceiver(UploadIntent intent, StoreUploads& uploads)
    : uploads_(uploads),
      intent_(bounded(std::move(intent), uploads.limits())),
      digests_(intent_.digests, intent_.is_form()) {}

// --- whether a file may be stored -------------------------------------------------------------

// Refuses a name before its content is sent in vain. The store decides at the end.
Task<Result<void, Response>> StoreReceiver::begin_file() {
  const std::string& path = body_.path();
  if (!is_object_key(path)) co_return refused(400, "not a name that the store can hold");
  Result<void, Response> done = co_await flush_last();
  if (!done) co_return done;
  files_.push_back(std::make_unique<File>(uploads_.writer_parts(),
                                          uploads_.plan(path, body_.size(), intent_.client)));
  File& file = *files_.back();
  if (intent_.needs_sha256()) file.sha256.emplace();
  file.condition.must_be_new = true;
  if (needs_look()) done = co_await look(file);
  co_return done;
}

// Many small files of a form wait in memory; where they would take much, in the store.
Task<Result<void, Response>> StoreReceiver::flush_last() {
  if (files_.empty()) co_return Result<void, Response>();
  ObjectWriter& last = files_.back()->writer;
  const bool keeps = last.in_memory() <= uploads_.limits().unbudgeted_bytes &&
                     kept_ + last.in_memory() <= kept_bytes_max;
  if (keeps) {
    kept_ += last.in_memory();
    co_return Result<void, Response>();
  }
  const StoreResult<void> sent = co_await last.flush();
  if (!sent) co_return std::unexpected(refuse_store_error(sent.error(), last.key()));
  co_return Result<void, Response>();
}

// A small body for a new name costs one call: the put decides.
bool StoreReceiver::needs_look() const noexcept {
  constexpr std::uint64_t small = ReceiveLimits::checked_bytes_min;
  return intent_.options.overwrite || intent_.preconditions.any() ||
         body_.size().value_or(small + 1) > small;
}

Task<Result<void, Response>> StoreReceiver::look(File& file) {
  const std::string& key = file.writer.key();
  StoreResult<ObjectInfo> found = co_await uploads_.store().head(key, GetOptions());
  UploadTarget target;
  if (found) {
    target = {.exists = true, .etag = found->etag, .modified_s = found->modified_s};
  } else if (found.error().kind != Kind::absent) {
    co_return std::unexpected(refuse_store_error(found.error(), key));
  }
  co_return decide(file, target);
}

// What is decided here is still so when the object is made, or it is not made.
Result<void, Response> StoreReceiver::decide(File& file, const UploadTarget& target) const {
  const UploadPreconditions& stated = intent_.preconditions;
  const std::string& key = file.writer.key();
  if (!holds(stated, target)) return std::unexpected(refuse_state(key));
  if (!target.exists) {
    file.condition.must_be_new = !intent_.options.overwrite || stated.if_none_match;
    return {};
  }
  if (!intent_.options.overwrite && !stated.if_match) return refused_for(EEXIST, key);
  file.replaces = true;
  file.condition.must_be_new = false;
  if (!stated.any()) return {};
  if (target.etag.empty()) return refused(502, "the store has no versions of objects");
  file.condition.if_match = target.etag;
  return {};
}

// --- the body ---------------------------------------------------------------------------------

Task<Result<void, Response>> StoreReceiver::take(std::string_view bytes) {
  Result<void, Response> taken = co_await store(bytes);
  if (!taken) co_await discard();
  co_return taken;
}

Task<Result<void, Response>> StoreReceiver::store(std::string_view bytes) {
  bool hashed = true;
  if (digests_.any()) hashed = co_await add_to_digest(bytes, digests_);
  if (!hashed) co_return refused(503, "the server stops");
  body_.feed(bytes);
  for (;;) {
    Result<void, Response> done = {};
    switch (body_.next()) {
      case BodyFiles::Event::need_more:
        co_return done;
      case BodyFiles::Event::begin:
        done = co_await begin_file();
        break;
      case BodyFiles::Event::data:
        done = co_await write(body_.data());
        break;
      case BodyFiles::Event::end:
        break;
      case BodyFiles::Event::refused:
        co_return std::unexpected(refusal());
    }
    if (!done) co_return done;
  }
}

// An object may be larger if its size is known before.
Response StoreReceiver::refusal() {
  Response response = body_.take_refusal();
  const std::uint64_t most = ObjectWriter::bytes_max(uploads_.limits(), false);
  const bool may_be_larger = !intent_.is_form() && !intent_.body_bytes;
  if (response.status() != 413 || !may_be_larger || intent_.options.file_bytes_max != most) {
    return response;
  }
  return refuse_upload(413, fmt::format("{} is larger than an object of unknown size may be: {} "
                                        "bytes; send its length",
                                        intent_.path, most));
}

Task<Result<void, Response>> StoreReceiver::write(std::string_view bytes) {
  File& file = *files_.back();
  bool hashed = true;
  if (file.sha256) hashed = co_await add_to_digest(bytes, *file.sha256);
  if (!hashed) co_return refused(503, "the server stops");
  const StoreResult<void> written = co_await file.writer.write(bytes);
  if (!written) {
    co_return std::unexpected(refuse_store_error(written.error(), file.writer.key()));
  }
  co_return Result<void, Response>();
}

Task<void> StoreReceiver::discard() {
  for (const auto& file : files_) co_await file->writer.discard();
}

// --- the end ----------------------------------------------------------------------------------

Task<Stored> StoreReceiver::finish(std::string_view bytes) {
  std::exception_ptr failure;
  try {
    Result<void, Response> taken = co_await take(bytes);
    if (!taken) co_return std::unexpected(std::move(taken.error()));
    Stored stored = co_await commit();
    co_return stored;
  } catch (...) {
    failure = std::current_exception();
  }
  co_await discard();
  std::rethrow_exception(failure);
}

Result<void, Response> StoreReceiver::check_complete() {
  Result<void, Response> complete = body_.check_complete();
  if (complete && !digests_.matches()) complete = std::unexpected(refuse_digest());
  return complete;
}

Task<Stored> StoreReceiver::commit() {
  Stored stored;
  Result<void, Response> complete = check_complete();
  if (complete) {
    stored = co_await make_all();
  } else {
    stored = std::unexpected(std::move(complete.error()));
  }
  if (!stored) co_await discard();
  co_return stored;
}

bool StoreReceiver::may_have_stored() const {
  return std::ranges::any_of(files_, [](const auto& file) { return file->writer.may_be_made(); });
}

Task<Stored> StoreReceiver::make_all() {
  std::vector<StoredFile> made;
  for (const auto& file : files_) {
    StoredFile one{
        .name = file->writer.key(), .size = file->writer.size(), .replaced = file->replaces};
    one.sha256 = digits_of(file->sha256);
    if (!intent_.is_as_stated(one.sha256)) co_return std::unexpected(refuse_digest());
    if (!intent_.options.sha256) one.sha256.clear();
    StoreResult<ObjectInfo> object = co_await file->writer.commit(file->condition);
    if (object) {
      one.etag = std::move(object->etag);
      made.push_back(std::move(one));
      continue;
    }
    TaskGroup removing;  // has no token that could have stopped
    removing.start(take_back(made));
    co_await removing.join();
    co_return std::unexpected(refuse(*file, object.error()));
  }
  co_return made;
}

Response StoreReceiver::refuse(const File& file, const StoreError& error) const {
  const std::string& key = file.writer.key();
  const PutOptions& condition = file.condition;
  const bool conditional = condition.must_be_new || !condition.if_match.empty();
  if (error.kind == Kind::absent && !condition.if_match.empty()) return refuse_state(key);
  if (error.kind != Kind::precondition || !conditional) return refuse_store_error(error, key);
  if (!condition.must_be_new) return refuse_state(key);
  if (!intent_.preconditions.if_none_match) return refuse_upload_error(EEXIST, key);
  return refuse_upload(412, fmt::format("{} exists already", key));
}

Task<void> StoreReceiver::take_back(const std::vector<StoredFile>& made) {
  for (const StoredFile& file : made) {
    if (file.replaced) continue;
    try {
      const StoreResult<void> removed = co_await uploads_.store().remove(file.name);
      if (removed) continue;
    } catch (const std::exception&) {  // no memory
    }
    base::log_error("can't remove {} from the store, whose form failed", file.name);
  }
}

}  // namespace h2server::content
