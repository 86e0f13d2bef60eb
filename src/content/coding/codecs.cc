// The codings by zlib, brotli and zstd. Of their errors only a lack of memory is possible here.
//
// The levels are the last ones before the time grows faster than the ratio. Measured on 500 KB of
// C++ (x86-64, one core), as ratio and MB/s:
//   gzip  4: 3.6, 66     5: 3.8, 46     6: 3.8, 33
//   br    4: 3.8, 58     5: 4.1, 51     6: 4.2, 41     with a window of 2^18; 2^22 gives 0.5 % more
//   zstd  3: 3.7, 250    5: 3.9, 136    6: 4.1, 100    with a window of 2^18; 2^21 gives 1 % more
#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "base/out_of_memory.h"
#include "content/coding/coding.h"

namespace h2server::content {

namespace {

constexpr int gzip_level = 5;
constexpr int brotli_quality = 5;
constexpr int zstd_level = 5;
// 256 KiB: it bounds the memory of a streamed body here and in the client. RFC 9659 allows 8 MiB.
constexpr int window_bits = 18;
// Output is produced in steps of this size.
constexpr std::size_t room_bytes = 16 * 1024;

void require_memory(bool good) {
  if (!good) base::out_of_memory();
}

// Makes the window no larger than the body needs.
int window_for(std::optional<std::uint64_t> size, int least) {
  int bits = least;
  while (bits < window_bits && (!size || (std::uint64_t{1} << bits) < *size)) ++bits;
  return bits;
}

class GzipEncoder final : public Encoder {
 public:
  explicit GzipEncoder(std::optional<std::uint64_t> size) {
    constexpr int gzip_format = 16;
    // 10 bits need 16 KiB for hashes, 15 bits 128 KiB. zlib changes 8 bits, which gzip can't have.
    const int bits = std::min(window_for(size, 10), 15);
    const int memory_level = bits - 7;
    require_memory(::deflateInit2(&stream_, gzip_level, Z_DEFLATED, bits + gzip_format,
                                  memory_level, Z_DEFAULT_STRATEGY) == Z_OK);
  }
  ~GzipEncoder() override { ::deflateEnd(&stream_); }

  void encode(std::string_view bytes, Until until, std::string& out) override {
    constexpr std::size_t part_max = std::numeric_limits<uInt>::max();
    while (bytes.size() > part_max) {
      deflate_part(bytes.substr(0, part_max), Z_NO_FLUSH, out);
      bytes.remove_prefix(part_max);
    }
    deflate_part(bytes, flush_of(until), out);
  }

 private:
  static int flush_of(Until until) {
    switch (until) {
      case Until::later:
        return Z_NO_FLUSH;
      case Until::flush:
        return Z_SYNC_FLUSH;
      case Until::end:
        return Z_FINISH;
    }
    ASSERT(!"an end of a step");
    return Z_NO_FLUSH;
  }

  void deflate_part(std::string_view bytes, int flush, std::string& out) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    // Room that is left means that nothing is left to write. Z_BUF_ERROR: there was nothing to do.
    do {
      const std::size_t before = out.size();
      out.resize(before + room_bytes);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream_.avail_out = room_bytes;
      const int result = ::deflate(&stream_, flush);
      ASSERT(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR);
      out.resize(before + room_bytes - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
};

class BrotliEncoder final : public Encoder {
 public:
  explicit BrotliEncoder(std::optional<std::uint64_t> size)
      : state_(::BrotliEncoderCreateInstance(nullptr, nullptr, nullptr),
               ::BrotliEncoderDestroyInstance) {
    require_memory(state_ != nullptr);
    set(BROTLI_PARAM_QUALITY, brotli_quality);
    set(BROTLI_PARAM_LGWIN, static_cast<std::uint32_t>(window_for(size, BROTLI_MIN_WINDOW_BITS)));
    // It only selects the kind of hash table.
    constexpr std::uint64_t hint_max = 1 << 20;
    set(BROTLI_PARAM_SIZE_HINT, static_cast<std::uint32_t>(std::min(size.value_or(0), hint_max)));
  }

  void encode(std::string_view bytes, Until until, std::string& out) override {
    const auto* next = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::size_t left = bytes.size();
    do {
      std::size_t no_room = 0;
      require_memory(::BrotliEncoderCompressStream(state_.get(), operation_of(until), &left, &next,
                                                   &no_room, nullptr, nullptr) == BROTLI_TRUE);
      std::size_t count = 0;  // 0: as much as there is
      const std::uint8_t* const made = ::BrotliEncoderTakeOutput(state_.get(), &count);
      out.append(reinterpret_cast<const char*>(made), count);
    } while (left > 0 || ::BrotliEncoderHasMoreOutput(state_.get()) == BROTLI_TRUE);
  }

 private:
  static BrotliEncoderOperation operation_of(Until until) {
    switch (until) {
      case Until::later:
        return BROTLI_OPERATION_PROCESS;
      case Until::flush:
        return BROTLI_OPERATION_FLUSH;
      case Until::end:
        return BROTLI_OPERATION_FINISH;
    }
    ASSERT(!"an end of a step");
    return BROTLI_OPERATION_PROCESS;
  }

  void set(BrotliEncoderParameter parameter, std::uint32_t value) {
    const bool good = ::BrotliEncoderSetParameter(state_.get(), parameter, value) == BROTLI_TRUE;
    ASSERT(good);
  }

  std::unique_ptr<BrotliEncoderState, decltype(&::BrotliEncoderDestroyInstance)> state_;
};

class ZstdEncoder final : public Encoder {
 public:
  explicit ZstdEncoder(std::optional<std::uint64_t> size)
      : context_(::ZSTD_createCCtx(), ::ZSTD_freeCCtx) {
    require_memory(context_ != nullptr);
    check(::ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, zstd_level));
    // With a small window the tables are small, too. The size is not pledged, since a source may
    // break its promise.
    check(::ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, window_for(size, 10)));
  }

  void encode(std::string_view bytes, Until until, std::string& out) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    const ZSTD_EndDirective directive = directive_of(until);
    for (bool again = true; again;) {
      const std::size_t before = out.size();
      out.resize(before + room_bytes);
      ZSTD_outBuffer room{out.data() + before, room_bytes, 0};
      const std::size_t left = ::ZSTD_compressStream2(context_.get(), &room, &in, directive);
      check(left);
      out.resize(before + room.pos);
      // Until `later`, zstd may keep bytes for which it has no room; then the input is used up.
      again = directive == ZSTD_e_continue ? in.pos < in.size : left > 0;
    }
  }

 private:
  static ZSTD_EndDirective directive_of(Until until) {
    switch (until) {
      case Until::later:
        return ZSTD_e_continue;
      case Until::flush:
        return ZSTD_e_flush;
      case Until::end:
        return ZSTD_e_end;
    }
    ASSERT(!"an end of a step");
    return ZSTD_e_continue;
  }
  static void check(std::size_t result) { require_memory(!::ZSTD_isError(result)); }

  std::unique_ptr<ZSTD_CCtx, decltype(&::ZSTD_freeCCtx)> context_;
};

}  // namespace

bool has_codings() noexcept { return true; }

std::unique_ptr<Encoder> make_encoder(Coding coding, std::optional<std::uint64_t> size) {
  switch (coding) {
    case Coding::zstd:
      return std::make_unique<ZstdEncoder>(size);
    case Coding::br:
      return std::make_unique<BrotliEncoder>(size);
    case Coding::gzip:
      return std::make_unique<GzipEncoder>(size);
  }
  ASSERT(!"a coding");
  return nullptr;
}

}  // namespace h2server::content
