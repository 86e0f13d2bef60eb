// Reads and removes the objects of a resumable upload in a store (store_upload_state.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "content/uploads/stored/store_upload_state.h"
#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content {

struct FoundState {
  UploadState state;
  std::string etag;
  std::int64_t modified_s = 0;
};
// `expected`: see GetOptions.
Task<StoreResult<FoundState>> read_upload_state(Store& store, std::string id,
                                                bool expected = false);
// What the store lists of it.
struct ListedUpload {
  bool state = false;
  bool tails = false;
};
Task<StoreResult<ListedUpload>> list_upload(Store& store, std::string id);

// How far an upload is.
struct UploadProgress {
  std::map<unsigned, StoredPart> parts = {};  // up to the first that is missing
  std::uint64_t parts_bytes = 0;
  std::uint64_t tail_bytes = 0;
  bool has_tail = false;
  bool parts_gone = false;     // absent though begun
  bool hidden = false;         // there is more, which the store does not show now
  std::int64_t changed_s = 0;  // the last change of an object or a part, but for the lock
  std::int64_t locked_s = 0;   // when the lock was last taken or renewed

  [[nodiscard]] std::uint64_t offset() const noexcept { return parts_bytes + tail_bytes; }
  // Of the first part that is missing.
  [[nodiscard]] unsigned next_number() const noexcept {
    return static_cast<unsigned>(parts.size()) + 1;
  }
};
// `found` need not be known to be current. A part of another size than `part_bytes` is the last one
// of an upload that began to finish. It does not count: its bytes are in a tail, too.
Task<StoreResult<UploadProgress>> read_upload_progress(Store& store, std::string id,
                                                       const FoundState& found,
                                                       std::size_t part_bytes);

// Of an upload that has one: Kind::busy if it can't be found now.
struct FoundTail {
  Tail tail;
  std::string etag;
};
Task<StoreResult<FoundTail>> read_upload_tail(Store& store, std::string id,
                                              UploadProgress progress);

// Removes all objects but the lock, and the state last if at all.
enum class Keep : std::uint8_t { nothing, state };
Task<StoreResult<void>> remove_upload_objects(Store& store, std::string id, Keep keep);
// The same with the parts.
Task<StoreResult<void>> remove_upload(Store& store, std::string id, PartsId parts);

}  // namespace h2server::content
