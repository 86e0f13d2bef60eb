// PROPFIND and PROPPATCH.
#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/memory/memory_budget.h"
#include "content/storage/directory_entries.h"
#include "content/webdav/webdav_answers.h"
#include "content/webdav/webdav_methods.h"
#include "content/webdav/webdav_requests.h"
#include "file/calls.h"
#include "h2server/body.h"
#include "http/message.h"
#include "io/engine.h"

namespace h2server::content {

namespace {

// Bytes of a response that are made at once.
constexpr std::size_t batch_bytes = 64 * 1024;
// Names that are read at once: some file systems look for the next one from the beginning.
constexpr std::size_t names_at_once_max = 2048;
// The responses of so few entries are made before the client can take them.
constexpr std::size_t entries_at_once_max = 8;

// The responses of a folder's entries, one after the other. Between batches it holds some names and
// no descriptor.
class EntryWalk {
 public:
  EntryWalk(WebDavRef dav, Propfind asked, std::string path)
      : dav_(std::move(dav)),
        context_(dav_->properties()),
        asked_(std::move(asked)),
        asked_bytes_(bytes_of(asked_.names)),
        path_(std::move(path)) {}

  [[nodiscard]] bool finished() const noexcept { return finished_; }
  // Appends a batch. The error is a status.
  Result<void, int> append(std::string& out);
  // Of names.
  [[nodiscard]] std::size_t bytes_held() const noexcept { return asked_bytes_ + names_bytes_; }

 private:
  static std::size_t bytes_of(const std::vector<XmlName>& names) noexcept {
    std::size_t bytes = names.capacity() * sizeof(XmlName);
    for (const XmlName& name : names) bytes += name.space.size() + name.local.size();
    return bytes;
  }
  Result<void, int> read_names(int folder);
  void append_entry(std::string& out, int folder, const std::string& name) const;

  WebDavRef dav_;  // context_ refers to its locks
  PropertyContext context_;
  Propfind asked_;
  std::size_t asked_bytes_;  // of its names
  std::string path_;
  std::vector<std::string> names_;
  std::size_t names_bytes_ = 0;
  std::size_t next_ = 0;       // of names_
  std::int64_t position_ = 0;  // behind them
  bool finished_ = false;
};

Result<void, int> EntryWalk::append(std::string& out) {
  const Result<base::Fd, int> folder =
      open_below(dav_->root(), path_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!folder) return std::unexpected(status_of_error(folder.error()));
  const std::size_t end = out.size() + batch_bytes;
  while (out.size() < end) {
    if (next_ == names_.size()) {
      const Result<void, int> done = read_names(folder->get());
      if (!done) return done;
      finished_ = names_.empty();
      if (finished_) {
        out += multistatus_end;
        return {};
      }
    }
    append_entry(out, folder->get(), names_[next_++]);
  }
  return {};
}

Result<void, int> EntryWalk::read_names(int folder) {
  names_.clear();
  names_bytes_ = next_ = 0;
  const auto add = [&](const char* name, std::int64_t behind) {
    position_ = behind;
    if (!is_visible_name(name)) return true;
    names_bytes_ += sizeof(std::string) + names_.emplace_back(name).capacity();
    return names_.size() < names_at_once_max;
  };
  const Result<void, int> done = for_each_entry_from(position_, folder, add);
  if (!done) return std::unexpected(status_of_error(done.error()));
  return {};
}

// What vanished meanwhile is left out, and links are.
void EntryWalk::append_entry(std::string& out, int folder, const std::string& name) const {
  const Result<FileState, int> state = look_at(folder, name);
  if (!state) return;
  base::Fd file;
  if (needs_dead_properties(asked_)) {
    file = base::Fd(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  }
  const std::string path = path_.empty() ? name : path_ + '/' + name;
  append_properties(out, context_, {path, *state, file.get()}, asked_);
}

// A folder, read and described while its client takes what was described before.
class EntrySource final : public BodySource {
 public:
  EntrySource(std::string first, EntryWalk walk)
      : piece_(std::move(first)), walk_(std::move(walk)) {
    charge_.set(piece_.capacity() + walk_.bytes_held());
  }

  Task<Result<std::string_view>> read() override {
    if (walk_.finished()) co_return std::string_view();
    const auto work = [this] {
      if (std::exchange(begun_, true)) piece_.clear();
      return walk_.append(piece_);
    };
    const std::optional<Result<void, int>> done =
        co_await file::run_waiting(io::Engine::current(), work, file::unless_stopped);
    if (!done) co_return std::unexpected(Error{ECANCELED, "the request was given up"});
    charge_.set(piece_.capacity() + walk_.bytes_held());
    if (!*done) co_return std::unexpected(Error{0, "the folder can't be read any more"});
    co_return std::string_view(piece_);
  }
  [[nodiscard]] bool reads_request() const noexcept override { return false; }
  [[nodiscard]] std::size_t bytes_held() const noexcept override { return charge_.bytes(); }

 private:
  base::MemoryCharge charge_{base::MemoryOwner::listings};
  std::string piece_;  // at first what comes before the entries
  EntryWalk walk_;
  bool begun_ = false;
};

// Returns whether the folder has at most entries_at_once_max entries that are shown.
Result<bool, int> has_few_entries(int folder) {
  std::size_t count = 0;
  const Result<void, int> done = for_each_entry(folder, [&count](const char* name) {
    if (is_visible_name(name)) ++count;
    return count <= entries_at_once_max;
  });
  if (!done) return std::unexpected(status_of_error(done.error()));
  return count <= entries_at_once_max;
}

Response answer_folder(const WebDavRef& dav, const DavRequest& asked, const Propfind& wanted,
                       const base::Fd& folder, std::string body) {
  const Result<bool, int> few = has_few_entries(folder.get());
  if (!few) return http::error_response(few.error());
  EntryWalk walk(dav, wanted, asked.path);
  if (*few) {
    while (!walk.finished()) {
      const Result<void, int> described = walk.append(body);
      if (!described) return http::error_response(described.error());
    }
    return dav_response(207, std::move(body));
  }
  Response response(std::make_unique<EntrySource>(std::move(body), std::move(walk)),
                    dav_media_type);
  response.set_status(207);
  response.add("X-Content-Type-Options", "nosniff").add("Cache-Control", "no-cache");
  return response;
}

}  // namespace

Response answer_propfind(const WebDavRef& dav, const DavRequest& asked) {
  const auto depth = parse_depth(asked.head.fields.find("depth"), Depth::infinity);
  if (!depth) return http::error_response(400);
  std::optional<Propfind> wanted = Propfind{};  // RFC 4918, 9.1: without a body, all
  if (asked.body) wanted = read_propfind(*asked.body);
  if (!wanted) return http::error_response(400);
  const Result<FileState, int> state = look_at_path(dav->root(), asked.path);
  if (!state) return http::error_response(status_of_error(state.error()));
  if (state->is_folder && depth == Depth::infinity) {
    return dav_error(403, "<D:propfind-finite-depth/>");
  }
  if (auto refused = check_conditions(*dav, asked)) return *std::move(refused);
  // A file that can't be read has no properties of clients.
  Result<base::Fd, int> file = open_below(dav->root(), asked.path, O_RDONLY | O_NOFOLLOW);
  std::string body(multistatus_begin);
  append_properties(body, dav->properties(), {asked.path, *state, file ? file->get() : -1},
                    *wanted);
  if (state->is_folder && depth == Depth::one) {
    if (!file) return http::error_response(status_of_error(file.error()));
    return answer_folder(dav, asked, *wanted, *file, std::move(body));
  }
  body += multistatus_end;
  return dav_response(207, std::move(body));
}

Response answer_proppatch(const WebDavRef& dav, const DavRequest& asked) {
  if (!asked.body) return http::error_response(400);
  const auto updates = read_propertyupdate(*asked.body);
  if (!updates) return http::error_response(400);
  const Result<FileState, int> state = look_at_path(dav->root(), asked.path);
  if (!state) return http::error_response(status_of_error(state.error()));
  if (auto refused = check_conditions(*dav, asked)) return *std::move(refused);
  if (auto refused = check_locks(*dav, asked, {.path = asked.path})) return *std::move(refused);
  const Result<base::Fd, int> file = open_below(dav->root(), asked.path, O_RDONLY | O_NOFOLLOW);
  std::string body(multistatus_begin);
  change_properties(body, dav->properties(), {asked.path, *state, file ? file->get() : -1},
                    *updates);
  body += multistatus_end;
  return dav_response(207, std::move(body));
}

}  // namespace h2server::content
