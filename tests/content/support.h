// For content tests: a temporary directory, hand-made requests and bodies, resource limits, and
// run_now() for coroutines that do not suspend.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "file/content.h"
#include "h2server/body.h"
#include "h2server/handler.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/task_group.h"
#include "http/answer.h"

namespace h2server::tests {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "h2server_unit_XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    ::chmod(pattern.c_str(), 0755);
    fd_ = base::Fd(::open(pattern.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ / name; }

  // Truncates and rewrites the file `name` in place.
  void write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream out(path_ / name, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    ASSERT_TRUE(out.good()) << name;
  }
  // Like write(), but returns only when the cache trusts the file: a later write would show.
  void write_settled(const std::string& name, std::string_view content,
                     std::int64_t modified_s = 1'000'000'000) const {
    write(name, content);
    set_modified(name, modified_s);
    const base::Fd file(::openat(fd(), name.c_str(), O_RDONLY | O_CLOEXEC));
    while (!file::is_settled(file::version_of(file.get()).value())) {
      std::this_thread::yield();
    }
  }
  void set_modified(const std::string& name, std::int64_t seconds) const {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(fd(), name.c_str(), times, AT_SYMLINK_NOFOLLOW), 0) << name;
  }
  // Returns nullopt if there is no such regular file.
  [[nodiscard]] std::optional<std::string> read(const std::string& name) const {
    if (!std::filesystem::is_regular_file(path_ / name)) return std::nullopt;
    std::ifstream in(path_ / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  // Returns the names of all entries, sorted.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      found.push_back(entry.path().filename());
    }
    std::ranges::sort(found);
    return found;
  }

 private:
  std::filesystem::path path_;
  base::Fd fd_;
};

// Lowers a resource limit of this process during its lifetime.
class LoweredLimit {
 public:
  LoweredLimit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    EXPECT_EQ(::getrlimit(resource_, &before_), 0);
    const rlimit lowered{value, before_.rlim_max};
    EXPECT_EQ(::setrlimit(resource_, &lowered), 0);
  }
  LoweredLimit(const LoweredLimit&) = delete;
  LoweredLimit& operator=(const LoweredLimit&) = delete;
  ~LoweredLimit() { ::setrlimit(resource_, &before_); }

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

// Returns a descriptor limit that allows no more descriptors than are open now.
inline rlim_t descriptors_in_use() {
  const base::Fd next(::dup(0));
  return static_cast<rlim_t>(next.get());
}

// Runs `use` on a new thread. A thread's file caches keep a spare descriptor. On a new thread it is
// opened before the test lowers the limit, so it does not lie above it.
template <class Use>
void on_a_new_thread(Use use) {
  std::thread(std::move(use)).join();
}

// Returns the result of a task that does not suspend.
template <class T>
T run_now(Task<T> task) {
  std::optional<T> result;
  TaskGroup group;
  group.start([](Task<T> inner, std::optional<T>& out) -> Task<void> {
    T value = co_await inner;
    out.emplace(std::move(value));
  }(std::move(task), result));
  EXPECT_EQ(group.running(), 0U) << "it waits for something";
  return *std::move(result);
}

// Yields its pieces one by one, then the end or an error. Each piece is on the heap and freed by
// the next call, so that a sanitizer reports every access to an expired one.
class FakeBody final : public BodySource {
 public:
  explicit FakeBody(std::vector<std::string> pieces, std::optional<Error> failure = std::nullopt)
      : pieces_(std::move(pieces)), failure_(failure) {
    // An empty piece would mean the end.
    std::erase_if(pieces_, [](const std::string& piece) { return piece.empty(); });
  }

  Task<Result<std::string_view>> read() override {
    if (before_read) before_read(next_);
    current_.reset();
    if (next_ < pieces_.size()) {
      const std::string& piece = pieces_[next_++];
      current_ = std::make_unique<char[]>(piece.size());
      std::memcpy(current_.get(), piece.data(), piece.size());
      co_return std::string_view(current_.get(), piece.size());
    }
    ++ends_;
    EXPECT_EQ(ends_, 1) << "read again after the end";
    if (failure_) co_return std::unexpected(*failure_);
    co_return std::string_view();
  }

  // Called before each read with the number of pieces already yielded.
  std::function<void(std::size_t)> before_read;

 private:
  std::vector<std::string> pieces_;
  std::optional<Error> failure_;
  std::size_t next_ = 0;
  int ends_ = 0;
  std::unique_ptr<char[]> current_;
};

// A request made by hand. The strings it is made of must outlive it.
struct Asked {
  RequestHead head;
  PathParams params;

  Asked() {
    head.method_name = "GET";
    head.received_s = base::unix_seconds();
  }
  // For a route like "/{path...}".
  explicit Asked(std::string_view target_and_path, std::string_view param = "path") : Asked() {
    head.target = head.path = target_and_path;
    params.add(param, target_and_path.substr(1));
  }

  Response answer(const Handler& handler, BodySource* body = nullptr) {
    Request request(head, params, body);
    if (std::optional<Response> response = http::answer_at_once(handler, request)) {
      return *std::move(response);
    }
    return run_now((*handler.coroutine())(request));
  }
};

inline std::string field_of(const Response& response, std::string_view name) {
  for (const Response::Line& line : response.fields()) {
    if (line.name == name) return line.value;
  }
  return "-";
}

// Reads a streamed body, which must not wait for anything, to its end.
inline std::string body_of(const Response& response) {
  if (const auto* const streamed = std::get_if<Response::Streamed>(&response.body())) {
    std::string all;
    for (;;) {
      const Result<std::string_view> piece = run_now(streamed->source->read());
      if (!piece || piece->empty()) return all;
      all += *piece;
    }
  }
  if (const auto* const text = std::get_if<std::string>(&response.body())) return *text;
  if (const auto* const part = std::get_if<Response::FilePart>(&response.body())) {
    return {part->file->content().bytes() + part->first, static_cast<std::size_t>(part->count)};
  }
  return {};
}

}  // namespace h2server::tests
