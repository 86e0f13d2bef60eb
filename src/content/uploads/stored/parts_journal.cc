#include "content/uploads/stored/parts_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "content/store/store_objects.h"

namespace h2server::content {

namespace {

using Kind = StoreError::Kind;

constexpr std::int64_t pause_s_max = 60;
constexpr std::size_t note_bytes_max = 8 * 1024;

// The key comes last, since it may have line ends.
std::string note_of(const PartsId& parts) { return fmt::format("{}\n{}", parts.id, parts.key); }

std::optional<PartsId> parse_note(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos || end == 0 || end + 1 == text.size()) return std::nullopt;
  return PartsId{.key = std::string(text.substr(end + 1)), .id = std::string(text.substr(0, end))};
}

struct Note {
  std::string text;
  std::string etag;
};

Task<StoreResult<Note>> read_note(Store& store, std::string key) {
  StoreResult<OpenedObject> opened = co_await store.get(std::move(key), GetOptions());
  if (!opened) co_return std::unexpected(std::move(opened.error()));
  Note note{.text = {}, .etag = opened->info.etag};
  for (;;) {
    const Result<std::string_view> piece = co_await opened->body->read();
    if (!piece) co_return std::unexpected(breaking_off(piece.error(), "a note"));
    if (piece->empty()) co_return note;
    note.text += *piece;
    if (note.text.size() > note_bytes_max) {
      co_return std::unexpected(StoreError{.reason = "a note is too long"});
    }
  }
}

}  // namespace

PartsJournal::PartsJournal(std::shared_ptr<Store> store, std::int64_t expire_s)
    : store_(std::move(store)), expire_s_(std::max<std::int64_t>(expire_s, 1)) {}

std::string PartsJournal::new_key() {
  return fmt::format("{}{:016x}{:016x}", journal_prefix, base::random_number(),
                     base::random_number());
}

Task<StoreResult<void>> PartsJournal::note(std::string key, PartsId parts) const {
  std::string text = note_of(parts);
  const StoreResult<ObjectInfo> written =
      co_await store_->put(std::move(key), std::move(text), PutOptions());
  if (!written) co_return std::unexpected(written.error());
  co_return StoreResult<void>();
}

std::int64_t PartsJournal::pause_s() const noexcept { return std::min(pause_s_max, expire_s_); }

// The lease ends by itself, so that no two servers sweep within a pause.
Task<StoreResult<bool>> PartsJournal::take_lease(std::int64_t now_s) const {
  const std::string key(sweep_lease_key);
  StoreResult<Note> held = co_await read_note(*store_, key);
  PutOptions options;
  if (held) {
    std::int64_t until_s = 0;
    const std::string& text = held->text;
    std::from_chars(text.data(), text.data() + text.size(), until_s);
    // A time further away was written by a server with another clock.
    if (until_s > now_s && until_s <= now_s + pause_s_max) co_return false;
    options.if_match = held->etag;
  } else if (held.error().kind == Kind::absent) {
    options.must_be_new = true;
  } else {
    co_return std::unexpected(std::move(held.error()));
  }
  std::string until = std::to_string(now_s + pause_s());
  const StoreResult<ObjectInfo> taken =
      co_await store_->put(key, std::move(until), std::move(options));
  if (taken) co_return true;
  const Kind kind = taken.error().kind;
  if (kind == Kind::precondition || kind == Kind::absent) co_return false;
  co_return std::unexpected(taken.error());
}

// Returns false if the note is left alone, since its parts can't be abandoned now.
Task<StoreResult<bool>> PartsJournal::remove_old(std::string key) const {
  const StoreResult<Note> note = co_await read_note(*store_, key);
  if (!note && note.error().kind == Kind::absent) co_return false;  // its upload has just ended
  if (!note) co_return std::unexpected(note.error());
  if (const std::optional<PartsId> parts = parse_note(note->text)) {
    const StoreResult<void> gone = co_await store_->abandon_parts(*parts);
    if (!gone && gone.error().kind != Kind::absent) co_return std::unexpected(gone.error());
  }
  const StoreResult<void> removed = co_await store_->remove(std::move(key));
  if (!removed) co_return std::unexpected(removed.error());
  co_return true;
}

Task<StoreResult<unsigned>> PartsJournal::sweep(std::int64_t now_s) const {
  unsigned removed = 0;
  ListOptions options{.prefix = std::string(journal_prefix)};
  for (;;) {
    StoreResult<ListPage> page = co_await store_->list(options);
    if (!page) co_return std::unexpected(std::move(page.error()));
    for (const ListedObject& one : page->objects) {
      if (one.modified_s == 0 || now_s - one.modified_s < expire_s_) continue;
      const StoreResult<bool> old = co_await remove_old(options.prefix + one.name);
      if (!old) co_return std::unexpected(old.error());
      if (*old) ++removed;
    }
    if (page->next.empty()) co_return removed;
    options.after = std::move(page->next);
  }
}

Task<void> PartsJournal::sweep_if_due() {
  if (last_sweep_.take_turn(pause_s() * 1000)) co_await sweep_leased();
}

Task<void> PartsJournal::sweep_leased() {
  last_sweep_.note();
  const std::int64_t now_s = base::unix_seconds();
  StoreResult<bool> leased = co_await take_lease(now_s);
  StoreResult<unsigned> swept = 0U;
  if (leased && *leased) {
    StoreResult<unsigned> removed = co_await sweep(now_s);
    swept = std::move(removed);
  }
  const StoreError* const error = !leased ? &leased.error() : !swept ? &swept.error() : nullptr;
  if (error != nullptr && error->kind != Kind::stopped) {
    base::log_warning("can't look for parts of expired uploads in the store: {}", error->reason);
  }
}

}  // namespace h2server::content
