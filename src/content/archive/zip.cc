#include "content/archive/zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <limits>

#include "base/assert.h"

namespace h2server::content {

namespace {

// APPNOTE.TXT, 4.3 and 4.4.
constexpr std::uint32_t local_header_signature = 0x04034b50;
constexpr std::uint32_t descriptor_signature = 0x08074b50;
constexpr std::uint32_t central_header_signature = 0x02014b50;
constexpr std::uint32_t zip64_end_signature = 0x06064b50;
constexpr std::uint32_t zip64_locator_signature = 0x07064b50;
constexpr std::uint32_t end_signature = 0x06054b50;

constexpr std::uint16_t version = 20;  // directories
constexpr std::uint16_t version_zip64 = 45;
constexpr std::uint16_t made_on_unix = 3 << 8;
constexpr std::uint16_t descriptor_flag = 1 << 3;
constexpr std::uint16_t utf8_flag = 1 << 11;
constexpr std::uint16_t zip64_tag = 0x0001;
constexpr std::uint16_t timestamp_tag = 0x5455;  // Info-ZIP's "UT"
constexpr std::uint8_t timestamp_has_modified = 1;
constexpr std::uint32_t file_mode = 0100644;
constexpr std::uint32_t directory_mode = 040755;
constexpr std::uint32_t dos_directory = 0x10;

// These values stand for "see the field of zip64".
constexpr std::uint16_t in_zip64_16 = 0xffff;
constexpr std::uint32_t in_zip64_32 = 0xffffffff;

constexpr std::size_t central_header_bytes_max = 91;  // without the path: 46, zip64 28 + 8, time 9
constexpr std::size_t path_bytes_max = 0xffff;
// What a growing std::string allocates: 15 bytes, doubled.
constexpr std::size_t zip_block_bytes = 60 * 1024;

template <std::unsigned_integral T>
void put_integer(std::string& out, T value) {
  for (std::size_t byte = 0; byte < sizeof value; ++byte) {
    out += static_cast<char>(value >> (8 * byte) & 0xff);
  }
}

// Appends one after another, each in the size of its type.
template <std::unsigned_integral... T>
void put_all(std::string& out, T... values) {
  (put_integer(out, values), ...);
}

bool needs_zip64(std::uint64_t value) { return value >= in_zip64_32; }

std::uint32_t in_32_bits(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, in_zip64_32));
}

struct DosTime {
  std::uint16_t time;
  std::uint16_t date;
};

// In UTC: the time zone of who unpacks the archive is not known. The extra field is exact.
DosTime dos_time(std::int64_t modified_s) {
  using std::chrono::days;
  using std::chrono::seconds;
  using std::chrono::sys_seconds;
  constexpr sys_seconds first = std::chrono::sys_days(std::chrono::year(1980) / 1 / 1);
  constexpr sys_seconds last = std::chrono::sys_days(std::chrono::year(2108) / 1 / 1) - seconds(2);
  const sys_seconds at = std::clamp(sys_seconds(seconds(modified_s)), first, last);
  const auto day = std::chrono::floor<days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  const auto years = static_cast<unsigned>(static_cast<int>(date.year()) - 1980);
  const auto hours = static_cast<unsigned>(time.hours().count());
  const auto minutes = static_cast<unsigned>(time.minutes().count());
  const auto seconds_of_minute = static_cast<unsigned>(time.seconds().count());
  return {static_cast<std::uint16_t>(hours << 11 | minutes << 5 | seconds_of_minute / 2),
          static_cast<std::uint16_t>(years << 9 | static_cast<unsigned>(date.month()) << 5 |
                                     static_cast<unsigned>(date.day()))};
}

// The field has 32 bits; without it the DOS time counts.
void put_timestamp(std::string& extra, std::int64_t modified_s) {
  if (modified_s < std::numeric_limits<std::int32_t>::min() ||
      modified_s > std::numeric_limits<std::int32_t>::max()) {
    return;
  }
  constexpr std::uint16_t bytes = 5;
  put_all(extra, timestamp_tag, bytes, timestamp_has_modified,
          static_cast<std::uint32_t>(modified_s));
}

std::uint16_t flags_of(std::uint64_t size) {
  // The CRC-32 of no content is 0, so no descriptor is needed.
  return size > 0 ? utf8_flag | descriptor_flag : utf8_flag;
}

std::uint16_t size_16(const std::string& text) { return static_cast<std::uint16_t>(text.size()); }

}  // namespace

Result<void> ZipFraming::check_limits(const ArchiveEntry& entry) const {
  if (entry.path.size() >= path_bytes_max) {
    return std::unexpected(Error{ENAMETOOLONG, "zip: a path is too long"});
  }
  if (entries_ >= limits_.entries_max) {
    return std::unexpected(Error{0, "zip: too many files and folders"});
  }
  if (directory_bytes_ + central_header_bytes_max + entry.path.size() + 1 >
      limits_.directory_bytes_max) {
    return std::unexpected(Error{0, "zip: the paths are too long in all"});
  }
  return {};
}

Result<void> ZipFraming::begin(const ArchiveEntry& entry, std::string& out) {
  Result<void> allowed = check_limits(entry);
  if (!allowed) return allowed;
  const bool directory = entry.kind == ArchiveEntry::Kind::directory;
  ASSERT(!directory || entry.size == 0);
  current_ = {std::string(entry.path), entry.kind, entry.size, entry.modified_s, offset_, 0};
  if (directory) current_.path += '/';

  const bool zip64 = needs_zip64(entry.size);
  std::string extra;
  if (zip64) {
    // The sizes are in the descriptor, which has 8 bytes for each because this field is there
    // (4.3.9.2, 4.4.8).
    put_all(extra, zip64_tag, std::uint16_t{16}, std::uint64_t{0}, std::uint64_t{0});
  }
  put_timestamp(extra, entry.modified_s);
  const DosTime modified = dos_time(entry.modified_s);
  const std::uint32_t size = zip64 ? in_zip64_32 : 0;
  const std::size_t before = out.size();
  put_all(out, local_header_signature, zip64 ? version_zip64 : version, flags_of(entry.size),
          std::uint16_t{0}, modified.time, modified.date, std::uint32_t{0}, size, size,
          size_16(current_.path), size_16(extra));
  out += current_.path;
  out += extra;
  offset_ += out.size() - before;
  return {};
}

void ZipFraming::cover(std::string_view content) {
  const auto* const bytes = reinterpret_cast<const Bytef*>(content.data());
  current_.crc = static_cast<std::uint32_t>(::crc32_z(current_.crc, bytes, content.size()));
}

void ZipFraming::end(std::string& out) {
  offset_ += current_.size;
  if (current_.size > 0) {
    const std::size_t before = out.size();
    put_all(out, descriptor_signature, current_.crc);
    if (needs_zip64(current_.size)) {
      put_all(out, current_.size, current_.size);
    } else {
      put_all(out, in_32_bits(current_.size), in_32_bits(current_.size));
    }
    offset_ += out.size() - before;
  }
  append_central_header();
  ++entries_;
}

void ZipFraming::append_central_header() {
  std::string zip64;  // only the values that stand for it in the header, in this order (4.5.3)
  if (needs_zip64(current_.size)) put_all(zip64, current_.size, current_.size);
  if (needs_zip64(current_.offset)) put_integer(zip64, current_.offset);
  std::string extra;
  if (!zip64.empty()) put_all(extra, zip64_tag, size_16(zip64));
  extra += zip64;
  put_timestamp(extra, current_.modified_s);

  const bool directory = current_.kind == ArchiveEntry::Kind::directory;
  const std::uint32_t attributes =
      directory ? directory_mode << 16 | dos_directory : file_mode << 16;
  const std::uint16_t needed = zip64.empty() ? version : version_zip64;
  const DosTime modified = dos_time(current_.modified_s);
  const std::uint32_t size = in_32_bits(current_.size);
  constexpr std::uint16_t none = 0;  // of a comment, of disks, of internal attributes
  std::string header;
  put_all(header, central_header_signature,
          static_cast<std::uint16_t>(made_on_unix | version_zip64), needed, flags_of(current_.size),
          none, modified.time, modified.date, current_.crc, size, size, size_16(current_.path),
          size_16(extra), none, none, none, attributes, in_32_bits(current_.offset));
  header += current_.path;
  header += extra;
  directory_bytes_ += header.size();
  if (directory_.empty() || directory_.back().size() + header.size() > zip_block_bytes) {
    directory_.emplace_back();
  }
  directory_.back() += header;
}

bool ZipFraming::finish(std::string& out) {
  if (!directory_.empty()) {
    out += directory_.front();
    directory_.pop_front();
    return true;
  }
  append_end(out);
  return false;
}

void ZipFraming::append_end(std::string& out) const {
  if (entries_ >= in_zip64_16 || needs_zip64(directory_bytes_) || needs_zip64(offset_)) {
    constexpr std::uint64_t rest_of_record = 44;  // without the signature and this number
    put_all(out, zip64_end_signature, rest_of_record,
            static_cast<std::uint16_t>(made_on_unix | version_zip64), version_zip64,
            std::uint32_t{0}, std::uint32_t{0}, entries_, entries_, directory_bytes_, offset_);
    put_all(out, zip64_locator_signature, std::uint32_t{0}, offset_ + directory_bytes_,
            std::uint32_t{1});
  }
  const auto entries = static_cast<std::uint16_t>(std::min<std::uint64_t>(entries_, in_zip64_16));
  put_all(out, end_signature, std::uint16_t{0}, std::uint16_t{0}, entries, entries,
          in_32_bits(directory_bytes_), in_32_bits(offset_), std::uint16_t{0});
}

}  // namespace h2server::content
