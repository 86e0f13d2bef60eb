#include "http/outgoing_body.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "file/support.h"

namespace h2server::http {
namespace outgoing_body_test {

constexpr std::size_t inline_max = 1000;

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

std::string text_of(base::BufferChain& chain) {
  std::string all;
  for (; !chain.empty(); chain.consume(chain.front().size())) all += chain.front();
  return all;
}

// Marks the rest of a mapped file as resident in the page cache.
void make_resident(OutgoingBody& body) {
  file::PartSender* const part = body.not_resident();
  if (part != nullptr) part->made_resident({part->not_resident()->first, SIZE_MAX / 2});
}

// Appends the whole body in pieces of at most `bytes_max` and returns the bytes. Returns "error" if
// append() fails, "stalled" if nothing can be appended.
std::string send(OutgoingBody& body, std::size_t bytes_max, const std::string& prefix = "") {
  base::BufferChain out;
  while (!body.finished()) {
    const std::size_t size = body.next_size(bytes_max);
    EXPECT_GT(size, 0U);
    EXPECT_LE(size, bytes_max);
    if (size == 0) return "stalled";
    const bool last = body.ends_after(size);
    const std::size_t before = out.size();
    if (!body.append(out, prefix, size)) {
      EXPECT_EQ(out.size(), before);
      return "error";
    }
    EXPECT_EQ(out.size(), before + prefix.size() + size);
    EXPECT_EQ(body.finished(), last);
  }
  EXPECT_EQ(body.next_size(bytes_max), 0U);
  return text_of(out);
}

// A mapped file on disk that can be truncated and rewritten while it is sent.
class MappedFile {
 public:
  explicit MappedFile(const std::string& content)
      : path_(testing::TempDir() + "outgoing_body_XXXXXX") {
    const base::Fd made(::mkstemp(path_.data()));
    EXPECT_EQ(::write(made.get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    file_ = tests::map_file(path_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() { ::unlink(path_.c_str()); }

  const FileRef& ref() const { return file_; }
  void truncate(std::size_t size) {
    ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(size)), 0);
  }
  // Overwrites in place: keeps the size, changes the modification time.
  void rewrite() {
    const base::Fd target(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(target.get(), "new", 3, 0), 3);
    const timespec later[2] = {{2'000'000'000, 0}, {2'000'000'000, 0}};
    ASSERT_EQ(::futimens(target.get(), later), 0);
  }

 private:
  std::string path_;
  FileRef file_;
};

TEST(OutgoingBody, OfNothingIsFinished) {
  OutgoingBody body;
  EXPECT_TRUE(body.finished());
  Response none(200);
  Response empty(200, "");
  for (Response* const response : {&none, &empty}) {
    body.open(*response, {.inline_bytes_max = inline_max});
    make_resident(body);
    EXPECT_TRUE(body.finished());
    EXPECT_EQ(body.next_size(100), 0U);
  }
}

TEST(OutgoingBody, SendsAString) {
  const std::string text = pattern(10'000);
  Response response(200, text);
  for (const std::size_t bytes_max : {1U, 999U, 10'000U, 20'000U}) {
    OutgoingBody body;
    body.open(response, {.inline_bytes_max = inline_max});
    make_resident(body);
    EXPECT_TRUE(send(body, bytes_max) == text) << bytes_max;
  }
}

TEST(OutgoingBody, SendsEachPieceBehindItsPrefix) {
  Response response(200, "abcdefg");
  OutgoingBody body;
  body.open(response, {.inline_bytes_max = inline_max});
  make_resident(body);
  EXPECT_EQ(send(body, 3, "<9 bytes>"), "<9 bytes>abc<9 bytes>def<9 bytes>g");
  body.clear();
  EXPECT_TRUE(body.finished());
}

TEST(OutgoingBody, SendsAHeldFileOrAPartOfIt) {
  const std::string content = pattern(50'000);
  const FileRef file = tests::text_file(content);
  for (const bool copy : {false, true}) {
    for (const std::size_t bytes_max : {999U, 16'384U, 100'000U}) {
      Response whole(file);
      OutgoingBody body;
      body.open(whole, {.copy = copy, .inline_bytes_max = inline_max});
      make_resident(body);
      EXPECT_TRUE(send(body, bytes_max) == content);
      Response part(206);
      part.set_body(Response::FilePart{file, 1234, 20'000});
      body.open(part, {.copy = copy, .inline_bytes_max = inline_max});
      make_resident(body);
      EXPECT_TRUE(send(body, bytes_max) == content.substr(1234, 20'000));
    }
  }
}

TEST(OutgoingBody, CopiesSmallPiecesAndSharesLargeOnes) {
  const FileRef file = tests::text_file(pattern(5000));
  Response response(file);
  OutgoingBody body;
  body.open(response, {.inline_bytes_max = inline_max});
  make_resident(body);
  base::BufferChain out;
  ASSERT_TRUE(body.append(out, "", body.next_size(inline_max)).has_value());
  EXPECT_NE(out.front().data(), file->content().bytes());
  out.clear();
  ASSERT_TRUE(body.append(out, "", body.next_size(SIZE_MAX)).has_value());
  EXPECT_EQ(out.front().data(), file->content().bytes() + inline_max);
  EXPECT_TRUE(body.finished());
}

TEST(OutgoingBody, ASharedPieceKeepsItsFile) {
  base::BufferChain out;
  {
    Response response(tests::text_file(pattern(5000)));
    OutgoingBody body;
    body.open(response, {.inline_bytes_max = inline_max});
    make_resident(body);
    ASSERT_TRUE(body.append(out, "", body.next_size(SIZE_MAX)).has_value());
  }
  EXPECT_TRUE(text_of(out) == pattern(5000));
}

// Covers sizes around the limits of the last piece and of a block.
TEST(OutgoingBody, SendsAMappedFileOrAPartOfIt) {
  for (const std::size_t size : {1U, 16'383U, 16'384U, 16'385U, 65'500U, 200'000U}) {
    const std::string content = pattern(size);
    const MappedFile file(content);
    for (const bool copy : {false, true}) {
      for (const std::size_t bytes_max : {16'384U, 100'000U, 1'000'000U}) {
        Response whole(file.ref());
        OutgoingBody body;
        body.open(whole, {.copy = copy, .inline_bytes_max = inline_max});
        make_resident(body);
        EXPECT_TRUE(send(body, bytes_max) == content) << size << " " << copy << " " << bytes_max;
        Response part(206);
        part.set_body(Response::FilePart{file.ref(), size / 3, size / 2});
        body.open(part, {.copy = copy, .inline_bytes_max = inline_max});
        make_resident(body);
        EXPECT_TRUE(send(body, bytes_max) == content.substr(size / 3, size / 2));
      }
    }
  }
}

TEST(OutgoingBody, TakesOfAMappingWhatIsResident) {
  constexpr std::size_t first = 256 * 1024;  // then as many as the kernel is asked for at a time
  constexpr std::size_t window = 1024 * 1024;
  const std::string content(first + window + 100'000, 'x');
  const MappedFile file(content);
  Response response(file.ref());
  OutgoingBody body;
  body.open(response, {.inline_bytes_max = inline_max});
  base::BufferChain out;
  std::vector<std::pair<std::uint64_t, std::size_t>> spans;
  while (!body.finished()) {
    EXPECT_EQ(body.next_size(SIZE_MAX), 0U) << "nothing is resident";
    file::PartSender* const part = body.not_resident();
    ASSERT_NE(part, nullptr);
    const file::PartSender::Span span = *part->not_resident();
    spans.emplace_back(span.first, span.count);
    part->made_resident(span);
    EXPECT_EQ(body.not_resident(), nullptr);
    while (const std::size_t size = body.next_size(SIZE_MAX)) {
      ASSERT_TRUE(body.append(out, "", size).has_value());
    }
  }
  const std::vector<std::pair<std::uint64_t, std::size_t>> expected = {
      {0, first}, {first, window}, {first + window, 100'000}};
  EXPECT_EQ(spans, expected);
  EXPECT_EQ(out.size(), content.size());
  EXPECT_EQ(body.not_resident(), nullptr);
}

TEST(OutgoingBody, HandsTheKernelAllButTheLastPieceOfAMapping) {
  const MappedFile file(pattern(100'000));
  Response response(file.ref());
  OutgoingBody body;
  body.open(response, {.inline_bytes_max = inline_max});
  make_resident(body);
  base::BufferChain out;
  ASSERT_TRUE(body.append(out, "", body.next_size(1'000'000)).has_value());
  EXPECT_EQ(out.front().data(), file.ref()->content().bytes());
  EXPECT_FALSE(body.finished());
  out.clear();
  ASSERT_TRUE(body.append(out, "", body.next_size(1'000'000)).has_value());
  EXPECT_TRUE(body.finished());
  const char* const last = out.front().data();
  EXPECT_TRUE(last < file.ref()->content().bytes() ||
              last >= file.ref()->content().bytes() + 100'000);
}

// Pages that the kernel sends from a file may change until the peer has them, so the last piece
// waits.
TEST(OutgoingBody, TellsWhereALargeFileLiesAndSettlesThatBeforeItsEnd) {
  constexpr std::size_t mib = 1024 * 1024;
  const std::string content = pattern(9 * mib);
  MappedFile file(content);
  Response response(file.ref());
  OutgoingBody body;
  body.open(
      response,
      {.inline_bytes_max = inline_max, .by_descriptor = true, .send_file_bytes_min = 8 * mib});
  make_resident(body);
  base::BufferChain out;
  std::string all;
  std::size_t by_file = 0;
  while (!body.finished()) {
    const std::size_t size = body.next_size(mib);
    ASSERT_GT(size, 0U);
    if (body.ends_after(size)) {
      EXPECT_TRUE(body.must_wait(out, size));
      all += text_of(out);
      EXPECT_TRUE(body.must_wait(out, size));
      const std::optional<std::size_t> left = body.to_settle();
      ASSERT_TRUE(left.has_value());
      EXPECT_EQ(*left, all.size() - by_file);
      EXPECT_GT(*left, 3 * mib);
      body.settled();
      EXPECT_FALSE(body.must_wait(out, size));
    } else {
      EXPECT_FALSE(body.to_settle().has_value());
    }
    const bool copied = out.empty() && body.ends_after(size);
    ASSERT_TRUE(body.append(out, "", size).has_value());
    if (const base::FileRange range = out.front_file(); range.size > 0) {
      EXPECT_FALSE(copied);
      EXPECT_EQ(range.descriptor, file.ref()->content().descriptor());
      EXPECT_EQ(range.offset, by_file);
      by_file += range.size;
    }
    all += text_of(out);
  }
  EXPECT_EQ(by_file, 5 * mib);
  EXPECT_TRUE(all == content);
}

TEST(OutgoingBody, TellsNotWhereAFileLiesThatIsSmallOrCopied) {
  constexpr std::size_t mib = 1024 * 1024;
  MappedFile file(pattern(8 * mib));
  Response response(file.ref());
  struct Row {
    bool copy_files;
    std::uint64_t bytes_min;
  };
  for (const Row row : {Row{true, mib}, Row{false, 0}, Row{false, 8 * mib + 1}}) {
    OutgoingBody body;
    body.open(response, {.copy = row.copy_files,
                         .inline_bytes_max = inline_max,
                         .by_descriptor = true,
                         .send_file_bytes_min = row.bytes_min});
    make_resident(body);
    base::BufferChain out;
    ASSERT_TRUE(body.append(out, "", body.next_size(mib)).has_value());
    EXPECT_EQ(out.front_file().size, 0U);
    EXPECT_FALSE(body.to_settle().has_value());
  }
}

// The kernel sends a snapshot from its descriptor, or this process reads it; neither waits.
TEST(OutgoingBody, SendsASnapshotWhole) {
  constexpr std::size_t kib = 1024;
  struct Row {
    std::size_t size;
    bool copy, by_descriptor, named;
  };
  for (const Row row : {Row{64 * kib, false, true, true}, Row{64 * kib - 1, false, true, false},
                        Row{300 * kib, false, true, true}, Row{300 * kib, false, false, false},
                        Row{300 * kib, true, true, false}, Row{300 * kib, true, false, false}}) {
    const std::string content = pattern(row.size);
    MappedFile file(content);
    const FileRef snapshot = tests::snapshot_of(*file.ref());
    file.truncate(1);
    Response response(snapshot);
    OutgoingBody body;
    body.open(
        response,
        {.copy = row.copy, .inline_bytes_max = inline_max, .by_descriptor = row.by_descriptor});
    EXPECT_FALSE(body.is_pulled());
    EXPECT_EQ(body.names_descriptor(), row.named) << row.size;
    base::BufferChain out;
    std::string all;
    while (!body.finished()) {
      const std::size_t size = body.next_size(100 * kib);
      ASSERT_GT(size, 0U);
      EXPECT_FALSE(body.must_wait(out, size));
      EXPECT_FALSE(body.to_settle().has_value());
      ASSERT_TRUE(body.append(out, "", size).has_value());
      const base::FileRange range = out.front_file();
      EXPECT_EQ(range.size, row.named ? size : 0U);
      if (row.named) {
        EXPECT_EQ(range.descriptor, snapshot->content().descriptor());
        EXPECT_EQ(range.offset, all.size());
      }
      all += text_of(out);
    }
    EXPECT_TRUE(all == content) << row.size;
  }
}

TEST(OutgoingBody, CopiesAMappingThatItReadsItself) {
  const MappedFile file(pattern(100'000));
  Response response(file.ref());
  OutgoingBody body;
  body.open(response, {.copy = true, .inline_bytes_max = inline_max});
  make_resident(body);
  base::BufferChain out;
  ASSERT_TRUE(body.append(out, "", body.next_size(1'000'000)).has_value());
  const char* const copy = out.front().data();
  EXPECT_TRUE(copy < file.ref()->content().bytes() ||
              copy >= file.ref()->content().bytes() + 100'000);
}

TEST(OutgoingBody, AFileThatChangesIsAnErrorAndNothingIsAppended) {
  for (const bool copy : {false, true}) {
    for (const bool rewritten : {false, true}) {
      for (const std::size_t before : {0U, 40'000U, 90'000U}) {
        MappedFile file(pattern(100'000));
        Response response(file.ref());
        OutgoingBody body;
        body.open(response, {.copy = copy, .inline_bytes_max = inline_max});
        make_resident(body);
        base::BufferChain out;
        for (std::size_t done = 0; done < before;) {
          const std::size_t size = body.next_size(10'000);
          ASSERT_TRUE(body.append(out, "", size).has_value());
          done += size;
        }
        const std::size_t size = out.size();
        if (rewritten) {
          file.rewrite();
        } else {
          file.truncate(50'000);
        }
        EXPECT_EQ(send(body, 10'000, "<9 bytes>"), "error") << copy << rewritten << before;
        EXPECT_FALSE(body.finished());
        EXPECT_EQ(out.size(), size);
      }
    }
  }
}

// --- streamed ---------------------------------------------------------------------------------

class Nothing final : public BodySource {
  Task<Result<std::string_view>> read() override { co_return std::string_view(); }
};

TEST(OutgoingBody, SendsWhatASourceOffers) {
  Response response(std::make_unique<Nothing>(), "text/plain");
  OutgoingBody body;
  body.open(response, {.inline_bytes_max = inline_max});
  make_resident(body);
  ASSERT_NE(body.source(), nullptr);
  base::BufferChain out;
  for (const char* const piece : {"abcde", "f"}) {
    EXPECT_EQ(body.next_size(100), 0U);
    ASSERT_TRUE(body.offer(piece).has_value());
    while (const std::size_t size = body.next_size(2)) {
      EXPECT_FALSE(body.ends_after(size));
      ASSERT_TRUE(body.append(out, "-", size).has_value());
    }
    EXPECT_FALSE(body.finished());
  }
  ASSERT_TRUE(body.offer("").has_value());
  EXPECT_TRUE(body.finished());
  EXPECT_EQ(text_of(out), "-ab-cd-e-f");
}

TEST(OutgoingBody, HoldsASourceToItsSize) {
  struct Row {
    std::uint64_t size;
    std::vector<std::string> pieces;  // the last offer fails
  };
  const std::vector<Row> rows = {{0, {"a"}},    {3, {""}},         {3, {"ab", ""}},
                                 {3, {"abcd"}}, {3, {"abc", "d"}}, {3, {"ab", "cd"}}};
  for (const Row& row : rows) {
    Response response(std::make_unique<Nothing>(), "text/plain", row.size);
    OutgoingBody body;
    body.open(response, {.inline_bytes_max = inline_max});
    make_resident(body);
    base::BufferChain out;
    for (std::size_t i = 0; i < row.pieces.size(); ++i) {
      const bool good = body.offer(row.pieces[i]).has_value();
      EXPECT_EQ(good, i + 1 < row.pieces.size());
      if (!good) break;
      ASSERT_TRUE(body.append(out, "", body.next_size(100)).has_value());
    }
    EXPECT_FALSE(body.finished());
  }
}

}  // namespace outgoing_body_test
}  // namespace h2server::http
