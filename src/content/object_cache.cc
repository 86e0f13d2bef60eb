#include "content/object_cache.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "file/content.h"
#include "h2server/response.h"
#include "h2server/stop.h"
#include "http/file_head.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;
using file::Lookup;

// The part of the budget that an object has, as long as it lives.
class Charge final : public FileExtension {
 public:
  Charge(CopyBudget& budget, std::size_t bytes) noexcept : budget_(budget), bytes_(bytes) {}
  ~Charge() override { budget_.give_back(bytes_); }

 private:
  CopyBudget& budget_;
  const std::size_t bytes_;
};

std::unexpected<StoreError> failed(std::string reason) {
  return std::unexpected(StoreError{.kind = Kind::failed, .reason = std::move(reason)});
}

// A store may give an object other fields and keep its tag.
bool is_same(const ObjectInfo& info, const File& file) noexcept {
  const std::int64_t modified_s = file.content().version().modified_s;
  return (info.etag.empty() || info.etag == file.etag()) &&
         (info.modified_s == 0 || info.modified_s == modified_s);
}

void check(const ObjectInfo& info) {
  Response checked;  // throws for what can't be sent
  if (!info.content_type.empty()) checked.add("Content-Type", info.content_type);
  if (!info.etag.empty()) checked.add("ETag", info.etag);
  for (const Response::Line& line : info.fields) checked.add(line.name, line.value);
}

// Fills `room` with the whole body. Reads to its end, so that its transfer ends well.
Task<StoreResult<void>> read_whole(BodySource& body, std::span<char> room) {
  coro::StopState* const stop = co_await coro::OwnStop();
  const StopCallback interrupt(StopToken(stop), [&body] { body.interrupt(); });
  for (;;) {
    const Result<std::string_view> piece = co_await body.read();
    if (!piece && piece.error().code == ECANCELED) {
      co_return std::unexpected(StoreError{.kind = Kind::stopped});
    }
    if (!piece) co_return failed("a body broke off: " + piece.error().message());
    if (piece->empty()) break;
    if (piece->size() > room.size()) co_return failed("a body is longer than its object");
    std::ranges::copy(*piece, room.begin());
    room = room.subspan(piece->size());
  }
  if (!room.empty()) co_return failed("a body is shorter than its object");
  co_return StoreResult<void>();
}

}  // namespace

CopyBudget& ObjectCache::budget_of_process() {
  constexpr std::size_t bytes_max = 384 * 1024 * 1024;
  // Never destroyed: the process's file cache, whose files use it, is not either.
  static CopyBudget& budget = *std::make_unique<CopyBudget>(bytes_max).release();
  return budget;
}

ObjectCache::ObjectCache(std::shared_ptr<Store> store, http::MediaTypesRef types,
                         const ObjectCacheLimits& limits, file::Cache& cache, CopyBudget& budget)
    : store_(std::move(store)),
      types_(std::move(types)),
      limits_(limits),
      folder_(limits.fresh_ms, cache),
      budget_(budget) {}

// --- one request for many -----------------------------------------------------------------------

// One request's turn to ask the store. Its end gives the outcome to those that wait.
class ObjectCache::Turn {
 public:
  Turn(ObjectCache& cache, std::string key, std::shared_ptr<Job> job)
      : cache_(cache), key_(std::move(key)), job_(std::move(job)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    std::vector<Completer<Outcome>> waiting;
    {
      const std::lock_guard lock(cache_.mutex_);
      const auto job = cache_.jobs_.find(key_);
      if (job != cache_.jobs_.end() && job->second == job_) cache_.jobs_.erase(job);
      waiting = std::exchange(job_->waiting, {});
    }
    for (const Completer<Outcome>& one : waiting) one(outcome);
  }

  Outcome outcome = std::unexpected(StoreError{.kind = Kind::stopped});

 private:
  ObjectCache& cache_;
  const std::string key_;
  const std::shared_ptr<Job> job_;
};

void ObjectCache::make(Plan& plan, const std::string& key, Load load) {
  const std::lock_guard lock(mutex_);
  const std::optional<file::Folder::Kept> kept = folder_.kept(key);
  const std::int64_t age_ms = kept ? kept->age_ms : 0;
  const bool is_unkept = kept && kept->lookup.kind == Lookup::Kind::unkept;
  if (kept && age_ms < (is_unkept ? limits_.unkept_ms : limits_.fresh_ms)) {
    plan.kept = kept->lookup;
    return;
  }
  const FileRef stale = kept ? kept->lookup.file : nullptr;
  if (load == Load::no && stale == nullptr) {
    plan.kept = Lookup{.kind = Lookup::Kind::unkept, .file = {}};
    return;
  }
  const std::int64_t now_ms = base::monotonic_ms();
  std::shared_ptr<Job>& job = jobs_[key];
  if (job == nullptr || now_ms - job->began_ms >= limits_.share_ms) {
    job = std::make_shared<Job>();
    job->began_ms = now_ms;
    plan.own = job;
    plan.stale = stale;
  } else if (stale != nullptr && age_ms < limits_.fresh_ms + limits_.stale_ms) {
    plan.kept = kept->lookup;
  } else {
    job->waiting.push_back(plan.others.emplace().completer());
  }
}

Task<ObjectCache::Outcome> ObjectCache::look(std::string key, Load load,
                                             std::optional<OpenedObject>& opened) {
  for (;;) {
    Plan plan;
    make(plan, key, load);
    if (plan.kept) co_return *std::move(plan.kept);
    if (plan.own != nullptr) {
      Turn turn(*this, key, plan.own);
      const std::int64_t now_ms = plan.own->began_ms;
      Task<Outcome> asking = key.ends_with('/') ? ask_for_folder(key, now_ms)
                                                : ask(key, now_ms, std::move(plan.stale), opened);
      Outcome outcome = co_await asking;
      turn.outcome = outcome;
      co_return outcome;
    }
    Result<Outcome> ended = co_await *plan.others;
    if (!ended) co_return std::unexpected(StoreError{.kind = Kind::stopped});
    // The other request was given up, not this one.
    const bool given_up = !*ended && ended->error().kind == Kind::stopped;
    if (!given_up) co_return *std::move(ended);
  }
}

Task<StoreResult<ObjectCache::Found>> ObjectCache::find(std::string key, Load load) {
  Found found;
  if (limits_.fresh_ms <= 0) co_return found;
  Outcome outcome = co_await look(std::move(key), load, found.opened);
  if (!outcome) co_return std::unexpected(std::move(outcome.error()));
  if (outcome->kind == Lookup::Kind::absent) {
    co_return std::unexpected(StoreError{.kind = Kind::absent});
  }
  found.file = std::move(outcome->file);
  co_return found;
}

Task<bool> ObjectCache::is_folder(std::string key) {
  std::optional<OpenedObject> none;
  const Outcome outcome = co_await look(std::move(key) + '/', Load::yes, none);
  co_return outcome && outcome->kind == Lookup::Kind::directory;
}

// --- asking the store ---------------------------------------------------------------------------

Task<ObjectCache::Outcome> ObjectCache::ask(std::string key, std::int64_t now_ms, FileRef stale,
                                            std::optional<OpenedObject>& opened) {
  GetOptions options;
  if (stale != nullptr) options.conditions.if_none_match = stale->etag();
  StoreResult<OpenedObject> answer = co_await store_->get(key, options);
  if (stale != nullptr && !answer && answer.error().kind == Kind::not_modified) {
    if (is_same(answer.error().info, *stale)) {
      co_return folder_.keep(std::move(key), {Lookup::Kind::file, std::move(stale)}, now_ms);
    }
    options.conditions = {};
    StoreResult<OpenedObject> whole = co_await store_->get(key, std::move(options));
    answer = std::move(whole);
  }
  if (!answer && answer.error().kind == Kind::absent) {
    co_return folder_.keep(std::move(key), {Lookup::Kind::absent, {}}, now_ms);
  }
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  StoreResult<FileRef> file = co_await take(key, *answer);
  if (!file) co_return std::unexpected(std::move(file.error()));
  if (*file != nullptr) {
    co_return folder_.keep(std::move(key), {Lookup::Kind::file, *std::move(file)}, now_ms);
  }
  const bool too_large = answer->info.size > limits_.object_bytes_max;
  opened = *std::move(answer);
  Lookup unkept{Lookup::Kind::unkept, {}};
  if (!too_large) co_return unkept;  // the next request may find room
  co_return folder_.keep(std::move(key), std::move(unkept), now_ms);
}

Task<StoreResult<FileRef>> ObjectCache::take(const std::string& key, OpenedObject& opened) {
  const ObjectInfo& info = opened.info;
  if (opened.count != info.size) {
    co_return failed("it sent a part of an object in answer to a request for the whole");
  }
  if (info.size > limits_.object_bytes_max) co_return FileRef();
  const auto size = static_cast<std::size_t>(info.size);
  if (!budget_.take(size)) co_return FileRef();
  auto charge = std::make_unique<Charge>(budget_, size);
  check(info);
  auto bytes = std::make_unique_for_overwrite<char[]>(size);
  StoreResult<void> read = co_await read_whole(*opened.body, {bytes.get(), size});
  if (!read) co_return std::unexpected(std::move(read.error()));
  const file::FileVersion version{.size = size, .modified_s = info.modified_s};
  auto content = std::make_unique<const file::Content>(version, std::move(bytes));
  const std::string_view type =
      info.content_type.empty() ? types_->of(key) : std::string_view(info.content_type);
  const http::ObjectHead head{.size = size,
                              .etag = info.etag,
                              .modified_s = info.modified_s,
                              .type = type,
                              .fields = info.fields};
  co_return std::make_shared<const File>(
      std::move(content), std::make_unique<const http::FileHead>(head, base::unix_seconds()),
      std::move(charge));
}

// A store has no folders, but it has keys that begin with their names.
Task<ObjectCache::Outcome> ObjectCache::ask_for_folder(std::string key, std::int64_t now_ms) {
  ListOptions options{.prefix = key, .entries_max = 1};
  StoreResult<ListPage> page = co_await store_->list(std::move(options));
  if (!page) co_return std::unexpected(std::move(page.error()));
  const bool any = !page->objects.empty() || !page->folders.empty() || !page->next.empty();
  Lookup lookup{any ? Lookup::Kind::directory : Lookup::Kind::absent, {}};
  if (limits_.fresh_ms <= 0) co_return lookup;
  co_return folder_.keep(std::move(key), std::move(lookup), now_ms);
}

}  // namespace h2server::content
