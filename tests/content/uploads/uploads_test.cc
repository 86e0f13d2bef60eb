#include "h2server/uploads.h"

#include <sched.h>
#include <sys/mount.h>

#include <csignal>
#include <map>
#include <thread>

#include "content/storage/commit_file.h"
#include "content/storage/file_digest.h"
#include "content/support.h"
#include "content/uploads/receive/body_files.h"
#include "http/fields/digest_fields.h"

namespace h2server {
namespace uploads_test {

using tests::FakeBody;
using tests::TemporaryDirectory;
using Pieces = std::vector<std::string>;
using Contents = std::map<std::string, std::string>;

std::string part(const std::string& file_name, const std::string& content) {
  return "--B\r\nContent-Disposition: form-data; name=f; filename=\"" + file_name + "\"\r\n\r\n" +
         content + "\r\n";
}

std::string field(const std::string& value) {
  return "--B\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n" + value + "\r\n";
}

const std::string end = "--B--\r\n";

Contents contents(const TemporaryDirectory& directory) {
  Contents found;
  for (const std::string& name : directory.names()) {
    found[name] = directory.read(name).value_or("(a directory)");
  }
  return found;
}

struct Outcome {
  int status = 0;
  std::string body;  // of an error response
  std::vector<std::pair<std::string, std::uint64_t>> stored;
  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << outcome.status << " " << outcome.body << testing::PrintToString(outcome.stored);
}

Outcome store(const std::string& directory, FakeBody& body, UploadOptions options = {},
              std::optional<std::string_view> type = "multipart/form-data; boundary=B") {
  tests::Asked asked;
  asked.head.method = Method::POST;
  if (type) asked.head.fields.add("content-type", *type);
  Request request(asked.head, asked.params, &body);
  auto result = tests::run_now(store_uploads(request, directory, options));
  if (!result) return {result.error().status(), tests::body_of(result.error()), {}};
  Outcome outcome{201, "", {}};
  for (const StoredFile& file : *result) outcome.stored.emplace_back(file.name, file.size);
  return outcome;
}

Outcome store(const TemporaryDirectory& directory, Pieces pieces, UploadOptions options = {},
              std::optional<Error> failure = std::nullopt) {
  FakeBody body(std::move(pieces), failure);
  return store(directory.path(), body, options);
}

Pieces bytes_of(const std::string& body) {
  Pieces pieces;
  for (const char byte : body) pieces.emplace_back(1, byte);
  return pieces;
}

// Stores the body whole, byte by byte and in two at every position. The outcome and the files must
// be the same.
struct Everyway {
  Outcome outcome;
  Contents files;
};

Everyway store_every_way(const std::string& body, const Contents& before = {},
                         UploadOptions options = {}) {
  std::vector<Pieces> ways = {{body}, bytes_of(body)};
  for (std::size_t at = 1; at < body.size(); ++at) {
    ways.push_back({body.substr(0, at), body.substr(at)});
  }
  std::optional<Everyway> first;
  for (const Pieces& pieces : ways) {
    const TemporaryDirectory directory;
    for (const auto& [name, content] : before) directory.write(name, content);
    const Outcome outcome = store(directory, pieces, options);
    Everyway result{outcome, contents(directory)};
    if (!first) first = result;
    EXPECT_EQ(result.outcome, first->outcome) << "first piece: " << pieces[0].size();
    EXPECT_EQ(result.files, first->files) << "first piece: " << pieces[0].size();
  }
  return *first;
}

TEST(Uploads, StoredFiles) {
  struct Row {
    std::string body;
    Contents files;
  };
  const std::vector<Row> rows = {
      {part("a.txt", "hello") + end, {{"a.txt", "hello"}}},
      {part("a", "") + end, {{"a", ""}}},
      {part("a", "1") + part("b", "22") + part("c", "") + end,
       {{"a", "1"}, {"b", "22"}, {"c", ""}}},
      {field("x") + part("a", "1") + field("y") + end, {{"a", "1"}}},
      {part("", "") + part("a", "1") + end, {{"a", "1"}}},  // an empty file input
      {"preamble\r\n" + part("a", "1") + end + "epilogue\r\n--B\r\n", {{"a", "1"}}},
      // Look-alikes of the delimiter.
      {part("a", "\r\n--C\r\n--BB\r\n-\r\n--") + end, {{"a", "\r\n--C\r\n--BB\r\n-\r\n--"}}},
      {part("a", "\r\n\r\n--\r\n--B-x") + end, {{"a", "\r\n\r\n--\r\n--B-x"}}},
      {part("a", "x--B--\r\n") + end, {{"a", "x--B--\r\n"}}},  // not at the start of a line
      {part("a", std::string("\0\xff\r\n", 4)) + end, {{"a", std::string("\0\xff\r\n", 4)}}},
      // Names that clients send.
      {part("../../etc/passwd", "x") + end, {{"passwd", "x"}}},
      {part("C:\\\\dir\\\\f.txt", "x") + end, {{"f.txt", "x"}}},
      {part(".hidden", "x") + end, {{"hidden", "x"}}},
      {part("H2_TMP_1", "x") + end, {{"H2_TMP_1", "x"}}},
  };
  for (const Row& row : rows) {
    const Everyway done = store_every_way(row.body);
    EXPECT_EQ(done.outcome.status, 201) << row.body << done.outcome.body;
    EXPECT_EQ(done.files, row.files) << row.body;
    Contents sizes;
    for (const auto& [name, size] : done.outcome.stored) {
      EXPECT_EQ(size, row.files.at(name).size()) << name;
    }
    EXPECT_EQ(done.outcome.stored.size(), row.files.size());
  }
}

TEST(Uploads, Refusals) {
  struct Row {
    std::string body;
    int status;
    std::string text;  // must occur in the body
    Contents before = {};
    bool overwrite = false;
  };
  const std::vector<Row> rows = {
      {"", 400, "ends before its closing boundary"},
      {part("a", "1"), 400, "ends before its closing boundary"},
      {part("a", "1") + "--B", 400, "ends before its closing boundary"},
      {end, 400, "holds no file"},
      {field("x") + end, 400, "holds no file"},
      {part("", "") + end, 400, "holds no file"},
      {part("a", "1") + "--B\r\nno field\r\n\r\n", 400, "malformed"},
      {part("a", "1") + "--B x\r\n", 400, "malformed"},
      {part("..", "x") + end, 400, "not a file name"},
      {part("h2_tmp_1_2", "x") + end, 400, "not a file name"},
      {part("dir/h2_tmp_", "x") + end, 400, "not a file name"},
      {part("a", "1") + part("h2_tmp_1_2", "x") + end, 400, "not a file name"},
      {part("a", "1") + part("a", "2") + end, 409, "a is sent twice"},
      {part("a", "1") + part("x/a", "2") + end, 409, "a is sent twice"},
      {part("a", "1") + part("a", "2") + end, 409, "a is sent twice", {{"a", "old"}}, true},
      {part("a", "1") + end, 409, "a exists already", {{"a", "old"}}},
      {part("new", "1") + part("a", "2") + end, 409, "a exists already", {{"a", "old"}}},
      {part("d", "1") + end, 409, "d is a directory", {{"d/inside", "x"}}},
      {part("d", "1") + end, 409, "d is a directory", {{"d/inside", "x"}}, true},
  };
  for (const Row& row : rows) {
    const Everyway done = store_every_way(row.body, row.before, {.overwrite = row.overwrite});
    EXPECT_EQ(done.outcome.status, row.status) << row.body;
    EXPECT_NE(done.outcome.body.find(row.text), std::string::npos)
        << row.body << " -> " << done.outcome.body;
    Contents unchanged = row.before;
    if (unchanged.erase("d/inside") == 1) unchanged["d"] = "(a directory)";
    EXPECT_EQ(done.files, unchanged) << row.body;
  }
}

// Names as browsers send them for the files of a chosen folder.
TEST(Uploads, Folders) {
  struct Row {
    std::string body;
    int status;
    std::vector<std::string> files;
    Contents before = {};
  };
  const std::vector<Row> rows = {
      {part("d/a", "1") + part("d/e/b", "2") + part("c", "3") + end, 201, {"c", "d/a", "d/e/b"}},
      {part("d/a", "1") + end, 201, {"d/a", "d/x"}, {{"d/x", "old"}}},
      {part("d/a", "1") + part("d/a", "2") + end, 409, {}},
      {part("d/a", "1") + part("e/a", "2") + end, 201, {"d/a", "e/a"}},
      {part("d/a", "1") + part("d/b", "2") + end, 409, {"d/b"}, {{"d/b", "old"}}},
      {part("d/a", "1") + part("d", "2") + end, 409, {}},
      {part("d", "1") + part("d/a", "2") + end, 409, {}},
      {part("d/a", "1") + part("f/a", "2") + end, 409, {"f"}, {{"f", "a file"}}},
      {part("d/a", "1") + part("../a", "2") + end, 400, {}},
      {part("d/a", "1") + part("d/.git/a", "2") + end, 400, {}},
      {part("d/a", "1"), 400, {}},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory directory;
    for (const auto& [name, content] : row.before) directory.write(name, content);
    const Outcome outcome = store(directory, {row.body}, {.folders = true});
    EXPECT_EQ(outcome.status, row.status) << row.body << outcome.body;
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
      const std::string path = std::filesystem::relative(entry.path(), directory.path());
      if (!entry.is_directory()) {
        found.push_back(path);
      } else {
        EXPECT_FALSE(std::filesystem::is_empty(entry.path())) << path << " is left";
      }
    }
    std::ranges::sort(found);
    EXPECT_EQ(found, row.files) << row.body;
    for (const auto& [name, content] : row.before) EXPECT_EQ(directory.read(name), content);
  }
}

TEST(Uploads, DigestsOfTheForm) {
  const std::string body = part("a", "1") + end;
  content::Sha256 digest;
  digest.update(body);
  const std::string good = http::digest_field(digest.finish());
  const std::string bad = http::digest_field(content::Sha256().finish());
  const std::vector<std::pair<std::string, int>> rows = {
      {good, 201}, {bad, 400}, {"sha-256=1", 400}, {"md5=:AA==:", 201}};
  for (const auto& [value, status] : rows) {
    for (const std::string_view name : {"content-digest", "repr-digest"}) {
      const TemporaryDirectory directory;
      tests::Asked asked;
      asked.head.fields.add("content-type", "multipart/form-data; boundary=B");
      asked.head.fields.add(name, value);
      FakeBody source(bytes_of(body));
      Request request(asked.head, asked.params, &source);
      const auto result = tests::run_now(store_uploads(request, directory.path()));
      EXPECT_EQ(result ? 201 : result.error().status(), status) << name << value;
      EXPECT_EQ(directory.names(), status == 201 ? Pieces{"a"} : Pieces{});
    }
  }
}

TEST(Uploads, WhatIsReported) {
  const TemporaryDirectory directory;
  tests::Asked asked;
  asked.head.fields.add("content-type", "multipart/form-data; boundary=B");
  for (const Durability durability :
       {Durability::none, Durability::file, Durability::file_and_directory}) {
    FakeBody source({part("a", "content") + part("b", "") + end});
    Request request(asked.head, asked.params, &source);
    const auto result = tests::run_now(
        store_uploads(request, directory.path(), {.overwrite = true, .durability = durability}));
    ASSERT_TRUE(result && result->size() == 2);
    EXPECT_EQ(result->at(0).sha256,
              "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73");
    EXPECT_EQ(result->at(1).sha256,
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(result->at(0).etag, content::etag_of(directory.fd(), "a"));
    EXPECT_EQ(result->at(0).replaced, durability != Durability::none);
  }
  FakeBody source({part("a", "content") + end});
  Request request(asked.head, asked.params, &source);
  const auto result = tests::run_now(
      store_uploads(request, directory.path(), {.overwrite = true, .sha256 = false}));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->front().sha256, "");
}

// Of two uploads of one name at the same time, the second is refused at its beginning.
TEST(Uploads, TwoOfOneNameAtOnce) {
  const TemporaryDirectory directory;
  Outcome second;
  FakeBody body({part("a", "first"), end});
  body.before_read = [&](std::size_t given) {
    if (given != 1) return;
    FakeBody other({part("b", "1"), part("a", "second"), part("c", "1") + end});
    other.before_read = [](std::size_t read) { EXPECT_LT(read, 2U); };
    second = store(directory.path(), other, {.overwrite = true});
  };
  EXPECT_EQ(store(directory.path(), body).status, 201);
  EXPECT_EQ(second.status, 409);
  EXPECT_NE(second.body.find("a is being uploaded already"), std::string::npos) << second.body;
  EXPECT_EQ(contents(directory), (Contents{{"a", "first"}}));
  EXPECT_EQ(store(directory, {part("a", "third") + end}, {.overwrite = true}).status, 201);
}

TEST(Uploads, ContentTypes) {
  const TemporaryDirectory directory;
  const std::vector<std::pair<std::optional<std::string_view>, int>> rows = {
      {std::nullopt, 415},
      {"", 415},
      {"multipart/form-data", 415},
      {"multipart/form-data; boundary=", 415},
      {"multipart/mixed; boundary=B", 415},
      {"application/x-www-form-urlencoded", 415},
      {"multipart/form-data; boundary=\"B\"", 201},
      {"Multipart/Form-Data; charset=utf-8; Boundary=B", 201},
  };
  for (const auto& [type, status] : rows) {
    FakeBody body({part("a", "1") + end});
    EXPECT_EQ(store(directory.path(), body, {.overwrite = true}, type).status, status)
        << type.value_or("none");
  }
}

TEST(Uploads, WithoutABody) {
  const TemporaryDirectory directory;
  tests::Asked asked;
  asked.head.fields.add("content-type", "multipart/form-data; boundary=B");
  Request request(asked.head, asked.params, nullptr);
  const auto result = tests::run_now(store_uploads(request, directory.path()));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().status(), 400);
}

// The client disconnects at each byte of the body.
TEST(Uploads, BrokenOff) {
  const std::string body = part("a", "some content") + part("b", "more") + end;
  const TemporaryDirectory directory;
  directory.write("old", "old");
  for (std::size_t at = 0; at <= body.size(); ++at) {
    const Outcome outcome =
        store(directory, {body.substr(0, at)}, {}, Error{ECONNRESET, "request body"});
    EXPECT_EQ(outcome.status, 400) << at;
    ASSERT_EQ(contents(directory), (Contents{{"old", "old"}})) << at;
  }
  EXPECT_EQ(store(directory, {body}, {}, Error{ETIMEDOUT, "request body"}).status, 408);
  EXPECT_EQ(contents(directory), (Contents{{"old", "old"}}));
}

TEST(Uploads, WhileTheyArriveTheyHaveTemporaryNames) {
  const TemporaryDirectory directory;
  FakeBody body({part("a", "1"), part("b", "2"), end});
  std::vector<std::size_t> seen;
  body.before_read = [&](std::size_t) {
    const std::vector<std::string> names = directory.names();
    for (const std::string& name : names) EXPECT_TRUE(name.starts_with("h2_tmp_")) << name;
    seen.push_back(names.size());
  };
  EXPECT_EQ(store(directory.path(), body).status, 201);
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2, 2}));
  EXPECT_EQ(directory.names(), (Pieces{"a", "b"}));
}

// Another upload takes the second name while this one arrives. On a conflict, this one leaves
// nothing.
TEST(Uploads, AllOrNoneOnAConflictAtTheEnd) {
  struct Row {
    bool overwrite;
    bool directory;  // a directory takes the name
    int status;
    std::string a;
  };
  const std::vector<Row> rows = {
      {false, false, 409, "-"},
      {false, true, 409, "-"},
      {true, true, 409, "old"},
      {true, false, 201, "new"},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory directory;
    if (row.overwrite) directory.write("a", "old");
    FakeBody body({part("a", "new"), part("b", "new"), part("c", "new") + end});
    body.before_read = [&](std::size_t given) {
      if (given != 3) return;
      if (row.directory) {
        ASSERT_EQ(::mkdirat(directory.fd(), "b", 0755), 0);
      } else {
        directory.write("b", "theirs");
      }
    };
    const Outcome outcome = store(directory.path(), body, {.overwrite = row.overwrite});
    EXPECT_EQ(outcome.status, row.status) << outcome.body;
    EXPECT_EQ(directory.read("a").value_or("-"), row.a);
    EXPECT_EQ(directory.read("c").has_value(), row.status == 201);
    for (const std::string& name : directory.names()) {
      EXPECT_FALSE(name.starts_with("h2_tmp_")) << name;
    }
    if (row.status == 409 && !row.directory) {
      EXPECT_EQ(directory.read("b"), "theirs");
    }
  }
}

TEST(Uploads, TooManyFiles) {
  const TemporaryDirectory directory;
  std::string body;
  for (int i = 0; i < 1000; ++i) body += part("f" + std::to_string(i), "");
  EXPECT_EQ(store(directory, {body + end}).stored.size(), 1000U);
  const Outcome outcome = store(directory, {body, part("one more", "") + end}, {.overwrite = true});
  EXPECT_EQ(outcome.status, 413);
  EXPECT_EQ(directory.names().size(), 1000U);
}

// --- limits -------------------------------------------------------------------------------------

TEST(Uploads, AFormMayHaveAsMuchBesideItsFilesAsAFileMayHave) {
  const std::string rest(content::UploadLimits::form_rest_min - 1000, 'x');
  const std::string too_much(content::UploadLimits::form_rest_min + 1, 'x');
  struct Row {
    std::string body;
    std::uint64_t file_bytes_max;
    int status;
  };
  for (const Row& row :
       {Row{rest + "\r\n" + part("a", "1") + end, 5, 201},
        Row{too_much + "\r\n" + part("a", "1") + end, 5, 413},
        Row{part("a", "1") + end + too_much, 5, 413},
        Row{part("", too_much) + part("a", "1") + end, 5, 413},
        Row{too_much + "\r\n" + part("a", "1") + end, 2 * too_much.size(), 201},
        Row{too_much + "\r\n" + part("a", too_much) + end, 2 * too_much.size(), 201},
        Row{too_much + "\r\n" + part("a", "1") + end, 0, 201}}) {
    const TemporaryDirectory directory;
    const Outcome outcome = store(directory, {row.body}, {.file_bytes_max = row.file_bytes_max});
    EXPECT_EQ(outcome.status, row.status) << row.body.size() << ' ' << row.file_bytes_max;
    EXPECT_EQ(contents(directory).size(), row.status == 201 ? 1U : 0U);
  }
}

TEST(Uploads, Limits) {
  struct Row {
    std::string body;
    UploadOptions options;
    int status;
    Contents before = {};
  };
  const std::vector<Row> rows = {
      // Per file.
      {part("a", "12345") + part("b", "12345") + end, {.file_bytes_max = 5}, 201},
      {part("a", "123456") + end, {.file_bytes_max = 5}, 413},
      {part("a", "1") + part("b", "123456") + end, {.file_bytes_max = 5}, 413},
      {field("a long field of the form") + part("a", "1") + end, {.file_bytes_max = 5}, 201},
      // Per directory.
      {part("a", "12345") + part("b", "12345") + end, {.directory_bytes_max = 10}, 201},
      {part("a", "12345") + part("b", "123456") + end, {.directory_bytes_max = 10}, 413},
      {part("a", "12345") + end, {.directory_bytes_max = 10}, 201, {{"old", "12345"}}},
      {part("a", "123456") + end, {.directory_bytes_max = 10}, 413, {{"old", "12345"}}},
      {part("a", "") + end, {.directory_bytes_max = 10}, 201, {{"old", "1234567890"}}},
      {part("a", "12") + end,
       {.overwrite = true, .directory_bytes_max = 10},
       201,
       {{"a", "12345678"}}},
      // On the disk.
      {part("a", "1") + end, {.reserve_bytes = UINT64_MAX}, 507},
      {part("a", "1") + end, {.reserve_bytes = 0}, 201},
  };
  for (const Row& row : rows) {
    const Everyway done = store_every_way(row.body, row.before, row.options);
    EXPECT_EQ(done.outcome.status, row.status) << row.body << done.outcome.body;
    if (row.status != 201) {
      EXPECT_EQ(done.files, row.before) << row.body;
    }
  }
}

// The body is not read if Content-Length shows that it is too large.
TEST(Uploads, RefusedBeforeTheBody) {
  struct Row {
    UploadOptions options;
    std::uint64_t body_bytes;
    int status;
    bool expects = false;
  };
  const std::vector<Row> rows = {
      {{.directory_bytes_max = 1'000'000}, 1'100'000, 413},
      {{.directory_bytes_max = 10'000}, 20'000, 413, true},
      {{.reserve_bytes = UINT64_MAX}, 1'000'000, 507},
      {{.reserve_bytes = UINT64_MAX}, 100, 507, true},
  };
  for (const Row& row : rows) {
    const TemporaryDirectory directory;
    tests::Asked asked;
    asked.head.fields.add("content-type", "multipart/form-data; boundary=B");
    if (row.expects) asked.head.fields.add("expect", "100-continue");
    asked.head.content_length = row.body_bytes;
    FakeBody body({part("a", "1") + end});
    body.before_read = [](std::size_t) { ADD_FAILURE() << "the body is read"; };
    Request request(asked.head, asked.params, &body);
    const auto result = tests::run_now(store_uploads(request, directory.path(), row.options));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().status(), row.status);
    EXPECT_EQ(contents(directory), Contents{});
  }
}

// Each upload uses the directory that has the name now.
TEST(Uploads, AReplacedDirectory) {
  const TemporaryDirectory around;
  const std::string path = around.path_of("up");
  std::filesystem::create_directory(path);
  FakeBody first({part("a", "1") + end});
  EXPECT_EQ(store(path, first).status, 201);
  std::filesystem::rename(path, around.path_of("old"));
  std::filesystem::create_directory(path);
  FakeBody second({part("b", "1") + end});
  EXPECT_EQ(store(path, second).status, 201);
  EXPECT_EQ(around.read("old/a"), "1");
  EXPECT_EQ(around.read("up/b"), "1");
  EXPECT_EQ(around.read("old/b"), std::nullopt);
}

// --- the server's own trouble -------------------------------------------------------------------

TEST(Uploads, TroubleWithTheDirectoryIsOurs) {
  const TemporaryDirectory around;
  around.write("file", "");
  const std::string body = part("a", "1") + end;
  for (const std::string& path : {around.path_of("gone"), around.path_of("file")}) {
    FakeBody source({body});
    const Outcome outcome = store(path, source);
    EXPECT_EQ(outcome.status, 500) << path;
    EXPECT_EQ(outcome.body.find(around.path()), std::string::npos) << outcome.body;
  }
  const tests::LoweredLimit limit(RLIMIT_NOFILE, tests::descriptors_in_use() + 1);
  EXPECT_EQ(store(around, {body}).status, 503) << "the directory opens, the file does not";
}

TEST(Uploads, LargerThanTheFileSystemTakes) {
  const TemporaryDirectory directory;
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  Outcome outcome;
  {
    const tests::LoweredLimit limit(RLIMIT_FSIZE, 1000);
    outcome = store(directory,
                    {part("a", std::string(600, 'x')), part("b", std::string(1001, 'x')), end});
  }
  ::signal(SIGXFSZ, before);
  EXPECT_EQ(outcome.status, 413) << outcome.body;
  EXPECT_EQ(contents(directory), Contents{});
}

// Runs `use` on a new thread where `directory` is a file system of 64 KiB. Returns false if that
// needs privileges that are missing.
bool on_small_disk(const TemporaryDirectory& directory, const std::function<void()>& use) {
  bool mounted = false;
  std::thread([&] {
    mounted = ::unshare(CLONE_FS | CLONE_NEWNS) == 0 &&
              ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
              ::mount("none", directory.path().c_str(), "tmpfs", 0, "size=64k") == 0;
    if (!mounted) return;
    use();
    ::umount2(directory.path().c_str(), MNT_DETACH);
  }).join();
  return mounted;
}

TEST(Uploads, FullDisk) {
  const TemporaryDirectory directory;
  Outcome outcome;
  std::vector<std::string> left;
  Outcome smaller;
  const bool possible = on_small_disk(directory, [&] {
    outcome = store(directory, {part("a", "small"), part("b", std::string(100'000, 'x')), end});
    left = directory.names();
    smaller = store(directory, {part("c", std::string(50'000, 'x')) + end});
  });
  if (!possible) GTEST_SKIP() << "mounting needs privileges";
  EXPECT_EQ(outcome.status, 507) << outcome.body;
  EXPECT_EQ(left, Pieces{});
  EXPECT_EQ(smaller.status, 201) << "the space is free again";
}

}  // namespace uploads_test
}  // namespace h2server
