#include "spdy/header_block.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/out_of_memory.h"
#include "spdy/dictionary.h"
#include "spdy/frame.h"

namespace h2server::lab::spdy {

namespace {

void add_text(std::string& block, std::string_view text) {
  std::array<char, 4> length;
  write_u32(length.data(), static_cast<std::uint32_t>(text.size()));
  block.append(length.data(), length.size()).append(text);
}

// Takes a text with its length from `rest`. Returns false if it is not whole.
bool take_text(std::string_view& rest, std::string_view& text) {
  if (rest.size() < 4) return false;
  const std::size_t size = read_u32(rest.data());
  if (size > rest.size() - 4) return false;
  text = rest.substr(4, size);
  rest.remove_prefix(4 + size);
  return true;
}

// SPDY, 2.6.10: several values are not empty, and NUL separates them.
void join_values(std::span<const Field> fields, std::string_view name, std::string& joined) {
  joined.clear();
  for (const Field& field : fields) {
    if (field.name != name || field.value.empty()) continue;
    if (!joined.empty()) joined += '\0';
    joined += field.value;
  }
}

bool has_name(std::span<const Field> fields, std::string_view name) noexcept {
  return std::ranges::any_of(fields, [name](const Field& field) { return field.name == name; });
}

const Bytef* bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const Bytef*>(text.data());
}

// zlib does not change its input; its interface only says so if ZLIB_CONST is defined.
void set_input(z_stream& stream, std::string_view text) noexcept {
  stream.next_in = const_cast<Bytef*>(bytes_of(text));
  stream.avail_in = static_cast<uInt>(text.size());
}

constexpr std::size_t step_bytes = 4096;  // by which output grows

// Makes room for more output behind `size` bytes of `text`.
void set_output(z_stream& stream, std::string& text, std::size_t size, std::size_t room) {
  text.resize(size + room);
  stream.next_out = reinterpret_cast<Bytef*>(text.data() + size);
  stream.avail_out = static_cast<uInt>(room);
}

}  // namespace

void write_block(std::span<const Field> fields, std::string& block) {
  thread_local std::string joined;
  std::uint32_t count = 0;
  block.assign(4, '\0');
  for (std::size_t at = 0; at < fields.size(); ++at) {
    const Field& field = fields[at];
    if (has_name(fields.first(at), field.name)) continue;
    ++count;
    add_text(block, field.name);
    if (has_name(fields.subspan(at + 1), field.name)) {
      join_values(fields, field.name, joined);
      add_text(block, joined);
    } else {
      add_text(block, field.value);
    }
  }
  write_u32(block.data(), count);
}

bool read_block(std::string_view block, std::vector<Field>& pairs) {
  pairs.clear();
  if (block.size() < 4) return false;
  const std::size_t count = read_u32(block.data());
  block.remove_prefix(4);
  if (count > block.size() / 8) return false;  // two lengths each
  pairs.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Field pair;
    if (!take_text(block, pair.name) || !take_text(block, pair.value)) return false;
    if (pair.name.empty()) return false;
    pairs.push_back(pair);
  }
  if (!block.empty()) return false;
  thread_local std::vector<std::string_view> names;
  names.clear();
  for (const Field& pair : pairs) names.push_back(pair.name);
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}

// --- zlib -------------------------------------------------------------------------------------

struct Compressor::Stream {
  Stream() {
    // SPDY, 2.6.10.1: a window of 2 KiB holds several blocks. Speed comes before size: blocks after
    // the first refer to it.
    constexpr int window_bits = 11;
    constexpr int memory_level = 1;
    const int made = deflateInit2(&zlib, Z_BEST_SPEED, Z_DEFLATED, window_bits, memory_level,
                                  Z_DEFAULT_STRATEGY);
    if (made != Z_OK) base::out_of_memory();  // the arguments are valid
    const std::string_view text = dictionary();
    const int set = deflateSetDictionary(&zlib, bytes_of(text), static_cast<uInt>(text.size()));
    ASSERT(set == Z_OK);
  }
  Stream(const Stream&) = delete;  // zlib keeps its address
  Stream& operator=(const Stream&) = delete;
  ~Stream() { deflateEnd(&zlib); }

  z_stream zlib{};
};

Compressor::Compressor() = default;
Compressor::~Compressor() = default;

std::string_view Compressor::compress(std::string_view block) {
  thread_local std::string compressed;
  if (stream_ == nullptr) stream_ = std::make_unique<Stream>();
  z_stream& zlib = stream_->zlib;
  set_input(zlib, block);
  std::size_t size = 0;
  do {
    set_output(zlib, compressed, size, step_bytes);
    const int verdict = deflate(&zlib, Z_SYNC_FLUSH);
    ASSERT(verdict == Z_OK || verdict == Z_BUF_ERROR);  // Z_BUF_ERROR: nothing was left to write
    size += step_bytes - zlib.avail_out;
  } while (zlib.avail_out == 0);
  ASSERT(zlib.avail_in == 0);
  return std::string_view(compressed).substr(0, size);
}

struct Decompressor::Stream {
  Stream() {
    if (inflateInit(&zlib) != Z_OK) base::out_of_memory();
  }
  Stream(const Stream&) = delete;  // zlib keeps its address
  Stream& operator=(const Stream&) = delete;
  ~Stream() { inflateEnd(&zlib); }

  z_stream zlib{};
};

Decompressor::Decompressor() = default;
Decompressor::~Decompressor() = default;

Decompressor::Verdict Decompressor::decompress(std::string_view compressed, std::size_t bytes_max,
                                               std::string& block) {
  if (stream_ == nullptr) stream_ = std::make_unique<Stream>();
  z_stream& zlib = stream_->zlib;
  set_input(zlib, compressed);
  std::size_t size = 0;
  for (;;) {
    // One byte more than is allowed shows that there is more.
    const std::size_t room = std::min(step_bytes, bytes_max + 1 - size);
    set_output(zlib, block, size, room);
    int verdict = inflate(&zlib, Z_SYNC_FLUSH);
    if (verdict == Z_NEED_DICT) {
      const std::string_view text = dictionary();
      // Fails if the peer means another dictionary.
      verdict = inflateSetDictionary(&zlib, bytes_of(text), static_cast<uInt>(text.size()));
    }
    if (verdict == Z_MEM_ERROR) base::out_of_memory();
    // Z_STREAM_END: the stream never ends. Z_BUF_ERROR: the input is used up.
    if (verdict != Z_OK && verdict != Z_BUF_ERROR) return Verdict::malformed;
    size += room - zlib.avail_out;
    if (size > bytes_max) return Verdict::too_large;
    if (zlib.avail_in == 0 && zlib.avail_out > 0) break;
  }
  block.resize(size);
  return Verdict::good;
}

}  // namespace h2server::lab::spdy
