#include "content/uploads/stored/store_uploads.h"

#include "base/text/base64.h"
#include "content/memory_store.h"
#include "content/storage/file_digest.h"
#include "content/support.h"
#include "content/uploads/receive/body_files.h"
#include "content/uploads/receive/raw_upload.h"
#include "content/uploads/store_upload_routes.h"
#include "content/uploads/upload_routes.h"
#include "http/fields/digest_fields.h"

namespace h2server::content {
namespace store_uploads_test {

using Kind = StoreError::Kind;
using tests::Asked;
using tests::body_of;
using tests::FakeBody;
using tests::field_of;
using tests::MemoryStore;
using tests::run_now;
using Names = std::vector<std::string>;
using Lines = std::vector<std::pair<std::string, std::string>>;

constexpr std::uint64_t budget_bytes = 100;      // of one client the half
constexpr std::int64_t later_s = 2'000'000'000;  // than all that a MemoryStore writes

std::string sha256_of(std::string_view content) {
  Sha256 digest;
  digest.update(content);
  return hex_digits(digest.finish());
}

std::string sha256_field(std::string_view content) {
  Sha256 digest;
  digest.update(content);
  return http::digest_field(digest.finish());
}

struct File {
  std::string name;
  std::string content;
};

std::string form_of(const std::vector<File>& files) {
  std::string body;
  for (const File& file : files) {
    body += "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"" + file.name +
            "\"\r\n\r\n" + file.content + "\r\n";
  }
  return body + "--b--\r\n";
}

struct Put {
  std::string path;
  std::string content = "content";
  Lines fields = {};
  bool length_known = true;
  std::optional<Error> failure = {};
};

class StoreUploadsTest : public testing::Test {
 protected:
  StoreUploadsTest() { store_->part_bytes_min = 10; }

  Response put(const Put& upload, const UploadOptions& options = {}) {
    FakeBody body({upload.content}, upload.failure);
    const std::string target = "/" + upload.path;
    Asked asked(target);
    asked.head.method = Method::PUT;
    asked.head.authority = "here";
    if (upload.length_known) asked.head.content_length = upload.content.size();
    for (const auto& [name, value] : upload.fields) asked.head.fields.add(name, value);
    return asked.answer(raw_upload(uploads_, {.options = options}), &body);
  }
  int status(const Put& upload, const UploadOptions& options = {}) {
    return put(upload, options).status();
  }

  Response post(const std::string& form, const UploadOptions& options = {}) {
    FakeBody body({form});
    Asked asked("/");
    asked.head.method = Method::POST;
    asked.head.authority = "here";
    asked.head.fields.add("content-type", "multipart/form-data; boundary=b");
    return asked.answer(upload_receiver(uploads_, "/files", options), &body);
  }

  Response get(const std::string& path, const UploadPages& pages = {}) {
    const std::string target = "/" + path;
    Asked asked(target);
    return asked.answer(store_upload_pages(uploads_, pages));
  }

  // The keys of objects that clients see.
  Names names() const {
    Names found;
    for (const auto& [key, object] : store_->objects) {
      if (!key.starts_with(".h2server/")) found.push_back(key);
    }
    return found;
  }
  unsigned notes() const {
    unsigned count = 0;
    for (const auto& [key, object] : store_->objects) count += key.starts_with(journal_prefix);
    return count;
  }
  std::string read(const std::string& key) const {
    const auto found = store_->objects.find(key);
    return found == store_->objects.end() ? "-" : found->second.bytes;
  }
  void expect_nothing_begun() const {
    EXPECT_EQ(store_->begun.size(), 0U);
    EXPECT_EQ(notes(), 0U);
    EXPECT_EQ(budget_->taken(), 0U);
  }
  // Calls of uploads, without those of the sweep.
  Names calls() const {
    Names found;
    for (const std::string& call : store_->calls) {
      const bool sweeps = call.contains(sweep_lease_key) || call.starts_with("list ");
      if (!sweeps) found.push_back(call.substr(0, call.find(journal_prefix)));
    }
    return found;
  }
  void reset() {
    *store_ = MemoryStore();
    store_->part_bytes_min = 10;
  }

  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::shared_ptr<PartBudget> budget_ = std::make_shared<PartBudget>(budget_bytes);
  StoreUploadsRef uploads_ = std::make_shared<StoreUploads>(
      store_, budget_, StoreUploadsOptions{.limits = {.part_bytes = 10, .unbudgeted_bytes = 5}});
};

// --- PUT ----------------------------------------------------------------------------------------

TEST_F(StoreUploadsTest, Created) {
  const Response response = put({"a b.txt"});
  EXPECT_EQ(response.status(), 201);
  EXPECT_EQ(body_of(response), "");
  EXPECT_EQ(field_of(response, "Repr-Digest"), sha256_field("content"));
  EXPECT_EQ(field_of(response, "ETag"), store_->objects.at("a b.txt").info.etag);
  EXPECT_EQ(store_->objects.at("a b.txt").info.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(calls(), Names{"put a b.txt new"});
  expect_nothing_begun();
}

TEST_F(StoreUploadsTest, Bodies) {
  for (const std::size_t size : {0, 1, 5, 6, 9, 10, 11, 19, 20, 21, 50, 99}) {
    for (const bool known : {false, true}) {
      reset();
      std::string content(size, 'x');
      for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>('a' + i % 26);
      const Response response = put({.path = "a", .content = content, .length_known = known});
      EXPECT_EQ(response.status(), 201) << size << body_of(response);
      EXPECT_EQ(read("a"), content);
      EXPECT_EQ(field_of(response, "Repr-Digest"), sha256_field(content));
      expect_nothing_begun();
    }
  }
}

TEST_F(StoreUploadsTest, Parts) {
  EXPECT_EQ(status({"a", std::string(25, 'x')}), 201);
  EXPECT_EQ(calls(), (Names{"begin_parts a", "put ", "put_part a 1", "put_part a 2", "put_part a 3",
                            "complete_parts a new", "remove "}));
}

TEST_F(StoreUploadsTest, Preconditions) {
  struct Row {
    bool exists;
    bool overwrite;
    std::string name;
    std::string value;
    int status;
    std::string call;  // the last one
  };
  const std::vector<Row> rows = {
      {false, false, "", "", 201, "put a new"},
      {true, false, "", "", 409, "put a new"},
      {false, true, "", "", 201, "put a"},
      {true, true, "", "", 204, "put a"},
      {false, false, "if-none-match", "*", 201, "put a new"},
      {false, true, "if-none-match", "*", 201, "put a new"},
      {true, false, "if-none-match", "*", 412, "head a"},
      {true, true, "if-none-match", "*", 412, "head a"},
      {false, true, "if-match", "*", 412, "head a"},
      {false, false, "if-match", "\"m1\"", 412, "head a"},
      {true, false, "if-match", "\"m1\"", 204, "put a if \"m1\""},
      {true, false, "if-match", "\"x\", \"m1\"", 204, "put a if \"m1\""},
      {true, false, "if-match", "*", 204, "put a if \"m1\""},
      {true, false, "if-match", "\"x\"", 412, "head a"},
      {true, true, "if-none-match", "\"x\"", 204, "put a if \"m1\""},
      {true, false, "if-none-match", "\"x\"", 409, "head a"},
      {true, true, "if-unmodified-since", "Sun, 06 Nov 1994 08:49:37 GMT", 412, "head a"},
      {true, true, "if-unmodified-since", "Wed, 01 Jan 2025 00:00:00 GMT", 204, "put a if \"m1\""},
  };
  for (const Row& row : rows) {
    reset();
    if (row.exists) run_now(store_->put("a", "old", {}));
    store_->calls.clear();
    Put upload{"a"};
    if (!row.name.empty()) upload.fields = {{row.name, row.value}};
    EXPECT_EQ(status(upload, {.overwrite = row.overwrite}), row.status) << row.name << row.value;
    EXPECT_EQ(calls().back(), row.call) << row.name << row.value << row.exists;
    EXPECT_EQ(read("a"), row.status < 300 ? "content" : row.exists ? "old" : "-");
    expect_nothing_begun();
  }
}

// Another client stores the name, or changes or removes it, while the body comes.
TEST_F(StoreUploadsTest, Races) {
  struct Row {
    bool exists;
    Lines fields;
    bool removed;  // else written
    int status;
  };
  const std::vector<Row> rows = {{false, {}, false, 409},
                                 {false, {{"if-none-match", "*"}}, false, 412},
                                 {true, {{"if-match", "*"}}, false, 412},
                                 {true, {{"if-match", "*"}}, true, 412}};
  for (const std::size_t size : {7, 25}) {
    for (const Row& row : rows) {
      reset();
      if (row.exists) run_now(store_->put("a", "old", {}));
      store_->fails = [&](std::string_view call) -> std::optional<StoreError> {
        const bool last = call.starts_with("put a") || call.starts_with("complete_parts a");
        if (last && row.removed) store_->objects.erase("a");
        if (last && !row.removed)
          store_->objects["a"] = {.bytes = "theirs", .info = {.etag = "\"t\""}};
        return std::nullopt;
      };
      EXPECT_EQ(status({.path = "a", .content = std::string(size, 'x'), .fields = row.fields}),
                row.status);
      EXPECT_EQ(read("a"), row.removed ? "-" : "theirs");
      expect_nothing_begun();
    }
  }
}

TEST_F(StoreUploadsTest, Refused) {
  const Lines wrong{{"repr-digest", sha256_field("other")}};
  const std::string large(25, 'x');
  struct Row {
    Put upload;
    int status;
    UploadOptions options = {};
  };
  const std::vector<Row> rows = {
      {{.path = "a", .fields = wrong}, 400},
      {{.path = "a", .content = large, .fields = wrong}, 400},
      {{.path = "a", .fields = {{"content-range", "bytes 0-6/9"}}}, 400},
      {{.path = "a", .fields = {{"content-encoding", "gzip"}}}, 415},
      {{.path = "a", .content = large, .failure = Error{ECONNRESET, "test"}}, 400},
      {{.path = "a"}, 413, {.file_bytes_max = 6}},
      {{.path = "a", .content = large, .length_known = false}, 413, {.file_bytes_max = 24}},
      {{.path = "d/a"}, 400},
      {{.path = ".h2server/a"}, 400},
      {{.path = ".h2server/a"}, 400, {.folders = true}},
      {{.path = "d/.h2server/a"}, 400, {.folders = true}},
      {{.path = "a", .fields = {{"sec-fetch-site", "cross-site"}}}, 403},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(status(row.upload, row.options), row.status) << row.upload.path;
    EXPECT_EQ(names(), Names{});
    expect_nothing_begun();
  }
}

TEST_F(StoreUploadsTest, WithoutADigest) {
  EXPECT_EQ(field_of(put({"a"}, {.sha256 = false}), "Repr-Digest"), "-");
  const Put stated{.path = "b", .fields = {{"repr-digest", sha256_field("content")}}};
  EXPECT_EQ(status(stated, {.sha256 = false}), 201);
}

// --- forms --------------------------------------------------------------------------------------

TEST_F(StoreUploadsTest, Form) {
  const std::string large(31, 'x');
  const std::vector<File> files = {{"a", "1"}, {"b", large}, {"c", ""}, {"d", "1234567"}};
  const Response response = post(form_of(files));
  EXPECT_EQ(response.status(), 201) << body_of(response);
  std::string list;
  for (const File& file : files) {
    EXPECT_EQ(read(file.name), file.content);
    list += (list.empty() ? "[" : ",") + ("{\"name\":\"" + file.name) +
            "\",\"size\":" + std::to_string(file.content.size()) + ",\"sha256\":\"" +
            sha256_of(file.content) + "\"}";
  }
  EXPECT_EQ(body_of(response), list + "]\n");
  EXPECT_EQ(field_of(response, "Location"), "-");
  expect_nothing_begun();
}

TEST_F(StoreUploadsTest, FormOfOneFile) {
  const Response response = post(form_of({{"a b", "content"}}));
  EXPECT_EQ(response.status(), 201);
  EXPECT_EQ(field_of(response, "Location"), "/files/a%20b");
  EXPECT_EQ(calls(), (Names{"head a b", "put a b new"}));
}

TEST_F(StoreUploadsTest, FormsRefused) {
  run_now(store_->put("old", "old", {}));
  const std::string large(31, 'x');
  struct Row {
    std::string form;
    int status;
    UploadOptions options = {};
  };
  const std::vector<Row> rows = {
      {form_of({{"a", large}, {"old", "new"}}), 409},
      {form_of({{"a", large}, {"a", "new"}}), 409},
      {form_of({{"a", large}, {"..", "new"}}), 400},
      {form_of({}), 400},
      {form_of({{"a", large}}).substr(0, 90), 400},
      {form_of({{"a", "1"}, {"b", large}}), 413, {.file_bytes_max = 30}},
      {std::string(UploadLimits::form_rest_min + 1, 'x') + "\r\n" + form_of({{"a", "1"}}),
       413,
       {.file_bytes_max = 30}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(post(row.form, row.options).status(), row.status) << row.form;
    EXPECT_EQ(names(), Names{"old"});
    EXPECT_EQ(read("old"), "old");
    expect_nothing_begun();
  }
  EXPECT_EQ(post(form_of({{"old", "new"}}), {.overwrite = true}).status(), 201);
  EXPECT_EQ(read("old"), "new");
}

// --- failures -----------------------------------------------------------------------------------

constexpr Kind kinds[] = {Kind::absent,        Kind::not_modified, Kind::precondition,
                          Kind::unsatisfiable, Kind::denied,       Kind::busy,
                          Kind::late,          Kind::stopped,      Kind::failed};

// Of an upload of which a call fails.
int expected_status(std::string_view call, Kind kind, int conflict = 409) {
  if (call.contains(sweep_lease_key) || call.starts_with("list ")) return 201;
  if (call.starts_with("remove ")) return 201;  // left to a sweep
  if (call.starts_with("head ") && kind == Kind::absent) return 201;
  const bool makes = call.starts_with("complete_parts ") ||
                     (call.starts_with("put ") && !call.contains(journal_prefix));
  if (makes && kind == Kind::precondition) return conflict;
  // It is called again.
  const bool unsure = kind != Kind::absent && kind != Kind::denied;
  if (call.starts_with("complete_parts ") && unsure) return 201;
  if (kind == Kind::busy || kind == Kind::stopped) return 503;
  return kind == Kind::late ? 504 : 502;
}

class Failures : public StoreUploadsTest {
 protected:
  // Makes the `nth` call fail, and all later ones if `lasting`.
  struct Fault {
    std::size_t nth;
    Kind kind;
    bool lasting;
  };

  // Returns the calls of an upload that succeeds.
  template <class Upload>
  Names calls_of(Upload upload) {
    start_again();
    EXPECT_EQ(upload(), 201);
    return store_->calls;
  }

  void start_again() {
    reset();
    uploads_ = std::make_shared<StoreUploads>(
        store_, budget_, StoreUploadsOptions{.limits = {.part_bytes = 10, .unbudgeted_bytes = 5}});
  }

  void set(const Fault& fault) {
    store_->fails = [this, fault](std::string_view) -> std::optional<StoreError> {
      const std::size_t number = store_->calls.size() - 1;
      const bool hit = fault.lasting ? number >= fault.nth : number == fault.nth;
      if (hit) return StoreError{.kind = fault.kind};
      return std::nullopt;
    };
  }

  template <class Upload>
  void check_each(Upload upload, int conflict = 409) {
    const Names all = calls_of(upload);
    for (std::size_t nth = 0; nth < all.size(); ++nth) {
      for (const Kind kind : kinds) {
        start_again();
        set({nth, kind, false});
        const int expected = expected_status(all[nth], kind, conflict);
        EXPECT_EQ(upload(), expected) << all[nth] << static_cast<int>(kind);
        if (expected != 201) {
          EXPECT_EQ(names(), Names{}) << all[nth];
        }
        EXPECT_EQ(store_->begun.size(), 0U) << all[nth];
        EXPECT_EQ(notes(), all[nth].starts_with("remove ") ? 1U : 0U) << all[nth];
        EXPECT_EQ(budget_->taken(), 0U) << all[nth];
      }
    }
  }

  // Once the store is back, a sweep finds what is left.
  template <class Upload>
  void check_lasting(Upload upload) {
    const Names all = calls_of(upload);
    for (std::size_t nth = 0; nth < all.size(); ++nth) {
      // The store has not told the id, or has not taken the note.
      if (all[nth].contains(journal_prefix) && all[nth].starts_with("put ")) continue;
      start_again();
      set({nth, Kind::failed, true});
      const bool made = all[nth].starts_with("remove ");
      EXPECT_EQ(upload(), made ? 201 : 502) << all[nth];
      store_->fails = {};
      const PartsJournal journal(store_, 60);
      EXPECT_TRUE(run_now(journal.abandon_old(later_s))) << all[nth];
      expect_nothing_begun();
    }
  }
};

TEST_F(Failures, OfPut) {
  const auto small = [this] { return status({"a"}); };
  const auto large = [this] {
    return status({"a", std::string(35, 'x'), {{"if-none-match", "*"}}});
  };
  check_each(small);
  check_lasting(small);
  check_each(large, 412);
  check_lasting(large);
}

TEST_F(Failures, OfForm) {
  const auto one = [this] { return post(form_of({{"a", std::string(25, 'x')}})).status(); };
  check_each(one);
  check_lasting(one);
}

// Those that were made are removed again.
TEST_F(Failures, OfTheSecondFile) {
  const std::string form = form_of({{"a", "1"}, {"b", std::string(25, 'x')}, {"c", "3"}});
  const auto upload = [this, &form] { return post(form).status(); };
  const Names all = calls_of(upload);
  for (std::size_t nth = 0; nth < all.size(); ++nth) {
    for (const Kind kind : kinds) {
      start_again();
      set({nth, kind, false});
      const int expected = expected_status(all[nth], kind);
      EXPECT_EQ(upload(), expected) << all[nth] << static_cast<int>(kind);
      if (expected != 201) {
        EXPECT_EQ(names(), Names{}) << all[nth];
      }
      EXPECT_EQ(store_->begun.size(), 0U);
    }
  }
}

// Answers of a call are lost that was carried out.
TEST_F(Failures, LostAnswers) {
  struct Row {
    std::string call;
    int answers;
    int status;
    Names names;
  };
  const std::vector<Row> rows = {{"put_part a 2", 1, 502, {}},
                                 {"put .h2server/parts", 1, 502, {}},
                                 {"complete_parts a", 1, 201, {"a"}}};
  for (const Row& row : rows) {
    start_again();
    store_->loses = [&row, lost = 0](std::string_view call) mutable -> std::optional<StoreError> {
      if (call.starts_with(row.call) && lost++ < row.answers) return StoreError{};
      return std::nullopt;
    };
    EXPECT_EQ(status({"a", std::string(35, 'x')}), row.status) << row.call;
    EXPECT_EQ(names(), row.names) << row.call;
    expect_nothing_begun();
  }
}

// The parts were abandoned, but the answer to that was lost, so that they are absent when it is
// tried again: they have not become an object.
TEST_F(Failures, AbandonedPartsAreNoObject) {
  start_again();
  store_->fails = [](std::string_view call) -> std::optional<StoreError> {
    if (call.starts_with("complete_parts ")) return StoreError{};
    return std::nullopt;
  };
  store_->loses = [](std::string_view call) -> std::optional<StoreError> {
    if (call.starts_with("abandon_parts ")) return StoreError{.kind = Kind::absent};
    return std::nullopt;
  };
  EXPECT_EQ(status({"a", std::string(35, 'x')}), 502);
  EXPECT_EQ(names(), Names{});
  expect_nothing_begun();
}

// --- the sweep ----------------------------------------------------------------------------------

TEST_F(StoreUploadsTest, Sweep) {
  const PartsJournal journal(store_, 60);
  for (const char* const key : {"a", "b\nc"}) {
    const PartsId parts = *run_now(store_->begin_parts(key, {}));
    EXPECT_TRUE(run_now(journal.note(PartsJournal::new_key(), parts)));
  }
  store_->objects[std::string(journal_prefix) + "broken"] = {.bytes = "?",
                                                             .info = {.modified_s = 1}};
  EXPECT_TRUE(run_now(journal.abandon_old(1'700'000'030))) << "those of others are not old";
  EXPECT_EQ(store_->begun.size(), 2U);
  EXPECT_TRUE(run_now(journal.abandon_old(later_s)));
  expect_nothing_begun();
}

TEST_F(StoreUploadsTest, OneServerSweeps) {
  const std::int64_t now_s = base::unix_seconds();
  for (const auto& [left_s, sweeps] : std::vector<std::pair<std::int64_t, bool>>{
           {0, true}, {-1, true}, {30, false}, {60, false}, {3600, true}}) {
    reset();
    const std::string holder = fmt::format("other {}000\n", now_s + left_s);
    run_now(store_->put(std::string(sweep_lease_key), holder, {}));
    PartsJournal journal(store_, 3600);
    store_->calls.clear();
    run_now([](PartsJournal& own) -> Task<bool> {
      co_await own.run_if_due();
      co_await own.run_if_due();  // not yet
      co_return true;
    }(journal));
    EXPECT_EQ(std::ranges::count(store_->calls, "list .h2server/parts/"), sweeps ? 1 : 0) << left_s;
  }
}

// --- pages --------------------------------------------------------------------------------------

TEST_F(StoreUploadsTest, Pages) {
  EXPECT_EQ(status({"page.html", "<p>"}), 201);
  EXPECT_EQ(status({"d/x.txt", "x"}, {.folders = true}), 201);
  const Response file = get("page.html");
  EXPECT_EQ(file.status(), 200);
  EXPECT_EQ(body_of(file), "<p>");
  EXPECT_EQ(field_of(file, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(field_of(file, "Content-Security-Policy"), "sandbox");
  const std::string top = body_of(get("", {.events = false}));
  const std::string main =
      top.substr(top.find("<main"), top.find(">", top.find("<main")) - top.find("<main"));
  EXPECT_TRUE(top.contains("page.html"));
  EXPECT_TRUE(top.contains("data-upload=\"/files\""));
  for (const char* const absent : {"data-resumable", "data-manage", "data-events"}) {
    EXPECT_FALSE(main.contains(absent)) << absent;
  }
  const std::string folder = body_of(get("d/"));
  EXPECT_FALSE(top.contains(".h2server"));
  EXPECT_TRUE(folder.contains("x.txt"));
  EXPECT_FALSE(folder.contains("data-upload=")) << "files of the form are stored in the top folder";
  for (const char* const path : {".h2server/sweep", ".h2server/", "absent", "absent/"}) {
    EXPECT_EQ(get(path).status(), 404) << path;
  }
  reset();
  EXPECT_EQ(get("").status(), 200) << "nothing is there yet";
  EXPECT_EQ(get("page.html", {.list = false}).status(), 404);
}

}  // namespace store_uploads_test
}  // namespace h2server::content
