// Tests the codec against libnghttp2's and against the stories of hpack-test-case.
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "http/h2/hpack/lines.h"

namespace h2server::http::h2::hpack {
namespace interop_test {

using Verdict = Decoder::Verdict;

struct DeleteInflater {
  void operator()(nghttp2_hd_inflater* inflater) const { nghttp2_hd_inflate_del(inflater); }
};
struct DeleteDeflater {
  void operator()(nghttp2_hd_deflater* deflater) const { nghttp2_hd_deflate_del(deflater); }
};
using Inflater = std::unique_ptr<nghttp2_hd_inflater, DeleteInflater>;
using Deflater = std::unique_ptr<nghttp2_hd_deflater, DeleteDeflater>;

Inflater make_inflater() {
  nghttp2_hd_inflater* made = nullptr;
  EXPECT_EQ(nghttp2_hd_inflate_new(&made), 0);
  return Inflater(made);
}

Deflater make_deflater(std::size_t table_bytes_max) {
  nghttp2_hd_deflater* made = nullptr;
  EXPECT_EQ(nghttp2_hd_deflate_new(&made, table_bytes_max), 0);
  return Deflater(made);
}

// Returns false if libnghttp2 refuses the block as malformed.
bool inflate(nghttp2_hd_inflater* inflater, std::string_view block, Lines& lines) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
  const std::uint8_t* const end = at + block.size();
  while (true) {
    nghttp2_nv line;
    int flags = 0;
    const auto left = static_cast<std::size_t>(end - at);
    const ssize_t used = nghttp2_hd_inflate_hd2(inflater, &line, &flags, at, left, 1);
    if (used < 0) return false;
    at += used;
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      lines.emplace_back(std::string(reinterpret_cast<const char*>(line.name), line.namelen),
                         std::string(reinterpret_cast<const char*>(line.value), line.valuelen));
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && at == end) break;
  }
  nghttp2_hd_inflate_end_headers(inflater);
  return true;
}

std::string deflate(nghttp2_hd_deflater* deflater, Lines& lines, Random& random) {
  std::vector<nghttp2_nv> values;
  for (auto& [name, value] : lines) {
    const auto flags = random.below(8) == 0 ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
    values.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                      reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                      static_cast<std::uint8_t>(flags)});
  }
  std::vector<std::uint8_t> out(nghttp2_hd_deflate_bound(deflater, values.data(), values.size()));
  const ssize_t size =
      nghttp2_hd_deflate_hd(deflater, out.data(), out.size(), values.data(), values.size());
  EXPECT_GE(size, 0);
  return {out.begin(), out.begin() + size};
}

// Draws most names and values from small sets, so that lines repeat. Some values are arbitrary
// bytes.
Lines random_lines(Random& random) {
  static const std::vector<std::string> names = {
      ":status", ":method",  ":path",         "server",     "date",  "content-length", "etag",
      "x-a",     "x-b",      "cache-control", "set-cookie", "vary",  "cookie",         "location",
      "accept",  "x-longer", "authorization", "age",        "x-c-d", "accept-encoding"};
  static const std::vector<std::string> values = {
      "200", "304", "GET", "/", "", "gzip, deflate", "no-cache", "text/html; charset=utf-8"};
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  Lines lines;
  const std::size_t count = random.below(20);
  while (lines.size() < count) {
    std::string name = names[random.below(names.size())];
    if (random.below(10) == 0) name = random.text(1 + random.below(40), "abcdefghij-");
    std::string value = values[random.below(values.size())];
    switch (random.below(5)) {
      case 0:
        value = std::to_string(random.below(40));
        break;
      case 1:
        value = random.text(random.below(100), all);
        break;
      case 2:
        value = random.text(random.below(random.below(20) == 0 ? 6000 : 50), "abcdefXYZ-/.0123");
        break;
      default:
        break;
    }
    lines.emplace_back(std::move(name), std::move(value));
  }
  return lines;
}

std::uint32_t random_size(Random& random) {
  return static_cast<std::uint32_t>(random.below(3) == 0   ? random.below(200)
                                    : random.below(2) == 0 ? random.below(5000)
                                                           : 4096);
}

TEST(HpackInterop, Nghttp2ReadsWhatWeWrite) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    Encoder encoder;
    Decoder decoder;
    const Inflater inflater = make_inflater();
    for (int i = 0; i < 300; ++i) {
      if (random.below(20) == 0) {
        for (std::size_t changes = random.below(3) + 1; changes > 0; --changes) {
          const std::uint32_t size = random_size(random);
          encoder.set_table_bytes_max(size);
          ASSERT_EQ(nghttp2_hd_inflate_change_table_size(inflater.get(), size), 0);
        }
      }
      const Lines lines = random_lines(random);
      const std::string block = encode(encoder, lines);
      Lines theirs;
      ASSERT_TRUE(inflate(inflater.get(), block, theirs)) << hex(block);
      ASSERT_EQ(theirs, lines);
      Lines ours;
      ASSERT_EQ(decode(decoder, block, ours), Verdict::end) << hex(block);
      ASSERT_EQ(ours, lines);
    }
  }
}

TEST(HpackInterop, WeReadWhatNghttp2Writes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed + 1000);
    const std::uint32_t limit = seed % 2 == 0 ? 4096 : 65536;
    Decoder decoder(limit);
    const Deflater deflater = make_deflater(limit);
    for (int i = 0; i < 300; ++i) {
      if (random.below(20) == 0) {
        for (std::size_t changes = random.below(3) + 1; changes > 0; --changes) {
          const std::size_t size = std::min(random_size(random) * (limit / 4096), limit);
          ASSERT_EQ(nghttp2_hd_deflate_change_table_size(deflater.get(), size), 0);
        }
      }
      Lines lines = random_lines(random);
      const std::string block = deflate(deflater.get(), lines, random);
      Lines ours;
      ASSERT_EQ(decode(decoder, block, ours), Verdict::end) << hex(block);
      ASSERT_EQ(ours, lines);
    }
  }
}

// Both decoders yield the same lines and the same verdict for damaged blocks.
TEST(HpackInterop, AgreesWithNghttp2AboutWhatIsMalformed) {
  int refused = 0;
  int read = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Random random(seed + 5000);
    Encoder encoder;
    Decoder decoder;
    const Inflater inflater = make_inflater();
    for (int i = 0; i < 5; ++i) {
      std::string block = encode(encoder, random_lines(random));
      if (i > 1 && !block.empty()) {
        const std::size_t place = random.below(block.size());
        block[place] = static_cast<char>(random.below(256));
        if (random.below(4) == 0) block.resize(place);
      }
      Lines ours;
      Lines theirs;
      const bool good = decode(decoder, block, ours) == Verdict::end;
      ASSERT_EQ(good, inflate(inflater.get(), block, theirs)) << hex(block);
      ASSERT_EQ(ours, theirs) << hex(block);
      (good ? read : refused) += 1;
      if (!good) break;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 1000);
}

// --- The stories of hpack-test-case -----------------------------------------------------------

struct Case {
  std::string wire;
  Lines lines;
  std::uint32_t table_bytes_max = 4096;
};

// Reads only the JSON of the stories: skips everything but strings and numbers.
class StoryReader {
 public:
  explicit StoryReader(std::string text) : text_(std::move(text)) {}

  std::vector<Case> read() {
    std::vector<Case> cases;
    std::string key;
    while (next_string(key)) {
      if (key == "cases" || key == "description") {
        if (key == "description") next_string(key);
      } else if (key == "seqno") {
        cases.emplace_back();
      } else if (key == "header_table_size") {
        at_ = text_.find_first_of("0123456789", at_);
        cases.back().table_bytes_max =
            static_cast<std::uint32_t>(std::strtoul(text_.c_str() + at_, nullptr, 10));
      } else if (key == "wire") {
        next_string(key);
        cases.back().wire = unhex(key);
      } else if (key == "headers") {
        read_lines(cases.back().lines);
      }
    }
    return cases;
  }

 private:
  // Reads the next string. Returns false if there is none, or none before ']' if `within_list`.
  bool next_string(std::string& into, bool within_list = false) {
    into.clear();
    at_ = text_.find_first_of(within_list ? "\"]" : "\"", at_);
    if (at_ == std::string::npos || text_[at_++] == ']') return false;
    for (; text_.at(at_) != '"'; ++at_) {
      if (text_[at_] != '\\') {
        into += text_[at_];
      } else if (text_[++at_] == 'u') {
        into += unhex(std::string_view(text_).substr(at_ + 3, 2));  // the stories are Latin-1
        at_ += 4;
      } else {
        into += text_[at_];
      }
    }
    ++at_;
    return true;
  }
  void read_lines(Lines& lines) {
    std::string name;
    std::string value;
    while (next_string(name, true) && next_string(value)) lines.emplace_back(name, value);
  }

  std::string text_;
  std::size_t at_ = 0;
};

TEST(HpackInterop, DecodesTheStories) {
  const std::filesystem::path folder =
      std::filesystem::path(H2SERVER_SOURCE_DIR) / "../shared/corpora/hpack-test-case";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no ../shared/corpora";
  std::size_t blocks = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    StoryReader reader({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
    const std::vector<Case> cases = reader.read();
    ASSERT_FALSE(cases.empty()) << entry.path();
    std::uint32_t table_bytes_max = 0;
    for (const Case& one : cases) {
      table_bytes_max = std::max(table_bytes_max, one.table_bytes_max);
    }
    Decoder decoder(table_bytes_max);
    // Also encodes the same lines and decodes them with a second decoder.
    Encoder encoder;
    Decoder second;
    for (const Case& one : cases) {
      Lines lines;
      ASSERT_EQ(decode(decoder, one.wire, lines), Verdict::end) << entry.path();
      ASSERT_EQ(lines, one.lines) << entry.path();
      ++blocks;
      encoder.set_table_bytes_max(one.table_bytes_max);
      lines.clear();
      ASSERT_EQ(decode(second, encode(encoder, one.lines), lines), Verdict::end) << entry.path();
      ASSERT_EQ(lines, one.lines) << entry.path();
    }
  }
  EXPECT_GT(blocks, 1000U);
}

}  // namespace interop_test
}  // namespace h2server::http::h2::hpack
