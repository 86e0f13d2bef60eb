#include "content/uploads/stored/resumable_in_store.h"

#include "content/memory_store.h"
#include "content/resumable_support.h"
#include "http/fields/digest_fields.h"

namespace h2server::content {
namespace resumable_in_store_test {

using tests::Asking;
using tests::field_of;
using tests::FieldList;
using tests::MemoryStore;
using Kind = StoreError::Kind;

constexpr std::size_t part_bytes = 128;

std::string text_of(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i * i % 23);
  return text;
}

std::string digest_field_of(const std::string& text) {
  Sha256 digest;
  digest.update(text);
  return http::digest_field(digest.finish());
}

std::vector<std::string> pieces_of(const std::string& text, std::size_t size) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
  return pieces;
}

class ResumableInStoreTest : public tests::ResumableTest {
 protected:
  ResumableInStoreTest() {
    memory_->part_bytes_min = 1;
    start();
  }

  // As another replica, which knows only the store. The locks of a killed one have expired.
  void start() { start(options_); }
  void start(const ResumableStoreOptions& options) {
    for (auto& [key, object] : memory_->objects) {
      if (key.ends_with("/lock")) object.bytes = "killed 1\n";
    }
    serve(resumable_in_store(memory_, options));
  }
  static ResumableStoreOptions small() {
    ResumableStoreOptions options;
    options.sizes.part_bytes = part_bytes;
    options.pending = std::make_shared<PendingPlaces>(10'000, 2'500);
    options.limits.expire_s = 1'000'000'000;  // the times of a MemoryStore are old
    return options;
  }

  std::string create(std::size_t length, const std::string& name = "a.txt") {
    const std::string metadata = name == "b.txt" ? "filename Yi50eHQ=" : "filename YS50eHQ=";
    const Response response = ask(Method::POST, "/uploads",
                                  {.fields = {{"Tus-Resumable", "1.0.0"},
                                              {"Upload-Length", std::to_string(length)},
                                              {"Upload-Metadata", metadata}}});
    EXPECT_EQ(response.status(), 201);
    return field_of(response, "Location");
  }
  Response patch(const std::string& url, std::uint64_t offset, std::vector<std::string> body,
                 FieldList more = {}, std::optional<Error> failure = std::nullopt) {
    FieldList fields = {{"Tus-Resumable", "1.0.0"},
                        {"Upload-Offset", std::to_string(offset)},
                        {"Content-Type", "application/offset+octet-stream"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return ask(Method::PATCH, url,
               {.fields = fields, .body = std::move(body), .failure = failure, .sized = !failure});
  }
  Response head(const std::string& url) {
    return ask(Method::HEAD, url, {.fields = {{"Tus-Resumable", "1.0.0"}}});
  }
  std::uint64_t offset_of(const std::string& url) {
    const Response response = head(url);
    EXPECT_EQ(response.status(), 200);
    return base::parse_decimal(field_of(response, "Upload-Offset")).value_or(UINT64_MAX);
  }
  [[nodiscard]] std::string file(const std::string& name = "a.txt") const {
    const auto found = memory_->objects.find(name);
    return found == memory_->objects.end() ? "-" : found->second.bytes;
  }
  // The names of the objects of uploads, without the ids.
  [[nodiscard]] std::vector<std::string> kept() const {
    std::vector<std::string> names;
    for (const auto& [key, object] : memory_->objects) {
      if (key.starts_with(store_uploads_prefix)) names.push_back(key.substr(key.rfind('/') + 1));
    }
    return names;
  }

  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  ResumableStoreOptions options_ = small();
};

using Names = std::vector<std::string>;

TEST_F(ResumableInStoreTest, StoresUploadsOfAllSizes) {
  for (const std::size_t size : {0, 1, 127, 128, 129, 256, 300, 1000}) {
    for (const std::size_t piece : {1, 50, 128, 1000}) {
      const std::string text = text_of(size);
      memory_->objects.erase("a.txt");
      const std::string url = create(size);
      const Response response = patch(url, 0, pieces_of(text, piece));
      ASSERT_EQ(response.status(), 204) << size << " by " << piece;
      EXPECT_EQ(field_of(response, "Upload-Offset"), std::to_string(size));
      EXPECT_EQ(field_of(head(url), "Repr-Digest"), digest_field_of(text));
      EXPECT_EQ(file(), text) << size << " by " << piece;
      EXPECT_EQ(kept(), Names{"state"});
      EXPECT_TRUE(memory_->begun.empty());
      EXPECT_EQ(offset_of(url), size);
      EXPECT_EQ(ask(Method::DELETE, url, {.fields = {{"Tus-Resumable", "1.0.0"}}}).status(), 204);
      EXPECT_EQ(kept(), Names{});
    }
  }
}

TEST_F(ResumableInStoreTest, NobodyHasAllThatArePending) {
  const auto begin = [this] {
    return ask(Method::POST, "/uploads",
               {.fields = {{"Tus-Resumable", "1.0.0"}, {"Upload-Length", "1"}}});
  };
  options_.pending = std::make_shared<PendingPlaces>(40, 20);
  start();
  std::vector<std::string> urls;
  for (int i = 0; i < 20; ++i) {
    const Response response = begin();
    ASSERT_EQ(response.status(), 201) << i;
    urls.push_back(field_of(response, "Location"));
  }
  EXPECT_EQ(begin().status(), 503);
  // A reload changes nothing.
  start();
  EXPECT_EQ(begin().status(), 503);
  // Stored here, and removed here.
  EXPECT_EQ(patch(urls[3], 0, {"x"}).status(), 204);
  EXPECT_EQ(begin().status(), 201);
  EXPECT_EQ(ask(Method::DELETE, urls[4], {.fields = {{"Tus-Resumable", "1.0.0"}}}).status(), 204);
  EXPECT_EQ(begin().status(), 201);
  EXPECT_EQ(begin().status(), 503);
  // Stored by another replica, and removed there. This one looks at a few each time.
  const auto shared = std::exchange(options_.pending, std::make_shared<PendingPlaces>(20, 20));
  start();
  EXPECT_EQ(patch(urls[17], 0, {"x"}).status(), 204);
  EXPECT_EQ(ask(Method::DELETE, urls[18], {.fields = {{"Tus-Resumable", "1.0.0"}}}).status(), 204);
  options_.pending = shared;
  start();
  int refused = 0;
  for (int begun = 0; begun < 2 && refused < 20;) begin().status() == 201 ? ++begun : ++refused;
  EXPECT_LE(refused, 4);
  EXPECT_EQ(begin().status(), 503);
}

// It may be there; a later look tells.
TEST_F(ResumableInStoreTest, WhatBeginsWithoutAnAnswerIsPending) {
  struct Row {
    Kind kind;
    bool carried_out;
    int next;  // the answer to the next one
  };
  const std::vector<Row> rows = {{Kind::failed, true, 503}, {Kind::late, true, 503},
                                 {Kind::late, false, 201},  {Kind::denied, false, 201},
                                 {Kind::busy, false, 201},  {Kind::stopped, true, 503}};
  const auto begin = [this] {
    return ask(Method::POST, "/uploads",
               {.fields = {{"Tus-Resumable", "1.0.0"}, {"Upload-Length", "1"}}})
        .status();
  };
  for (const Row& row : rows) {
    options_.pending = std::make_shared<PendingPlaces>(1, 1);
    start();
    const auto fault = [&](std::string_view call) {
      const bool meant = call.starts_with("put ") && call.contains("/state");
      return meant ? std::optional(StoreError{.kind = row.kind}) : std::nullopt;
    };
    (row.carried_out ? memory_->loses : memory_->fails) = fault;
    EXPECT_GE(begin(), 500);
    memory_->fails = {};
    memory_->loses = {};
    // A node is away that has the object of the state.
    memory_->fails = [&](std::string_view call) {
      const bool hidden = call.starts_with("get ") && call.ends_with("/state");
      return hidden ? std::optional(StoreError{.kind = Kind::absent}) : std::nullopt;
    };
    EXPECT_EQ(begin(), row.next) << static_cast<int>(row.kind);
    memory_->fails = {};
    memory_->objects.clear();
  }
}

TEST(PendingPlaces, AreOfOnePlaceEach) {
  const auto places = pending_places_of("test/a");
  EXPECT_EQ(pending_places_of("test/a"), places) << "after a reload";
  EXPECT_NE(pending_places_of("test/b"), places);
}

TEST_F(ResumableInStoreTest, GoesOnAtAnotherReplicaAtEveryOffset) {
  const std::string text = text_of(300);
  for (std::size_t first = 0; first <= text.size(); first += 10) {
    memory_->objects.erase("a.txt");
    const std::string url = create(text.size());
    EXPECT_EQ(patch(url, 0, pieces_of(text.substr(0, first), 37)).status(), 204);
    start();
    EXPECT_EQ(offset_of(url), first);
    const Response response = patch(url, first, {text.substr(first)});
    EXPECT_EQ(response.status(), 204) << first;
    EXPECT_EQ(file(), text) << first;
    // The digest, too, goes on.
    EXPECT_EQ(field_of(head(url), "Repr-Digest"), digest_field_of(text)) << first;
  }
}

TEST_F(ResumableInStoreTest, KeepsWhatArrivedOfABodyThatWasCut) {
  const std::string text = text_of(300);
  const std::string url = create(text.size());
  EXPECT_EQ(patch(url, 0, {text.substr(0, 200)}, {}, Error{ECONNRESET, "read"}).status(), 400);
  EXPECT_EQ(kept(), (Names{"state", "tail-00002"}));
  start();
  EXPECT_EQ(offset_of(url), 200U);
  EXPECT_EQ(patch(url, 100, {"x"}).status(), 409);
  EXPECT_EQ(patch(url, 200, {text.substr(200)}).status(), 204);
  EXPECT_EQ(file(), text);
}

TEST_F(ResumableInStoreTest, WhatAListLacksIsLookedFor) {
  const std::string text = text_of(300);
  const std::string url = create(text.size());
  EXPECT_EQ(patch(url, 0, {text.substr(0, 50)}, {}, Error{ECONNRESET, "read"}).status(), 400);
  memory_->unlisted = "tail-";
  start();
  EXPECT_EQ(offset_of(url), 50U);
  EXPECT_EQ(patch(url, 50, {text.substr(50)}).status(), 204);
  EXPECT_EQ(file(), text);
}

// Of an object that is there, since a list names it, a client hears no 404.
TEST_F(ResumableInStoreTest, WhatAListNamesIsNotAbsent) {
  const std::string text = text_of(300);
  for (const std::string hidden : {"/state", "/tail-00001"}) {
    const std::string url = create(text.size());
    EXPECT_EQ(patch(url, 0, {text.substr(0, 50)}, {}, Error{ECONNRESET, "read"}).status(), 400);
    memory_->fails = [&](std::string_view call) {
      const bool fails = call.starts_with("get ") && call.ends_with(hidden);
      return fails ? std::optional(StoreError{.kind = Kind::absent}) : std::nullopt;
    };
    start();
    const Response response = patch(url, 50, {text.substr(50)});
    EXPECT_EQ(response.status(), 503) << hidden;
    EXPECT_EQ(field_of(response, "Retry-After"), "1");
    memory_->fails = {};
    EXPECT_EQ(patch(url, 50, {text.substr(50)}).status(), 204) << hidden;
    EXPECT_EQ(file(), text);
    memory_->objects.erase("a.txt");
  }
}

// Tails say that there are parts which the store does not show.
TEST_F(ResumableInStoreTest, PartsThatTailsProveAreNotMissing) {
  const std::string text = text_of(400);
  const std::string url = create(text.size());
  EXPECT_EQ(patch(url, 0, {text.substr(0, 256)}).status(), 204);
  EXPECT_EQ(kept(), (Names{"state", "tail-00003"}));
  auto& parts = memory_->begun.begin()->second.parts;
  const MemoryStore::Part second = parts.at(2);
  parts.erase(2);
  start();
  EXPECT_EQ(head(url).status(), 503);
  parts[2] = second;
  EXPECT_EQ(offset_of(url), 256U);
  memory_->fails = [](std::string_view call) {
    return call.starts_with("list_parts") ? std::optional(StoreError{.kind = Kind::absent})
                                          : std::nullopt;
  };
  EXPECT_EQ(head(url).status(), 503);
  EXPECT_EQ(patch(url, 0, {text}).status(), 503);
  memory_->fails = {};
  EXPECT_EQ(patch(url, 256, {text.substr(256)}).status(), 204);
  EXPECT_EQ(file(), text);
}

TEST_F(ResumableInStoreTest, ALostDigestDestroysNothing) {
  const std::string text = text_of(400);
  Sha256 digest;
  digest.update(text);
  NewUpload upload{.length = text.size(), .name = "a.txt", .sha256 = digest.finish()};
  const std::shared_ptr<ResumableUploads> uploads = resumable_in_store(memory_, options_);
  auto made = tests::run_now(uploads->create(std::move(upload), false));
  ASSERT_TRUE(made);
  const std::string id = (*made)->id();
  ASSERT_TRUE(tests::run_now((*made)->begin_body(256, false)));
  const std::string_view first = std::string_view(text).substr(0, 256);
  ASSERT_TRUE(tests::run_now((*made)->end_body(first, true, nullptr)));
  made->reset();
  start();
  memory_->objects.erase(tail_key(id, 3));
  EXPECT_EQ(patch("/uploads/" + id, 256, {text.substr(256)}).status(), 503);
  EXPECT_EQ(file(), "-");
  EXPECT_EQ(kept(), (Names{"state", "tail-00004"}));
}

TEST_F(ResumableInStoreTest, FilesHaveTheTypeOfTheirName) {
  for (const std::size_t size : {10, 300}) {
    memory_->objects.erase("a.txt");
    EXPECT_EQ(patch(create(size), 0, {text_of(size)}).status(), 204);
    EXPECT_TRUE(memory_->objects.at("a.txt").info.content_type.starts_with("text/plain")) << size;
  }
}

// The list of an upload that nobody knows may fail, too.
TEST_F(ResumableInStoreTest, WhatCannotBeListedIsNotAbsent) {
  const std::string url = "/uploads/" + std::string(32, 'a');
  EXPECT_EQ(head(url).status(), 404);
  memory_->fails = [](std::string_view call) {
    return call.starts_with("list .h2server/uploads/a") ? std::optional(StoreError{})
                                                        : std::nullopt;
  };
  EXPECT_EQ(head(url).status(), 502);
}

TEST_F(ResumableInStoreTest, OnlyPartsUpToTheFirstThatIsMissingCount) {
  const std::string text = text_of(600);
  const std::string url = create(text.size());
  EXPECT_EQ(patch(url, 0, {text.substr(0, 520)}, {}, Error{ECONNRESET, "read"}).status(), 400);
  EXPECT_EQ(offset_of(url), 520U);
  ASSERT_EQ(memory_->begun.size(), 1U);
  memory_->begun.begin()->second.parts.erase(3);
  start();
  // The bytes of the last tail came when all parts were there.
  EXPECT_EQ(head(url).status(), 503);
  std::erase_if(memory_->objects,
                [](const auto& one) { return one.first.ends_with("tail-00005"); });
  EXPECT_EQ(offset_of(url), 256U);
  EXPECT_EQ(patch(url, 256, {text.substr(256)}).status(), 204);
  EXPECT_EQ(file(), text);
}

// --- failures -----------------------------------------------------------------------------------

// A server that is killed at a call: no later one is made, and of that one, the effect or the
// answer is lost. Another replica must have all that was acknowledged.
TEST_F(ResumableInStoreTest, AKilledServerLosesNothingThatWasAcknowledged) {
  const std::string text = text_of(400);
  for (const bool carried_out : {false, true}) {
    bool survived = false;
    for (std::size_t at = 0; !survived; ++at) {
      memory_->objects.clear();
      memory_->begun.clear();
      const std::string url = create(text.size());
      std::size_t calls = 0;
      memory_->fails = [&](std::string_view) {
        const bool dead = carried_out ? calls > at : calls >= at;
        ++calls;
        return dead ? std::optional(StoreError{}) : std::nullopt;
      };
      memory_->loses = [&](std::string_view) {
        return carried_out && calls == at + 1 ? std::optional(StoreError{}) : std::nullopt;
      };
      std::uint64_t acknowledged = 0;
      for (const std::size_t end : {100, 300, 400}) {
        const std::string body = text.substr(acknowledged, end - acknowledged);
        if (patch(url, acknowledged, pieces_of(body, 50)).status() != 204) break;
        acknowledged = end;
      }
      memory_->fails = {};
      memory_->loses = {};
      survived = calls <= at;
      EXPECT_TRUE(!survived || acknowledged == text.size());
      start();
      const std::uint64_t offset = offset_of(url);
      EXPECT_GE(offset, acknowledged) << at;
      ASSERT_LE(offset, text.size()) << at;
      EXPECT_EQ(patch(url, offset, {text.substr(offset)}).status(), 204) << at;
      EXPECT_EQ(file(), text) << at;
      EXPECT_EQ(field_of(head(url), "Repr-Digest"), digest_field_of(text)) << at;
      // Nobody knows parts whose begin was the last call.
      for (const auto& [part, begun] : memory_->begun) EXPECT_TRUE(begun.parts.empty()) << at;
      EXPECT_TRUE(!survived || at > 30) << at;
      ASSERT_LT(at, 200U);
    }
  }
}

// A server is killed when it makes the file, and the store forgets the parts.
TEST_F(ResumableInStoreTest, AnotherFileOfItsSizeIsNotTheUpload) {
  const std::string text = text_of(2 * part_bytes);
  const std::string url = create(text.size());
  bool dead = false;
  memory_->fails = [&dead](std::string_view call) {
    dead = dead || call.starts_with("complete_parts ");
    return dead ? std::optional(StoreError{}) : std::nullopt;
  };
  EXPECT_EQ(patch(url, 0, {text}).status(), 502);
  memory_->fails = {};
  memory_->begun.clear();
  const std::string other(text.size(), 'o');
  memory_->objects["a.txt"] = {
      .bytes = other,
      .info = {.size = other.size(), .etag = "\"o\"", .modified_s = base::unix_seconds()}};
  start();
  EXPECT_EQ(head(url).status(), 503) << "the store may find the parts again";
  EXPECT_EQ(file(), other);
}

TEST_F(ResumableInStoreTest, EveryErrorAtEveryCallLeavesTheUpload) {
  const std::string text = text_of(400);
  for (const Kind kind : {Kind::absent, Kind::precondition, Kind::denied, Kind::busy, Kind::late,
                          Kind::stopped, Kind::failed}) {
    bool passed = false;
    for (std::size_t from = 0; !passed; ++from) {
      memory_->objects.clear();
      memory_->begun.clear();
      const std::string url = create(text.size());
      std::size_t calls = 0;
      memory_->fails = [&](std::string_view) {
        return calls++ == from ? std::optional(StoreError{.kind = kind}) : std::nullopt;
      };
      const int first = patch(url, 0, pieces_of(text.substr(0, 300), 50)).status();
      const int second = first == 204 ? patch(url, 300, {text.substr(300)}).status() : first;
      memory_->fails = {};
      passed = calls <= from;
      EXPECT_TRUE(!passed || second == 204);
      const std::vector<int> expected = {204, 404, 409, 423, 502, 503, 504};
      EXPECT_TRUE(std::ranges::count(expected, second)) << second << " at " << from;
      start();
      const std::uint64_t offset = offset_of(url);
      EXPECT_GE(offset, first == 204 ? 300U : 0U) << from;
      EXPECT_EQ(patch(url, offset, {text.substr(offset)}).status(), 204) << from;
      EXPECT_EQ(file(), text) << from;
      ASSERT_LT(from, 200U);
    }
  }
}

TEST_F(ResumableInStoreTest, AnOutageIsSaid) {
  const std::vector<std::pair<StoreError, int>> rows = {
      {{.kind = Kind::busy, .retry_after = std::chrono::milliseconds(2500)}, 503},
      {{.kind = Kind::stopped}, 503},
      {{.kind = Kind::late}, 504},
      {{.kind = Kind::denied}, 502},
      {{.kind = Kind::failed}, 502}};
  const std::string url = create(10);
  for (const auto& [error, status] : rows) {
    memory_->failure = error;
    for (const Response& response : {head(url), patch(url, 0, {"x"})}) {
      EXPECT_EQ(response.status(), status);
      EXPECT_EQ(field_of(response, "Retry-After"),
                status == 503 ? (error.retry_after.count() > 0 ? "3" : "1") : "-");
    }
  }
  memory_->failure.reset();
  EXPECT_EQ(patch(url, 0, {text_of(10)}).status(), 204);
}

// --- locks --------------------------------------------------------------------------------------

TEST_F(ResumableInStoreTest, OneRequestSendsIt) {
  const std::string text = text_of(300);
  const std::string url = create(text.size());
  const std::string id = url.substr(url.rfind('/') + 1);
  const std::shared_ptr<ResumableUploads> other = resumable_in_store(memory_, options_);
  Result<FoundUpload, Response> held = tests::run_now(other->find(id));
  ASSERT_TRUE(held && held->open);
  EXPECT_EQ(patch(url, 0, {text}).status(), 423);
  EXPECT_EQ(head(url).status(), 200);
  // When its time has passed, the upload is taken over, and the first can't go on.
  ASSERT_TRUE(tests::run_now(held->open->begin_body(300, false)));
  ASSERT_TRUE(tests::run_now(held->open->append(text.substr(0, 150), nullptr)));
  start();
  const std::uint64_t offset = offset_of(url);
  EXPECT_EQ(offset, part_bytes);
  EXPECT_EQ(patch(url, offset, {text.substr(offset, 100)}).status(), 204);
  Result<BodyEnd, Response> ended = tests::run_now(held->open->end_body("zzz", true, nullptr));
  EXPECT_EQ(offset_of(url), offset + 100);
  EXPECT_EQ(patch(url, offset + 100, {text.substr(offset + 100)}).status(), 204);
  EXPECT_EQ(file(), text);
}

TEST_F(ResumableInStoreTest, OfTwoUploadsOfOneNameOneIsStored) {
  for (const std::size_t size : {10, 300}) {
    memory_->objects.clear();
    const std::string first = create(size);
    const std::string second = create(size);
    const std::string text = text_of(size);
    EXPECT_EQ(patch(first, 0, {text}).status(), 204);
    EXPECT_EQ(patch(second, 0, {std::string(size, 'z')}).status(), 409);
    EXPECT_EQ(file(), text);
    EXPECT_EQ(head(second).status(), 409);  // it stays, and is tried again
    memory_->objects.erase("a.txt");
    EXPECT_EQ(head(second).status(), 200);
    EXPECT_EQ(file(), std::string(size, 'z'));
  }
}

TEST_F(ResumableInStoreTest, ANameThatIsTakenIsRefusedAtOnce) {
  EXPECT_EQ(patch(create(1), 0, {"x"}).status(), 204);
  const Response response = ask(Method::POST, "/uploads",
                                {.fields = {{"Tus-Resumable", "1.0.0"},
                                            {"Upload-Length", "1"},
                                            {"Upload-Metadata", "filename YS50eHQ="}}});
  EXPECT_EQ(response.status(), 409);
}

// --- digests ------------------------------------------------------------------------------------

std::string checksum_of(const std::string& text) {
  const std::string field = digest_field_of(text);  // sha-256=:BASE64:
  return "sha256 " + field.substr(9, field.size() - 10);
}

TEST_F(ResumableInStoreTest, AChecksumDecidesWhatCounts) {
  options_.sizes.checked_bytes_max = 200;
  start();
  const std::string text = text_of(300);
  const std::string url = create(text.size());
  EXPECT_EQ(
      patch(url, 0, {text.substr(0, 150)}, {{"Upload-Checksum", checksum_of("other")}}).status(),
      460);
  EXPECT_EQ(offset_of(url), 0U);
  EXPECT_TRUE(memory_->begun.empty());
  EXPECT_EQ(patch(url, 0, {text}, {{"Upload-Checksum", checksum_of(text)}}).status(), 413);
  EXPECT_EQ(patch(url, 0, pieces_of(text.substr(0, 150), 40),
                  {{"Upload-Checksum", checksum_of(text.substr(0, 150))}})
                .status(),
            204);
  EXPECT_EQ(offset_of(url), 150U);
  EXPECT_EQ(
      patch(url, 150, {text.substr(150)}, {{"Upload-Checksum", checksum_of(text.substr(150))}})
          .status(),
      204);
  EXPECT_EQ(file(), text);
}

TEST_F(ResumableInStoreTest, NothingIsStoredThatIsNotWhatWasDeclared) {
  const std::string text = text_of(300);
  for (const bool digests : {true, false}) {
    options_.uploads.sha256 = digests;
    for (const bool right : {true, false}) {
      for (const std::size_t cut : {50, 128, 200}) {
        memory_->objects.clear();
        start();
        FieldList fields = {{"Upload-Draft-Interop-Version", "8"},
                            {"Upload-Complete", "?0"},
                            {"Content-Disposition", "attachment; filename=a.txt"},
                            {"Repr-Digest", digest_field_of(right ? text : "other")}};
        const Response made =
            ask(Method::POST, "/uploads", {.fields = fields, .body = {text.substr(0, cut)}});
        EXPECT_EQ(made.status(), 201);
        start();
        const std::string url = field_of(made, "Location");
        const Response ended = ask(Method::PATCH, url,
                                   {.fields = {{"Upload-Draft-Interop-Version", "8"},
                                               {"Upload-Complete", "?1"},
                                               {"Upload-Offset", std::to_string(cut)},
                                               {"Content-Type", "application/partial-upload"}},
                                    .body = {text.substr(cut)}});
        EXPECT_EQ(ended.status(), right ? 201 : 400) << cut;
        EXPECT_EQ(file(), right ? text : "-");
        EXPECT_EQ(kept(), right ? Names{"state"} : Names{});
        EXPECT_TRUE(memory_->begun.empty());
      }
    }
  }
}

// --- the end ------------------------------------------------------------------------------------

TEST_F(ResumableInStoreTest, RemovalLeavesNothing) {
  for (const std::size_t size : {0, 100, 300}) {
    const std::string url = create(1000);
    EXPECT_EQ(patch(url, 0, {text_of(size)}).status(), 204);
    EXPECT_EQ(ask(Method::DELETE, url, {.fields = {{"Tus-Resumable", "1.0.0"}}}).status(), 204);
    EXPECT_EQ(kept(), Names{});
    EXPECT_TRUE(memory_->begun.empty());
    EXPECT_EQ(head(url).status(), 404);
  }
}

TEST_F(ResumableInStoreTest, WhatHasExpiredIsSwept) {
  for (const std::size_t size : {0, 100, 300}) {
    EXPECT_EQ(patch(create(1000, "b.txt"), 0, {text_of(size)}).status(), 204);
  }
  EXPECT_EQ(patch(create(10), 0, {text_of(10)}).status(), 204);
  const std::string id(32, 'a');
  memory_->objects[lock_key(id)] = {.bytes = "killed 1\n"};  // before it had a state
  const std::string last = create(10, "b.txt");
  ResumableStoreOptions options = options_;
  options.limits.expire_s = 1;
  options.limits.sweep_ms_min = 60'000;
  for (const auto& [key, object] : memory_->objects) {
    if (key.starts_with(".h2server/sweep")) memory_->objects.at(key).bytes = "killed 1\n";
  }
  memory_->written_s = base::unix_seconds();  // of the locks that a sweep takes
  start(options);
  EXPECT_EQ(head(last).status(), 404);  // a sweep precedes each look
  EXPECT_EQ(kept(), Names{});
  EXPECT_TRUE(memory_->begun.empty());
  EXPECT_EQ(file(), text_of(10));
  // Another replica has nothing to do within a minute.
  start(options);
  memory_->calls.clear();
  EXPECT_EQ(head(last).status(), 404);
  EXPECT_EQ(memory_->calls, (std::vector<std::string>{
                                "get .h2server/sweep-uploads", "get " + state_key(last.substr(9)),
                                "list " + store_upload_prefix(last.substr(9))}));
}

// Its parts are known from its state only.
TEST_F(ResumableInStoreTest, WhoseStateIsNotFoundIsNotSwept) {
  const std::string text = text_of(300);
  const std::string url = create(text.size());
  EXPECT_EQ(patch(url, 0, {text.substr(0, 200)}, {}, Error{ECONNRESET, "read"}).status(), 400);
  ResumableStoreOptions options = options_;
  options.limits.expire_s = 1;
  for (auto& [key, object] : memory_->objects) {
    if (key.starts_with(".h2server/sweep")) object.bytes = "killed 1\n";
  }
  memory_->fails = [](std::string_view call) {
    return call.starts_with("get ") && call.ends_with("/state")
               ? std::optional(StoreError{.kind = Kind::absent})
               : std::nullopt;
  };
  memory_->written_s = base::unix_seconds();
  start(options);
  EXPECT_EQ(head(url).status(), 503);
  EXPECT_EQ(kept(), (Names{"state", "tail-00002"}));
  memory_->fails = {};
  start();
  EXPECT_EQ(patch(url, 200, {text.substr(200)}).status(), 204);
}

TEST_F(ResumableInStoreTest, AnExpiredUploadIsGone) {
  const std::string url = create(10);
  options_.limits.expire_s = 1;
  start();  // whose sweep is not due: the lease of the first is held
  EXPECT_EQ(head(url).status(), 410);
  EXPECT_EQ(patch(url, 0, {"x"}).status(), 410);
}

// A list that lacks what has changed last does not make an upload expire.
TEST_F(ResumableInStoreTest, NothingExpiresByWhatAListLacks) {
  const std::string text = text_of(300);
  ResumableStoreOptions soon = options_;
  soon.limits.expire_s = 60;
  for (const std::string changed : {"state", "tail-00002"}) {
    start();
    const std::string url = create(text.size());
    EXPECT_EQ(patch(url, 0, {text.substr(0, 200)}, {}, Error{ECONNRESET, "read"}).status(), 400);
    for (auto& [key, object] : memory_->objects) {
      object.info.modified_s = key.ends_with(changed) ? base::unix_seconds() : 1;
      if (key.starts_with(".h2server/sweep")) object.bytes = "killed 1\n";
    }
    memory_->unlisted = changed;
    start(soon);
    EXPECT_EQ(offset_of(url), 200U) << changed;
    memory_->unlisted = {};
    EXPECT_EQ(patch(url, 200, {text.substr(200)}).status(), 204);
    EXPECT_EQ(file(), text);
    memory_->objects.clear();
  }
}

TEST_F(ResumableInStoreTest, HasNoConcatenation) {
  const Response options = ask(Method::OPTIONS, "/uploads");
  EXPECT_EQ(field_of(options, "Tus-Extension"),
            "creation,creation-with-upload,creation-defer-length,expiration,checksum,termination");
  const Response response =
      ask(Method::POST, "/uploads",
          {.fields = {
               {"Tus-Resumable", "1.0.0"}, {"Upload-Concat", "partial"}, {"Upload-Length", "1"}}});
  EXPECT_EQ(response.status(), 501);
}

}  // namespace resumable_in_store_test
}  // namespace h2server::content
