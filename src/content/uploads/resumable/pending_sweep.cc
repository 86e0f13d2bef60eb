// PendingUploads: removes what has expired, and what a killed server left half made.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "content/storage/directory_entries.h"
#include "content/uploads/resumable/pending_uploads.h"

namespace h2server::content {

namespace {

struct Found {
  bool bytes = false;
  bool info = false;
};

}  // namespace

void PendingUploads::sweep_if_due() {
  if (may_expire() && last_sweep_.take_turn(limits_.sweep_ms_min)) sweep();
}

void PendingUploads::sweep(const file::StopFlag* stop) {
  last_sweep_.note();
  std::map<std::string, Found> found;
  const Result<void, int> walked = for_each_entry(fd(), [&](const char* name) {
    const std::optional<PendingEntry> entry = parse_pending_entry(name);
    if (!entry) return true;
    switch (entry->kind) {
      case PendingEntry::Kind::bytes:
        found[entry->id].bytes = true;
        break;
      case PendingEntry::Kind::info:
        found[entry->id].info = true;
        break;
      case PendingEntry::Kind::unfinished_info: {
        const std::optional<FileFacts> facts = look_at_file(fd(), name);
        if (facts && expired(facts->modified_s)) ::unlinkat(fd(), name, 0);
        break;
      }
    }
    return true;
  });
  if (!walked) {  // EMFILE, ENOMEM, EIO
    base::log_error("can't look for expired uploads: {}", std::strerror(walked.error()));
    return;
  }
  std::size_t pending = 0;
  std::multimap<std::int64_t, std::string> stored;  // by the time
  for (const auto& [id, files] : found) {
    if (file::is_set(stop)) return;
    if (files.bytes) {
      if (!remove_if_expired(id)) ++pending;
      continue;
    }
    const std::optional<FileFacts> facts = look_at_file(fd(), pending_info_name(id));
    if (!facts) continue;
    if (expired(facts->modified_s)) {
      remove_expired_info(id);
      continue;
    }
    stored.emplace(facts->modified_s, id);
  }
  for (; stored.size() > limits_.stored_max; stored.erase(stored.begin())) {
    remove_expired_info(stored.begin()->second);
  }
  // Those of uploads that another process has ended, and of those that have expired.
  for (const std::string& id : directory_->pending().ids()) {
    if (!look_at_file(fd(), pending_bytes_name(id))) directory_->pending().end(id);
  }
  pending_ = pending;
  stored_ = stored.size();
  swept_once_ = true;
}

// Returns false if the upload is left alone.
bool PendingUploads::remove_if_expired(const std::string& id) {
  const std::string name = pending_bytes_name(id);
  const std::optional<FileFacts> facts = look_at_file(fd(), name);
  if (!facts) return false;
  const bool described = look_at_file(fd(), pending_info_name(id)).has_value();
  if (described && !expired(facts->modified_s)) return false;
  const Result<base::Fd, int> lock = lock_pending_bytes(fd(), id);
  if (!lock) return false;  // it is being made or sent, or was stored just now
  // Both may have changed before it was locked.
  if (!described && look_at_file(fd(), pending_info_name(id))) return false;
  const std::optional<FileFacts> last = look_at_file(fd(), name);
  if (described && (!last || !expired(last->modified_s))) return false;
  remove_pending(fd(), id);
  take_digest(id);
  // Before the first sweep, nothing has counted the directory's files.
  if (swept_once_) directory_->space().keep(0, facts->size);
  return true;
}

void PendingUploads::remove_expired_info(const std::string& id) {
  ::unlinkat(fd(), pending_info_name(id).c_str(), 0);
}

}  // namespace h2server::content
