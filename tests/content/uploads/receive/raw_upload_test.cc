#include "content/uploads/receive/raw_upload.h"

#include <sys/stat.h>

#include <csignal>

#include "base/clock.h"
#include "base/text/base64.h"
#include "content/storage/commit_file.h"
#include "content/storage/file_digest.h"
#include "content/support.h"
#include "http/fields/digest_fields.h"

namespace h2server::content {
namespace raw_upload_test {

using tests::Asked;
using tests::FakeBody;
using tests::field_of;
using Names = std::vector<std::string>;
using Lines = std::vector<std::pair<std::string, std::string>>;

std::string sha256_field(std::string_view content) {
  Sha256 digest;
  digest.update(content);
  return http::digest_field(digest.finish());
}

std::string sha512_field(std::string_view content) {
  Sha512 digest;
  digest.update(content);
  const auto value = digest.finish();
  return "sha-512=:" +
         base::encode_base64({reinterpret_cast<const char*>(value.data()), value.size()}) + ":";
}

struct Put {
  std::string path;
  std::vector<std::string> pieces = {"content"};
  Lines fields = {};
  std::optional<std::uint64_t> length = {};
  std::optional<Error> failure = {};
  std::function<void(std::size_t)> before_read = {};
};

class RawUpload : public testing::Test {
 protected:
  Response put(const Put& upload, const UploadOptions& options = {}) {
    FakeBody body(upload.pieces, upload.failure);
    body.before_read = upload.before_read;
    const std::string target = "/" + upload.path;
    Asked asked(target);
    asked.head.method = Method::PUT;
    asked.head.authority = "here";
    asked.head.content_length = upload.length;
    for (const auto& [name, value] : upload.fields) asked.head.fields.add(name, value);
    return asked.answer(raw_upload(directory_backend(uploads_),
                                   {.options = options, .locks_are_checked = locks_are_checked_}),
                        &body);
  }

  int status(const Put& upload, const UploadOptions& options = {}) {
    return put(upload, options).status();
  }

  std::string etag(const std::string& name) { return etag_of(directory_.fd(), name); }

  tests::TemporaryDirectory directory_;
  std::shared_ptr<UploadDirectory> uploads_ = *UploadDirectory::open(directory_.fd());
  bool locks_are_checked_ = false;
};

TEST_F(RawUpload, Created) {
  const Response response = put({"a b.txt", {"con", "tent"}});
  EXPECT_EQ(response.status(), 201);
  EXPECT_EQ(tests::body_of(response), "");
  EXPECT_EQ(field_of(response, "ETag"), etag("a b.txt"));
  EXPECT_EQ(field_of(response, "Repr-Digest"), sha256_field("content"));
  EXPECT_EQ(field_of(response, "Location"), "-");
  EXPECT_EQ(directory_.names(), Names{"a b.txt"});
  EXPECT_EQ(directory_.read("a b.txt"), "content");
  struct stat found{};
  ASSERT_EQ(::stat(directory_.path_of("a b.txt").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0644U);
}

TEST_F(RawUpload, Bodies) {
  const std::string large(3'000'000, 'x');
  const std::vector<std::vector<std::string>> rows = {
      {}, {"x"}, {large}, {"a", large, "b"}, {large.substr(0, 65536)}, {large.substr(0, 65537)}};
  for (const auto& pieces : rows) {
    std::string content;
    for (const std::string& piece : pieces) content += piece;
    for (const bool known : {false, true}) {
      for (const Durability durability :
           {Durability::none, Durability::file, Durability::file_and_directory}) {
        const auto length = known ? std::optional<std::uint64_t>(content.size()) : std::nullopt;
        const Response response = put({.path = "d/a", .pieces = pieces, .length = length},
                                      {.durability = durability, .folders = true});
        EXPECT_EQ(response.status(), 201) << tests::body_of(response);
        EXPECT_EQ(field_of(response, "Repr-Digest"), sha256_field(content));
        EXPECT_EQ(directory_.read("d/a"), content);
        struct stat found{};
        ASSERT_EQ(::stat(directory_.path_of("d/a").c_str(), &found), 0);
        EXPECT_LE(static_cast<std::uint64_t>(found.st_blocks) * 512, content.size() + 8192)
            << "no space is allocated beyond the end";
        std::filesystem::remove_all(directory_.path_of("d"));
      }
    }
  }
  EXPECT_EQ(uploads_->space().claimed(), 0U);
}

TEST_F(RawUpload, WithoutADigest) {
  const UploadOptions options{.sha256 = false};
  EXPECT_EQ(field_of(put({"a"}, options), "Repr-Digest"), "-");
  const Put stated{.path = "b", .fields = {{"repr-digest", sha256_field("content")}}};
  EXPECT_EQ(field_of(put(stated, options), "Repr-Digest"), "-");
  EXPECT_EQ(status({.path = "c", .fields = {{"repr-digest", sha256_field("x")}}}, options), 400);
  EXPECT_EQ(directory_.names(), (Names{"a", "b"}));
}

TEST_F(RawUpload, Paths) {
  struct Row {
    std::string path;
    bool folders;
    int status;
  };
  const std::vector<Row> rows = {
      {"a.txt", false, 201},
      {"\xc3\xa4", false, 201},
      {"a/b", false, 400},
      {"a/b/c", true, 201},
      {"a/b/d", true, 201},
      {"", false, 400},
      {"", true, 400},
      {"..", true, 400},
      {"../x", true, 400},
      {"a/../x", true, 400},
      {"a//x", true, 400},
      {"a/", true, 400},
      {".x", false, 400},
      {".x", true, 400},
      {"a/.x", true, 400},
      {" x", false, 400},
      {"x\\y", true, 400},
      {"h2_tmp_1_2_0", false, 400},
      {"a/h2_tmp_1_2_0", true, 400},
      {"\xff", false, 400},
      {"a", true, 409},
      {"a/b", true, 409},
      {"a.txt/x", true, 409},
      {std::string(255, 'x'), false, 201},
      {std::string(256, 'x'), false, 400},
  };
  for (const Row& row : rows) {
    const Response response = put({row.path}, {.folders = row.folders});
    EXPECT_EQ(response.status(), row.status) << row.path << ": " << tests::body_of(response);
    if (row.status == 201) {
      EXPECT_EQ(directory_.read(row.path), "content");
    }
  }
  EXPECT_EQ(directory_.names(), (Names{"a", "a.txt", std::string(255, 'x'), "\xc3\xa4"}));
}

TEST_F(RawUpload, LinksAreNotFollowed) {
  const tests::TemporaryDirectory outside;
  outside.write("f", "theirs");
  ASSERT_EQ(::symlinkat(outside.path().c_str(), directory_.fd(), "out"), 0);
  ASSERT_EQ(::symlinkat(outside.path_of("f").c_str(), directory_.fd(), "f"), 0);
  ASSERT_EQ(::symlinkat("nowhere", directory_.fd(), "dangling"), 0);
  EXPECT_EQ(status({"out/f"}, {.overwrite = true, .folders = true}), 409);
  EXPECT_EQ(status({"f"}), 409);
  EXPECT_EQ(status({"dangling"}), 409);
  EXPECT_EQ(status({"f"}, {.overwrite = true}), 204) << "the link is replaced";
  EXPECT_EQ(directory_.read("f"), "content");
  EXPECT_EQ(outside.read("f"), "theirs");
  EXPECT_EQ(outside.names(), Names{"f"});
}

TEST_F(RawUpload, Replacing) {
  EXPECT_EQ(status({"a", {"old"}}), 201);
  const std::string before = etag("a");
  EXPECT_EQ(status({"a", {"new"}}), 409);
  EXPECT_EQ(directory_.read("a"), "old");
  const Response response = put({"a", {"new"}}, {.overwrite = true});
  EXPECT_EQ(response.status(), 204);
  EXPECT_EQ(field_of(response, "Repr-Digest"), sha256_field("new"));
  EXPECT_EQ(field_of(response, "ETag"), etag("a"));
  EXPECT_NE(etag("a"), before);
  EXPECT_EQ(directory_.read("a"), "new");
  EXPECT_EQ(status({"b"}, {.overwrite = true}), 201);
  EXPECT_EQ(directory_.names(), (Names{"a", "b"}));
}

TEST_F(RawUpload, Preconditions) {
  struct Row {
    Lines fields;
    bool exists;
    bool overwrite;
    int status;
  };
  const std::string other = "\"1-2-3\"";
  const std::string past = "Thu, 01 Jan 1970 00:00:00 GMT";
  const std::string future = "Fri, 31 Dec 2100 00:00:00 GMT";
  const std::vector<Row> rows = {
      {{{"if-none-match", "*"}}, false, false, 201},
      {{{"if-none-match", "*"}}, false, true, 201},
      {{{"if-none-match", "*"}}, true, false, 412},
      {{{"if-none-match", "*"}}, true, true, 412},
      {{{"if-none-match", "TAG"}}, true, true, 412},
      {{{"if-none-match", "W/TAG"}}, true, true, 412},
      {{{"if-none-match", other}}, true, true, 204},
      {{{"if-none-match", other}}, true, false, 409},
      {{{"if-none-match", other}}, false, false, 201},
      {{{"if-none-match", other}, {"If-None-Match", "TAG"}}, true, true, 412},
      {{{"if-match", "*"}}, false, true, 412},
      {{{"if-match", "*"}}, true, false, 204},
      {{{"if-match", "TAG"}}, true, false, 204},
      {{{"if-match", "TAG"}}, true, true, 204},
      {{{"if-match", other + ", TAG"}}, true, false, 204},
      {{{"if-match", other}, {"If-Match", "TAG"}}, true, false, 204},
      {{{"if-match", "W/TAG"}}, true, true, 412},
      {{{"if-match", other}}, true, false, 412},
      {{{"if-match", other}}, true, true, 412},
      {{{"if-match", other}}, false, true, 412},
      {{{"if-match", "malformed"}}, true, true, 412},
      {{{"if-match", "TAG"}, {"if-none-match", "*"}}, true, true, 412},
      {{{"if-unmodified-since", past}}, true, true, 412},
      {{{"if-unmodified-since", future}}, true, true, 204},
      {{{"if-unmodified-since", future}}, true, false, 409},
      {{{"if-unmodified-since", past}}, false, true, 201},
      {{{"if-modified-since", future}}, true, true, 204},  // of GET and HEAD
  };
  for (const Row& row : rows) {
    std::filesystem::remove(directory_.path_of("a"));
    if (row.exists) directory_.write("a", "old");
    Lines fields = row.fields;
    for (auto& [name, value] : fields) {
      const std::size_t at = value.find("TAG");
      if (at != std::string::npos) value.replace(at, 3, etag("a"));
    }
    const std::string text = testing::PrintToString(fields) + (row.exists ? " exists" : "") +
                             (row.overwrite ? " overwrite" : "");
    const bool stored = row.status < 300;
    std::size_t reads = 0;
    const Response response = put({.path = "a",
                                   .pieces = {"new"},
                                   .fields = fields,
                                   .before_read = [&](std::size_t) { ++reads; }},
                                  {.overwrite = row.overwrite});
    EXPECT_EQ(response.status(), row.status) << text;
    EXPECT_EQ(reads > 0, stored) << text;
    if (stored) {
      EXPECT_EQ(directory_.read("a"), "new") << text;
    } else {
      EXPECT_EQ(directory_.read("a").value_or("-"), row.exists ? "old" : "-") << text;
    }
    EXPECT_LE(directory_.names().size(), 1U) << text;
  }
}

// What others do while the body arrives.
TEST_F(RawUpload, ChecksAgainAtTheEnd) {
  struct Row {
    Lines fields;
    bool existed;
    std::string change;  // "": it is removed
    bool overwrite;
    int status;
    std::string content;
  };
  const std::vector<Row> rows = {
      {{{"if-none-match", "*"}}, false, "theirs", true, 412, "theirs"},
      {{}, false, "theirs", false, 409, "theirs"},
      {{}, false, "theirs", true, 204, "new"},
      {{{"if-match", "TAG"}}, true, "theirs", false, 412, "theirs"},
      {{{"if-match", "TAG"}}, true, "", false, 412, "-"},
      {{}, true, "", true, 201, "new"},
  };
  for (const Row& row : rows) {
    std::filesystem::remove(directory_.path_of("a"));
    if (row.existed) directory_.write("a", "old");
    Lines fields = row.fields;
    for (auto& [name, value] : fields) {
      if (value == "TAG") value = etag("a");
    }
    const auto change = [&](std::size_t given) {
      if (given != 1) return;
      std::filesystem::remove(directory_.path_of("a"));
      if (!row.change.empty()) directory_.write("a", row.change);
    };
    EXPECT_EQ(status({.path = "a", .pieces = {"n", "ew"}, .fields = fields, .before_read = change},
                     {.overwrite = row.overwrite}),
              row.status);
    EXPECT_EQ(directory_.read("a").value_or("-"), row.content);
    EXPECT_LE(directory_.names().size(), 1U);
  }
}

TEST_F(RawUpload, Digests) {
  const std::string good = sha256_field("content");
  const std::string bad = sha256_field("other");
  struct Row {
    Lines fields;
    int status;
  };
  const std::vector<Row> rows = {
      {{{"content-digest", good}}, 201},
      {{{"repr-digest", good}}, 201},
      {{{"content-digest", good}, {"repr-digest", good}}, 201},
      {{{"content-digest", sha512_field("content")}}, 201},
      {{{"content-digest", sha512_field("content") + ", " + good}}, 201},
      {{{"content-digest", "md5=:AA==:"}}, 201},  // unknown
      {{{"content-digest", "md5=:AA==:, " + good}}, 201},
      {{{"content-digest", bad}}, 400},
      {{{"repr-digest", bad}}, 400},
      {{{"content-digest", good}, {"repr-digest", bad}}, 400},
      {{{"content-digest", sha512_field("other")}}, 400},
      {{{"content-digest", sha512_field("other") + ", " + good}}, 400},
      {{{"content-digest", sha512_field("content") + ", " + bad}}, 400},
      {{{"content-digest", "sha-256=x"}}, 400},
      {{{"repr-digest", "sha-256"}}, 400},
      {{{"repr-digest", ","}}, 400},
  };
  for (const Row& row : rows) {
    for (const bool sha256 : {false, true}) {
      const Response response =
          put({.path = "a", .pieces = {"con", "tent"}, .fields = row.fields}, {.sha256 = sha256});
      EXPECT_EQ(response.status(), row.status)
          << testing::PrintToString(row.fields) << tests::body_of(response);
      EXPECT_EQ(directory_.names(), row.status == 201 ? Names{"a"} : Names{});
      std::filesystem::remove(directory_.path_of("a"));
    }
  }
}

TEST_F(RawUpload, RefusedBeforeTheBody) {
  struct Row {
    Put upload;
    UploadOptions options;
    int status;
  };
  directory_.write("old", "old");
  const Lines expects = {{"expect", "100-continue"}};
  const std::vector<Row> rows = {
      {{.path = "a", .fields = {{"content-range", "bytes 0-6/7"}}}, {}, 400},
      {{.path = "a", .fields = {{"content-range", "x"}}}, {}, 400},
      {{.path = "a", .fields = {{"content-encoding", "gzip"}}}, {}, 415},
      {{.path = "a", .fields = {{"content-digest", "sha-256=1"}}}, {}, 400},
      {{.path = "a", .fields = {{"sec-fetch-site", "cross-site"}}}, {}, 403},
      {{.path = "a", .fields = {{"origin", "http://there"}}}, {}, 403},
      {{.path = "old", .fields = expects, .length = 7}, {}, 409},
      {{.path = "old"}, {}, 409},
      {{.path = "old", .length = 100'000}, {}, 409},
      {{.path = "a", .length = 100'001}, {.file_bytes_max = 100'000}, 413},
      {{.path = "a", .fields = expects, .length = 7}, {.file_bytes_max = 6}, 413},
      {{.path = "a", .fields = expects, .length = 7}, {.directory_bytes_max = 9}, 413},
      {{.path = "a", .fields = expects, .length = 7}, {.reserve_bytes = UINT64_MAX}, 507},
  };
  for (Row row : rows) {
    row.upload.before_read = [](std::size_t) { ADD_FAILURE() << "the body is read"; };
    const Response response = put(row.upload, row.options);
    EXPECT_EQ(response.status(), row.status) << tests::body_of(response);
    EXPECT_EQ(directory_.names(), Names{"old"});
    EXPECT_EQ(uploads_->space().claimed(), 0U);
  }
}

TEST_F(RawUpload, AcceptsTheIdentityCoding) {
  EXPECT_EQ(status({.path = "a", .fields = {{"content-encoding", "Identity"}}}), 201);
}

TEST_F(RawUpload, Limits) {
  const std::vector<std::string> pieces = {"12345", "67890"};
  EXPECT_EQ(status({"a", pieces}, {.file_bytes_max = 9}), 413);
  EXPECT_EQ(status({"a", pieces}, {.directory_bytes_max = 9}), 413);
  EXPECT_EQ(status({"a", pieces}, {.reserve_bytes = UINT64_MAX}), 507);
  EXPECT_EQ(directory_.names(), Names{});
  EXPECT_EQ(status({"a", pieces}, {.file_bytes_max = 10, .directory_bytes_max = 10}), 201);
  EXPECT_EQ(status({"b", {"x"}}, {.directory_bytes_max = 10}), 413);
  EXPECT_EQ(uploads_->space().stored(), 10U);
  EXPECT_EQ(uploads_->space().claimed(), 0U);
}

TEST_F(RawUpload, ReplacedFilesNoLongerCount) {
  const UploadOptions options{.overwrite = true, .directory_bytes_max = 10};
  EXPECT_EQ(status({"a", {"123456"}}, options), 201);
  EXPECT_EQ(status({"a", {"1234"}}, options), 204);
  EXPECT_EQ(uploads_->space().stored(), 4U);
}

TEST_F(RawUpload, BrokenOff) {
  const std::string large(2'000'000, 'x');
  for (const std::vector<std::string>& pieces :
       {std::vector<std::string>{}, std::vector<std::string>{"some"}, std::vector{large, large}}) {
    for (const bool overwrite : {false, true}) {
      if (overwrite) directory_.write("d/a", "old");
      const Response response = put({.path = "d/a",
                                     .pieces = pieces,
                                     .length = 10'000'000,
                                     .failure = Error{ECONNRESET, "request body"}},
                                    {.overwrite = overwrite, .folders = true});
      EXPECT_EQ(response.status(), 400);
      EXPECT_EQ(directory_.names(), overwrite ? Names{"d"} : Names{}) << "no folder is left";
      if (overwrite) {
        EXPECT_EQ(directory_.read("d/a"), "old");
      }
      std::filesystem::remove_all(directory_.path_of("d"));
    }
  }
  EXPECT_EQ(uploads_->space().claimed(), 0U);
}

TEST_F(RawUpload, WhatIsLockedIsNotReplaced) {
  directory_.write("a", "mine");
  ASSERT_TRUE(uploads_->locks().add({.path = "a"}, base::monotonic_ms()));
  EXPECT_EQ(status({"a"}, {.overwrite = true}), 423);
  EXPECT_EQ(directory_.read("a"), "mine");
  EXPECT_EQ(status({"b"}), 201);
  locks_are_checked_ = true;
  EXPECT_EQ(status({"a"}, {.overwrite = true}), 204);
}

TEST_F(RawUpload, TheServersOwnTrouble) {
  EXPECT_EQ(status({"before"}), 201);  // a sanitizer needs descriptors at its first check of a type
  {
    const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use());
    EXPECT_EQ(status({"a"}), 503);
  }
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  {
    const tests::LoweredLimit limit(RLIMIT_FSIZE, 1000);
    EXPECT_EQ(status({"a", {std::string(1001, 'x')}}), 413);
    EXPECT_EQ(status({.path = "a", .pieces = {std::string(100'000, 'x')}, .length = 5'000'000}),
              413);
  }
  ::signal(SIGXFSZ, before);
  EXPECT_EQ(directory_.names(), Names{"before"});
  EXPECT_EQ(status({"a"}), 201);
}

// --- store_body() -----------------------------------------------------------------------------

TEST_F(RawUpload, StoreBody) {
  struct Row {
    std::string path;
    bool folders;
    std::string stored;  // or ""
  };
  const std::vector<Row> rows = {
      {"a.txt", false, "a.txt"},    {"x/b.txt", false, "b.txt"}, {"x/c.txt", true, "x/c.txt"},
      {".hidden", false, "hidden"}, {"..", false, ""},           {"x/../y", true, ""},
  };
  for (const Row& row : rows) {
    FakeBody body({"content"});
    Asked asked;
    asked.head.method = Method::PUT;
    Request request(asked.head, asked.params, &body);
    const auto result = tests::run_now(
        h2server::store_body(request, directory_.path(), row.path, {.folders = row.folders}));
    ASSERT_EQ(result.has_value(), !row.stored.empty()) << row.path;
    if (!result) {
      EXPECT_EQ(result.error().status(), 400);
      continue;
    }
    EXPECT_EQ(result->name, row.stored);
    EXPECT_EQ(result->size, 7U);
    EXPECT_EQ(result->sha256, "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73");
    EXPECT_FALSE(result->replaced);
    EXPECT_EQ(directory_.read(row.stored), "content");
  }
}

}  // namespace raw_upload_test
}  // namespace h2server::content
