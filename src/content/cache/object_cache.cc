#include "content/cache/object_cache.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "content/cache/disk_counts.h"
#include "content/cache/disk_fill.h"
#include "content/store/store_refusals.h"
#include "file/calls.h"
#include "file/content.h"
#include "h2server/own_stop.h"
#include "h2server/response.h"
#include "h2server/stop.h"
#include "http/file_head.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;
using file::Lookup;

// The part of the budget that an object has, as long as it lives.
class CachedCharge final : public FileExtension {
 public:
  CachedCharge(CopyBudget& budget, std::size_t bytes) noexcept : budget_(budget), bytes_(bytes) {}
  ~CachedCharge() override { budget_.give_back(bytes_); }

 private:
  CopyBudget& budget_;
  const std::size_t bytes_;
};

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
    if (!piece) co_return refused(Kind::failed, "a body broke off: " + piece.error().message());
    if (piece->empty()) break;
    if (piece->size() > room.size())
      co_return refused(Kind::failed, "a body is longer than its object");
    std::ranges::copy(*piece, room.begin());
    room = room.subspan(piece->size());
  }
  if (!room.empty()) co_return refused(Kind::failed, "a body is shorter than its object");
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
                         const ObjectCacheLimits& limits, file::Cache& cache, CopyBudget& budget,
                         DiskPlace disk)
    : store_(std::move(store)),
      types_(std::move(types)),
      limits_(limits),
      folder_(limits.fresh_ms, cache),
      budget_(budget),
      disk_(std::move(disk)) {
  if (disk_.cache == nullptr) return;
  disk_.cache->on_drop(this, [this, front = disk_.name_of("")](const std::string& name) {
    if (name.starts_with(front)) folder_.forget(std::string_view(name).substr(front.size()));
  });
}

ObjectCache::~ObjectCache() {
  if (disk_.cache != nullptr) disk_.cache->on_drop(this, nullptr);
}

// --- one request for many -----------------------------------------------------------------------

void ObjectCache::make(Plan& plan, const std::string& key, Load load) {
  const std::lock_guard lock(mutex_);
  std::optional<file::Folder::Kept> kept = folder_.kept(key);
  // Somebody has written to the file of an object.
  const bool damaged =
      kept && kept->lookup.file != nullptr && !kept->lookup.file->content().unchanged();
  if (damaged) kept.reset();
  const std::int64_t age_ms = kept ? kept->age_ms : 0;
  const bool is_unkept = kept && kept->lookup.kind == Lookup::Kind::unkept;
  if (kept && age_ms < (is_unkept ? limits_.unkept_ms : limits_.fresh_ms)) {
    plan.kept = kept->lookup;
    return;
  }
  const FileRef stale = kept ? kept->lookup.file : nullptr;
  if (load == Load::no && stale == nullptr && !is_on_disk(key)) {
    plan.kept = Lookup{.kind = Lookup::Kind::unkept, .file = {}};
    return;
  }
  const std::int64_t now_ms = base::monotonic_ms();
  if (!asking_.in_flight(key, now_ms, limits_.share_ms)) {
    asking_.begin(key, now_ms, plan.part);
    plan.stale = stale;
  } else if (stale != nullptr && age_ms < limits_.fresh_ms + limits_.stale_ms) {
    plan.kept = kept->lookup;
  } else {
    asking_.wait(key, plan.part);
  }
}

Task<ObjectCache::Outcome> ObjectCache::look(std::string key, Load load,
                                             std::optional<OpenedObject>& opened) {
  for (;;) {
    Plan plan;
    make(plan, key, load);
    if (plan.kept) co_return *std::move(plan.kept);
    if (plan.part.turn) {
      const std::int64_t now_ms = plan.part.turn->began_ms();
      Task<Outcome> asking = key.ends_with('/')
                                 ? ask_for_folder(key, now_ms)
                                 : ask({key, load, now_ms, std::move(plan.stale)}, opened);
      Outcome outcome = co_await asking;
      const bool given_up = !outcome && outcome.error().kind == Kind::stopped;
      if (!given_up) plan.part.turn->outcome = outcome;
      co_return outcome;
    }
    Result<Outcome> ended = co_await *plan.part.others;
    if (ended) co_return *std::move(ended);
    // EPIPE: the other request was given up, not this one.
    if (ended.error().code != EPIPE) co_return std::unexpected(StoreError{.kind = Kind::stopped});
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

Task<ObjectCache::Outcome> ObjectCache::ask(Question question,
                                            std::optional<OpenedObject>& opened) {
  const std::string key = question.key;
  if (question.stale == nullptr) question.stale = co_await open_on_disk(key);
  bool is_current = false;
  StoreResult<OpenedObject> answer = co_await compare(question, is_current);
  const DiskObject* const object = is_current ? DiskObject::of(*question.stale) : nullptr;
  if (is_current && object == nullptr) {
    co_return folder_.keep(key, {Lookup::Kind::file, std::move(question.stale)}, question.now_ms);
  }
  if (is_current) {
    co_await note_use(key);
    FileRef file = std::move(question.stale);
    if (object->checked()) file = co_await folder_.refresh(key, file, question.now_ms);
    co_return keep_on_disk(key, std::move(file), question.now_ms);
  }
  const bool changed = answer || answer.error().kind == Kind::absent;
  if (changed) co_await remove_from_disk(key);
  if (!answer && answer.error().kind == Kind::absent) {
    co_return folder_.keep(key, {Lookup::Kind::absent, {}}, question.now_ms);
  }
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  StoreResult<FileRef> file = co_await take(key, *answer);
  if (!file) co_return std::unexpected(std::move(file.error()));
  if (*file != nullptr) {
    co_return folder_.keep(key, {Lookup::Kind::file, *std::move(file)}, question.now_ms);
  }
  Lookup unkept = co_await keep_large(std::move(question), *std::move(answer), opened);
  co_return unkept;
}

// Asks whether the store still has what is kept. Returns the object if it has another one.
Task<StoreResult<OpenedObject>> ObjectCache::compare(Question& question, bool& is_current) {
  const FileRef& stale = question.stale;
  GetOptions options;
  if (stale != nullptr) options.conditions.if_none_match = stale->etag();
  StoreResult<OpenedObject> answer = co_await store_->get(question.key, options);
  if (stale == nullptr || answer || answer.error().kind != Kind::not_modified) co_return answer;
  is_current = is_same(answer.error().info, *stale);
  if (is_current) co_return answer;
  options.conditions = {};
  StoreResult<OpenedObject> whole = co_await store_->get(question.key, std::move(options));
  co_return whole;
}

Task<Lookup> ObjectCache::keep_large(Question question, OpenedObject answer,
                                     std::optional<OpenedObject>& opened) {
  const bool too_large = answer.info.size > limits_.object_bytes_max;
  const bool wanted = too_large && disk_.cache != nullptr && disk_.cache->wants(answer.info);
  Lookup unkept{Lookup::Kind::unkept, {}};
  if (wanted && question.load == Load::yes) {
    ++DiskCounts::of_process().misses;
    auto work = [&] {
      return DiskFill::begin(disk_.cache, disk_.name_of(question.key), answer.info);
    };
    std::optional<std::unique_ptr<DiskFill>> fill =
        co_await file::run_waiting(io::Engine::current(), std::move(work));
    if (fill && *fill != nullptr) {
      FillingBody::Filled filled = [this, key = question.key,
                                    now_ms = question.now_ms](DiskCache::Opened object) {
        const ObjectInfo& info = object.object->info();
        FileRef file = make_file(key, info, std::move(object.content), std::move(object.object));
        static_cast<void>(keep_on_disk(key, std::move(file), now_ms));
      };
      answer.body = std::make_unique<FillingBody>(std::move(answer.body), *std::move(fill),
                                                  std::move(filled));
    }
  }
  // What is asked for by a part only is not read as a whole.
  if (question.load == Load::yes) opened = std::move(answer);
  // The next request may find room, or the object on the disk.
  if (!too_large || wanted) co_return unkept;
  co_return folder_.keep(std::move(question.key), std::move(unkept), question.now_ms);
}

Task<StoreResult<FileRef>> ObjectCache::take(const std::string& key, OpenedObject& opened) {
  const ObjectInfo& info = opened.info;
  if (opened.count != info.size) {
    co_return refused(Kind::failed,
                      "it sent a part of an object in answer to a request for the whole");
  }
  if (info.size > limits_.object_bytes_max) co_return FileRef();
  const auto size = static_cast<std::size_t>(info.size);
  if (!budget_.take(size)) co_return FileRef();
  auto charge = std::make_unique<CachedCharge>(budget_, size);
  check(info);
  auto bytes = std::make_unique_for_overwrite<char[]>(size);
  StoreResult<void> read = co_await read_whole(*opened.body, {bytes.get(), size});
  if (!read) co_return std::unexpected(std::move(read.error()));
  const file::FileVersion version{.size = size, .modified_s = info.modified_s};
  auto content = std::make_unique<const file::Content>(version, std::move(bytes));
  co_return make_file(key, info, std::move(content), std::move(charge));
}

FileRef ObjectCache::make_file(std::string_view key, const ObjectInfo& info,
                               std::unique_ptr<const file::Content> content,
                               std::unique_ptr<FileExtension> extension) const {
  const std::string_view type =
      info.content_type.empty() ? types_->of(key) : std::string_view(info.content_type);
  const http::ObjectHead head{.size = info.size,
                              .etag = info.etag,
                              .modified_s = info.modified_s,
                              .type = type,
                              .fields = info.fields};
  return std::make_shared<const File>(
      std::move(content), std::make_unique<const http::FileHead>(head, base::unix_seconds()),
      std::move(extension));
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

// --- the disk -----------------------------------------------------------------------------------

Lookup ObjectCache::keep_on_disk(const std::string& key, FileRef file, std::int64_t now_ms) {
  Lookup kept = folder_.keep(key, {Lookup::Kind::file, std::move(file)}, now_ms);
  // Removed meanwhile: whoever keeps it open keeps its space.
  if (!is_on_disk(key)) folder_.forget(key);
  return kept;
}

Task<FileRef> ObjectCache::open_on_disk(std::string key) {
  if (!is_on_disk(key)) co_return nullptr;
  auto work = [&] { return disk_.cache->open_object(disk_.name_of(key)); };
  auto opened = co_await file::run_waiting(io::Engine::current(), std::move(work));
  if (!opened || !*opened) co_return nullptr;
  DiskCache::Opened& object = **opened;
  const ObjectInfo& info = object.object->info();
  co_return make_file(key, info, std::move(object.content), std::move(object.object));
}

Task<void> ObjectCache::note_use(std::string key) {
  if (!disk_.cache->note_use(disk_.name_of(key))) co_return;
  auto work = [&] {
    disk_.cache->touch(disk_.name_of(key));
    return true;
  };
  static_cast<void>(co_await file::run_waiting(io::Engine::current(), std::move(work)));
}

Task<void> ObjectCache::remove_from_disk(std::string key) {
  if (!is_on_disk(key)) co_return;
  auto work = [&] {
    disk_.cache->remove(disk_.name_of(key));
    return true;
  };
  static_cast<void>(co_await file::run_waiting(io::Engine::current(), std::move(work)));
}

}  // namespace h2server::content
