// Objects of a store from a DiskCache.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "content/cache/disk_cache.h"
#include "content/store_files_support.h"
#include "content/support.h"

namespace h2server::content {
namespace store_files_disk_test {

using Kind = StoreError::Kind;
using tests::body_of;
using tests::Calls;
using tests::Conditional;
using tests::conditional;
using tests::field_of;
using tests::name_of;

std::string noise(std::size_t size, unsigned state = 1) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

class DiskStoreFiles : public tests::StoreFilesTest {
 protected:
  DiskStoreFiles() {
    put("large", large_);
    restart();
  }

  // As after a restart: nothing is in memory. What was found is fresh for so long.
  void restart(std::chrono::milliseconds fresh = std::chrono::hours(1)) {
    const auto disk =
        DiskCache::open(directory_.path(), {.bytes_max = 40'000'000, .reserve_bytes = 0});
    ASSERT_TRUE(disk.has_value());
    const FilesOptions options{.fresh = fresh};
    handler_ = store_files(store_, options, media_types(), {.cache = *disk, .store = "store"});
  }
  static http::MediaTypesRef media_types() { return std::make_shared<const http::MediaTypes>(); }
  // Reads the response like a client.
  std::string get(std::string_view target, const std::vector<Field>& fields = {}) {
    return body_of(ask(target, fields));
  }
  bool is_file(std::string_view target) {
    return std::holds_alternative<Response::FilePart>(ask(target).body());
  }
  // What the last request has asked for.
  void wait_until_stale() {
    Request request(asked_.head, asked_.params, nullptr);
    while ((*handler_.attempt())(request)) std::this_thread::yield();
  }
  // Flips a bit of the file of the only object, as a disk may.
  void damage(std::uint64_t at) const {
    const std::string name = directory_.names().front();
    struct stat before{};
    ASSERT_EQ(::stat(directory_.path_of(name).c_str(), &before), 0);
    std::string bytes = directory_.read(name).value();
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    directory_.write(name, bytes);
    directory_.set_modified(name, before.st_mtim.tv_sec);
  }

  const std::string large_ = noise(2'500'000);
  const tests::TemporaryDirectory directory_;
};

TEST_F(DiskStoreFiles, HitsAfterARestart) {
  EXPECT_EQ(get("/large"), large_);
  EXPECT_EQ(store_->calls, Calls{"get large"});
  EXPECT_EQ(directory_.names().size(), 2U);
  EXPECT_TRUE(is_file("/large"));
  EXPECT_EQ(store_->calls, Calls());
  EXPECT_EQ(get("/large"), large_);
  restart();
  EXPECT_EQ(get("/large"), large_);
  EXPECT_EQ(store_->calls, Calls{"get large"}) << "304";
  EXPECT_TRUE(is_file("/large")) << "once it was checked";
  EXPECT_EQ(store_->calls, Calls());
}

TEST_F(DiskStoreFiles, PartsAreChecked) {
  static_cast<void>(get("/large"));
  restart();
  const std::pair<std::size_t, std::size_t> parts[] = {
      {0, 1}, {1'048'575, 2}, {1'000'000, 1'100'000}, {2'499'999, 1}, {5, 2'000'000}};
  for (const auto& [first, count] : parts) {
    const std::string range =
        "bytes=" + std::to_string(first) + "-" + std::to_string(first + count - 1);
    EXPECT_EQ(get("/large", {{"range", range}}), large_.substr(first, count)) << range;
    EXPECT_EQ(asked_.head.method, Method::GET);
    EXPECT_EQ(store_->calls, first == 0 ? Calls{"get large"} : Calls()) << range << ": 304 once";
  }
  EXPECT_TRUE(is_file("/large")) << "all blocks have been read";
}

TEST_F(DiskStoreFiles, PartsOfWhatIsNotThereComeFromTheStore) {
  EXPECT_EQ(get("/large", {{"range", "bytes=5-6"}}), large_.substr(5, 2));
  EXPECT_EQ(store_->calls, Calls{"get large bytes=5-6"});
  EXPECT_EQ(ask("/large", {}, Method::HEAD).size(), 2'500'000U);
  EXPECT_EQ(store_->calls, Calls{"head large"});
  EXPECT_EQ(directory_.names().size(), 0U);
}

// A file that is checked, one that is not, and no file: the same answers.
TEST_F(DiskStoreFiles, ConditionalRequests) {
  static_cast<void>(get("/large"));
  const Handler checked = handler_;
  restart();
  const Handler unchecked = handler_;
  for (const Conditional& row : conditional) {
    const Field* const range = row.fields.front().name == "range" ? &row.fields.front() : nullptr;
    const bool whole = range != nullptr && row.status == 200;  // several ranges, from a file
    for (const Method method : {Method::GET, Method::HEAD}) {
      if (whole && range->value.find(',') != std::string_view::npos) continue;
      const Response first = ask(checked, "/large", row.fields, method);
      const Response second = ask(unchecked, "/large", row.fields, method);
      EXPECT_EQ(first.status(), second.status()) << name_of(row);
      EXPECT_EQ(first.size(), second.size()) << name_of(row);
      EXPECT_EQ(field_of(first, "Content-Range"), field_of(second, "Content-Range"))
          << name_of(row);
    }
  }
}

TEST_F(DiskStoreFiles, ChangesAreSeen) {
  restart(std::chrono::milliseconds(1));
  static_cast<void>(get("/large"));
  for (const bool restarted : {false, true}) {
    const std::string other = noise(2'000'000, restarted ? 2 : 3);
    put("large", other, restarted ? "\"2\"" : "\"3\"");
    if (restarted) restart(std::chrono::milliseconds(1));
    wait_until_stale();
    EXPECT_EQ(get("/large"), other);
    EXPECT_EQ(store_->calls, Calls{"get large"});
    EXPECT_EQ(directory_.names().size(), 2U) << "the one before is removed";
  }
  store_->objects["large"].info.fields = {{"Cache-Control", "no-store"}};
  store_->objects["large"].info.modified_s += 1;
  wait_until_stale();
  const Response response = ask("/large");
  EXPECT_EQ(field_of(response, "Cache-Control"), "no-store") << "other fields, the same tag";
  EXPECT_EQ(body_of(response).size(), 2'000'000U);
  store_->objects.erase("large");
  wait_until_stale();
  EXPECT_EQ(ask("/large").status(), 404);
  EXPECT_EQ(directory_.names().size(), 0U);
}

TEST_F(DiskStoreFiles, NothingStaleInAnOutage) {
  static_cast<void>(get("/large"));
  restart(std::chrono::milliseconds(1));
  store_->failure = StoreError{.kind = Kind::failed};
  EXPECT_EQ(ask("/large").status(), 502);
  EXPECT_EQ(ask("/large", {{"range", "bytes=0-1"}}).status(), 502);
  store_->failure.reset();
  EXPECT_EQ(get("/large"), large_);
  EXPECT_EQ(store_->calls, Calls{"get large"}) << "it stays on the disk";
  EXPECT_EQ(directory_.names().size(), 2U);
}

TEST_F(DiskStoreFiles, DamagedBytesAreNotSent) {
  for (const std::uint64_t at : {0U, 1'048'575U, 1'048'576U, 2'499'999U}) {
    static_cast<void>(get("/large"));
    ASSERT_EQ(directory_.names().size(), 2U) << at;
    damage(at);
    restart();
    EXPECT_EQ(get("/large"), large_) << at;
    const std::uint64_t good = at / 1'048'576 * 1'048'576;
    EXPECT_EQ(store_->calls,
              (Calls{"get large", "get large bytes=" + std::to_string(good) + "-2499999"}));
    EXPECT_EQ(directory_.names().size(), 0U);
  }
  EXPECT_EQ(get("/large"), large_);
  damage(0);
  EXPECT_EQ(get("/large"), large_) << "of a file that this process has written";
  EXPECT_EQ(store_->calls, (Calls{"get large", "get large bytes=0-2499999"}));
}

TEST_F(DiskStoreFiles, ObjectChangesWhileADamagedFileIsSent) {
  static_cast<void>(get("/large"));
  damage(1'500'000);
  restart();
  const Response response = ask("/large");
  put("large", noise(2'500'000, 9), "\"9\"");
  EXPECT_EQ(body_of(response), large_.substr(0, 1'048'576)) << "cut off, not mixed";
}

TEST_F(DiskStoreFiles, WhatBreaksOffIsNotKept) {
  store_->body_failure = Error{ECONNRESET, "test"};
  EXPECT_EQ(get("/large"), large_.substr(0, large_.size() / 2));
  store_->body_failure.reset();
  {
    const Response left = ask("/large");
    EXPECT_EQ(left.size(), 2'500'000U);
  }
  EXPECT_EQ(get("/large"), large_) << "the client before has left, and this one fills";
  EXPECT_EQ(directory_.names().size(), 2U);
}

TEST_F(DiskStoreFiles, SecondRequestStreamsMeanwhile) {
  const Response first = ask("/large");
  EXPECT_EQ(get("/large"), large_);
  EXPECT_EQ(store_->calls, Calls{"get large"});
  EXPECT_EQ(body_of(first), large_);
  EXPECT_TRUE(is_file("/large"));
}

TEST_F(DiskStoreFiles, SmallAndTooLargeObjectsAreNotOnTheDisk) {
  put("small", std::string(1'048'576, 'x'));
  put("largest", std::string(5'000'000, 'x'));
  put("too-large", std::string(5'000'001, 'x'));
  put("untagged", std::string(2'000'000, 'x'), "");
  const std::pair<std::string_view, std::size_t> rows[] = {
      {"/small", 0}, {"/largest", 2}, {"/too-large", 2}, {"/untagged", 2}};
  for (const auto& [target, files] : rows) {
    static_cast<void>(get(target));
    EXPECT_EQ(directory_.names().size(), files) << target;
  }
}

TEST_F(DiskStoreFiles, DiskFailuresAreNotTheClients) {
  std::filesystem::remove_all(directory_.path());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(get("/large"), large_);
  std::filesystem::create_directory(directory_.path());
  restart();
  static_cast<void>(get("/large"));
  std::filesystem::remove_all(directory_.path());
  EXPECT_EQ(get("/large"), large_) << "the file is open";
  restart();
  std::filesystem::remove_all(directory_.path());
  EXPECT_EQ(get("/large"), large_);
}

TEST_F(DiskStoreFiles, FileThatIsFullInTheMiddle) {
  ::signal(SIGXFSZ, SIG_IGN);  // so that the write fails: EFBIG
  {
    const tests::LoweredLimit short_files(RLIMIT_FSIZE, 1'000'000);
    EXPECT_EQ(get("/large"), large_);
  }
  EXPECT_EQ(get("/large"), large_) << "not tried again at once";
  restart();
  EXPECT_EQ(directory_.names().size(), 0U);
}

TEST_F(DiskStoreFiles, Downloads) {
  static_cast<void>(get("/large"));
  for (const bool restarted : {false, true}) {
    if (restarted) restart();
    EXPECT_EQ(field_of(ask("/large?download"), "Content-Disposition"),
              "attachment; filename=\"large\"");
  }
}

}  // namespace store_files_disk_test
}  // namespace h2server::content
