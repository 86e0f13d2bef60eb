#include "content/files/folder_events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "content/names/file_name.h"
#include "file/calls.h"
#include "h2server/body.h"
#include "h2server/event_stream.h"
#include "h2server/timing.h"
#include "http/message.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

constexpr std::uint32_t changes_of_names =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE;
constexpr std::uint32_t end_of_folder = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

Response busy() {
  Response response = http::error_response(503);
  response.add("Retry-After", "10");
  return response;
}

}  // namespace

// A folder and the streams that tell of it.
struct FolderEvents::Watched {
  explicit Watched(std::chrono::milliseconds keep_alive) : stream({.keep_alive = keep_alive}) {}

  EventStream stream;
  std::size_t streams = 0;
  std::uint64_t changes = 0;
  bool changed = false;  // since the last event
  bool ended = false;    // the folder is gone
};

// The events of a folder for one client, as the body of its response. Ends its wait for them from
// time to time, to look for changes.
class FolderEvents::Stream final : public BodySource {
 public:
  Stream(std::shared_ptr<FolderEvents> events, int watch,
         std::unique_ptr<ClientPlaces::Place> place, std::unique_ptr<BodySource> sent)
      : events_(std::move(events)),
        watch_(watch),
        place_(std::move(place)),
        sent_(std::move(sent)) {}
  ~Stream() override { events_->leave(watch_); }

  Task<Result<std::string_view>> read() override {
    for (;;) {
      // An EventStream's source goes on after a wait that ended early.
      Result<std::string_view> piece =
          co_await with_timeout(events_->limits_.look_every, sent_->read());
      if (piece || piece.error().code != ETIMEDOUT) co_return piece;
      events_->look();
    }
  }

 private:
  const std::shared_ptr<FolderEvents> events_;
  const int watch_;
  const std::unique_ptr<ClientPlaces::Place> place_;
  const std::unique_ptr<BodySource> sent_;
};

FolderEvents::FolderEvents(std::shared_ptr<const file::Folder> root,
                           const FolderEventsLimits& limits)
    : root_(std::move(root)),
      limits_(limits),
      places_(std::make_shared<ClientPlaces>(limits.streams_max, limits.client_streams_max)) {}
FolderEvents::~FolderEvents() = default;

Task<Response> FolderEvents::subscribe(std::shared_ptr<FolderEvents> events, Request& request,
                                       std::string path) {
  const Result<file::Folder::Opened, int> folder =
      co_await events->root_->open_beneath(path, O_PATH | O_DIRECTORY);
  if (!folder) {
    const bool lacks_descriptors = folder.error() == EMFILE || folder.error() == ENFILE;
    co_return lacks_descriptors ? busy() : http::error_response(404);
  }
  auto place = ClientPlaces::take(events->places_, share_of(request));
  if (place == nullptr) co_return busy();
  const Result<int, int> watch = co_await events->add_watch(*folder);
  const std::lock_guard lock(events->mutex_);
  --events->adding_;
  // ENOSPC: the user's watches are used up; EMFILE: the user's inotify descriptors.
  if (!watch) {
    events->give_up_unused();
    co_return busy();
  }
  Watched& watched = events->watched_by(*watch);
  watched.changed |= folder->slow;  // perhaps, since the watch began
  Response response = watched.stream.subscribe(request);
  auto* const streamed = std::get_if<Response::Streamed>(&response.body());
  if (streamed == nullptr) {  // the server begins to stop, or the folder is gone
    events->give_up_unused();
    co_return response;
  }
  ++events->streams_;
  ++watched.streams;
  events->give_up_unused();
  streamed->source =
      std::make_unique<Stream>(events, *watch, std::move(place), std::move(streamed->source));
  co_return response;
}

std::size_t FolderEvents::streams() const noexcept {
  const std::lock_guard lock(mutex_);
  return streams_;
}

Task<Result<int, int>> FolderEvents::add_watch(const file::Folder::Opened& folder) {
  const auto work = [&]() -> Result<int, int> {
    // A path would be looked up again, and might lead elsewhere by now.
    const std::string path = fmt::format("/proc/self/fd/{}", folder.descriptor.get());
    const int watch = ::inotify_add_watch(inotify_.get(), path.c_str(),
                                          changes_of_names | IN_DELETE_SELF | IN_MOVE_SELF);
    if (watch < 0) return std::unexpected(errno);
    return watch;
  };
  {
    const std::lock_guard lock(mutex_);
    ++adding_;
    if (!inotify_.valid()) inotify_ = base::Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!inotify_.valid()) co_return std::unexpected(errno);
    if (!folder.slow) {
      const Result<int, int> watch = work();
      if (watch) watched_by(*watch);  // another stream may read its first changes
      co_return watch;
    }
  }
  const file::WaitingOptions options = file::on_slow_file_system(folder.version.device);
  const std::optional<Result<int, int>> watch =
      co_await file::run_waiting(io::Engine::current(), work, options);
  co_return watch.value_or(std::unexpected(ECANCELED));
}

FolderEvents::Watched& FolderEvents::watched_by(int watch) {
  std::unique_ptr<Watched>& watched = watched_[watch];
  if (watched == nullptr) watched = std::make_unique<Watched>(limits_.keep_alive);
  return *watched;
}

void FolderEvents::leave(int watch) {
  const std::lock_guard lock(mutex_);
  --streams_;
  const auto found = watched_.find(watch);
  ASSERT(found != watched_.end());
  if (--found->second->streams == 0) give_up_unused();
}

// Not while one is added: it may be that of the same folder.
void FolderEvents::give_up_unused() {
  if (adding_ > 0) return;
  for (auto watched = watched_.begin(); watched != watched_.end();) {
    const auto next = std::next(watched);
    if (watched->second->streams == 0) {
      // Fails if the folder is gone, and its watch with it.
      ::inotify_rm_watch(inotify_.get(), watched->first);
      watched_.erase(watched);
    }
    watched = next;
  }
}

void FolderEvents::look() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ms = base::monotonic_ms();
  if (now_ms - looked_ms_ < limits_.look_every.count() / 2) return;
  looked_ms_ = now_ms;
  read_changes();
  for (const auto& [watch, one] : watched_) {
    if (std::exchange(one->changed, false)) {
      one->stream.send({.data = fmt::to_string(++one->changes), .type = "change"});
    }
    if (one->ended) one->stream.close();
  }
}

void FolderEvents::read_changes() {
  alignas(inotify_event) std::array<char, 16 * 1024> bytes;
  for (;;) {
    const ssize_t size = ::read(inotify_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    // EAGAIN: there are no more. Nothing else can happen to this descriptor.
    if (size <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event;
      std::memcpy(&event, bytes.data() + at, sizeof event);
      note(event.wd, event.mask, event.len > 0 ? bytes.data() + at + sizeof event : "");
      at += sizeof event + event.len;
    }
  }
}

void FolderEvents::note(int watch, std::uint32_t what, const char* name) {
  if ((what & IN_Q_OVERFLOW) != 0) {
    for (const auto& [other, one] : watched_) one->changed = true;
    return;
  }
  const auto found = watched_.find(watch);
  if (found == watched_.end()) return;  // of a watch that was given up
  Watched& one = *found->second;
  if ((what & end_of_folder) != 0) one.ended = true;
  if (!std::string_view(name).starts_with(temporary_file_prefix)) one.changed = true;
}

}  // namespace h2server::content
