// FolderEvents: tells pages that folders below a directory have changed, as server-sent events of
// the type "change", whoever changed them.
//
// One inotify descriptor serves all folders and streams of a process. It is opened with the first
// stream. No thread waits for it: each stream looks at it from time to time, and tells the others
// what it has seen. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/fd.h"
#include "content/files/client_places.h"
#include "file/folder.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/result.h"
#include "h2server/task.h"

namespace h2server::content {

struct FolderEventsLimits {
  std::size_t streams_max = 256;              // of a process; beyond it the response is 503
  std::size_t client_streams_max = 64;        // of one client
  std::chrono::milliseconds look_every{500};  // how late a change may be seen
  // Between comments, so that proxies keep the connection and the server notices who has left.
  std::chrono::milliseconds keep_alive{15'000};
};

class FolderEvents {
 public:
  explicit FolderEvents(std::shared_ptr<const file::Folder> root,
                        const FolderEventsLimits& limits = {});
  FolderEvents(const FolderEvents&) = delete;
  FolderEvents& operator=(const FolderEvents&) = delete;
  ~FolderEvents();

  // Returns a response that sends an event for each change of the names in the folder, and of a
  // file that is closed after writing; several changes may share one event. Temporary files of
  // uploads do not count. `path` is below the root, empty or ending in a slash. The response ends
  // when the folder is removed and when the server begins to stop. It is 404 if there is no such
  // folder, and 503 if there are too many streams or the system lacks watches. For handlers.
  static Task<Response> subscribe(std::shared_ptr<FolderEvents> events, Request& request,
                                  std::string path);

  // The number of streams. Any thread.
  [[nodiscard]] std::size_t streams() const noexcept;

 private:
  struct Watched;
  class Stream;

  // Of streams.
  void look();
  void leave(int watch);

  // Returns inotify's watch descriptor, which may be that of another stream, or an errno value.
  // Until the caller has lowered `adding_`, it stays valid.
  Task<Result<int, int>> add_watch(const file::Folder::Opened& folder);

  // With the lock held.
  Watched& watched_by(int watch);
  void give_up_unused();
  void read_changes();
  void note(int watch, std::uint32_t what, const char* name);

  const std::shared_ptr<const file::Folder> root_;
  const FolderEventsLimits limits_;
  const std::shared_ptr<ClientPlaces> places_;
  mutable std::mutex mutex_;  // for all below
  base::Fd inotify_;
  std::map<int, std::unique_ptr<Watched>> watched_;  // by inotify's watch descriptor
  std::size_t streams_ = 0;
  std::size_t adding_ = 0;  // watches
  std::int64_t looked_ms_ = 0;
};

}  // namespace h2server::content
