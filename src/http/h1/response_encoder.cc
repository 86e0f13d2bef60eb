#include "http/h1/response_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "base/assert.h"
#include "http/fields/common_fields.h"
#include "http/fields/trailers.h"
#include "http/file_head.h"
#include "http/message.h"

namespace h2server::http::h1 {

namespace {

// Writes into a buffer that must be large enough.
class Writer {
 public:
  explicit Writer(std::span<char> room) noexcept : next_(room.data()), end_(next_ + room.size()) {}

  void text(std::string_view bytes) noexcept {
    ASSERT(static_cast<std::size_t>(end_ - next_) >= bytes.size());
    std::memcpy(next_, bytes.data(), bytes.size());
    next_ += bytes.size();
  }
  void number(std::uint64_t value) noexcept { next_ = std::to_chars(next_, end_, value).ptr; }
  void line(std::string_view name, std::string_view value) noexcept {
    text(name);
    text(": ");
    text(value);
    text("\r\n");
  }
  [[nodiscard]] std::size_t written(std::span<const char> room) const noexcept {
    return static_cast<std::size_t>(next_ - room.data());
  }

 private:
  char* next_;
  char* end_;
};

constexpr std::size_t fixed_bytes_max =
    512;  // the lines that the encoder itself adds, but for common_lines

std::size_t size_bound(const Response& response, const File* file) {
  std::size_t size =
      fixed_bytes_max + common_lines.size() + (file != nullptr ? file->head().h1.size() : 0);
  for (const Response::Line& line : response.fields()) {
    size += line.name.size() + line.value.size() + 4;
  }
  return size;
}

void write_framing(Writer& writer, const Response& response, const EncodeOptions& options) {
  // RFC 9110, 15.3.6: a 205 has no content, but without a length clients wait for some.
  if (response.status() == 205) writer.text("Content-Length: 0\r\n");
  if (!may_have_content(response.status())) return;
  if (const std::optional<std::uint64_t> size = response.size()) {
    writer.text("Content-Length: ");
    writer.number(*size);
    writer.text("\r\n");
  } else if (options.version == Version::http_1_1) {
    writer.text("Transfer-Encoding: chunked\r\n");
  }
}

void write_head(Writer& writer, const Response& response, const EncodeOptions& options,
                const File* file) {
  if (file != nullptr) {
    writer.text(file->head().h1);
  } else {
    writer.text("HTTP/1.1 ");
    writer.number(static_cast<std::uint64_t>(response.status()));
    writer.text(" ");
    writer.text(reason_phrase(response.status()));
    writer.text("\r\n");
    writer.text(common_lines);
    write_framing(writer, response, options);
  }
  for (const Response::Line& line : response.fields()) writer.line(line.name, line.value);
  writer.line("Date", options.date);
  if (options.close) {
    writer.text("Connection: close\r\n");
  } else if (options.version == Version::http_1_0) {
    writer.text("Connection: keep-alive\r\n");
  }
  writer.text("\r\n");
}

}  // namespace

void encode_head(base::BufferChain& out, const Response& response, const EncodeOptions& options) {
  const File* const file = response.described_by();
  const std::size_t bound = size_bound(response, file);
  if (bound <= base::BufferChain::block_bytes) {
    constexpr std::size_t most = base::BufferChain::block_bytes;
    const std::span<char> room = out.reserve(bound + std::min(options.following, most - bound));
    Writer writer(room);
    write_head(writer, response, options, file);
    out.commit(writer.written(room));
    return;
  }
  std::string large(bound, '\0');  // a handler added about 64 KiB of fields
  Writer writer(large);
  write_head(writer, response, options, file);
  out.append({large.data(), writer.written(large)});
}

void encode_interim(base::BufferChain& out, int status, std::span<const Field> fields) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_phrase(status));
  for (const Field& field : fields) {
    head.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  out.append(head.append("\r\n"));
}

std::string_view encode_chunk_size(std::size_t size, std::span<char, 24> room) noexcept {
  char* end = std::to_chars(room.data(), room.data() + room.size(), size, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  return {room.data(), static_cast<std::size_t>(end - room.data())};
}

void encode_last_chunk(base::BufferChain& out, std::span<const Field> trailers,
                       base::Arena& arena) {
  std::vector<Field> fields;
  trailer_fields(trailers, arena, fields);
  out.append("0\r\n");
  for (const Field& field : fields) {
    out.append(field.name);
    out.append(": ");
    out.append(field.value);
    out.append("\r\n");
  }
  out.append("\r\n");
}

}  // namespace h2server::http::h1
