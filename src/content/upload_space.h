// The account of an upload directory: the bytes that its files have, and those that the uploads
// under way may still add, so that two of them do not take the same space.
//
// One for all threads, and for all processes that are forked after it was made: what changes is
// atomic and lies in memory that they share. A process that is killed keeps what it had claimed
// until the server is started again. Everything but giving back may wait for the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "h2server/uploads.h"

namespace h2server::content {

struct UploadSpaceLimits {
  // What a form has beside the content of its files, about: heads of parts, delimiters.
  static constexpr std::uint64_t form_bytes = 8 * 1024;
  // The reserve where none was asked for: enough to log in and clean up, on a small disk a
  // twentieth of it.
  static constexpr std::uint64_t reserve_bytes = 1024 * 1024 * 1024;
  static constexpr std::uint64_t reserve_divisor = 20;
  // Written before the disk is looked at again: others write to it, too.
  static constexpr std::uint64_t unseen_bytes_max = 64 * 1024 * 1024;
  // Claimed before it comes. A client that announces much and sends little must not keep the whole
  // disk from the others.
  static constexpr std::uint64_t ahead_bytes_max = 64 * 1024 * 1024;
  // How often files are counted anew because there seems to be no room for more: somebody may have
  // removed some.
  static constexpr std::int64_t recount_ms_min = 1000;
};

class UploadSpace {
 public:
  enum class Verdict : std::uint8_t { granted, directory_full, disk_full };

  // `directory` is open and outlives this.
  explicit UploadSpace(int directory);
  UploadSpace(const UploadSpace&) = delete;
  UploadSpace& operator=(const UploadSpace&) = delete;
  ~UploadSpace();

  // For `bytes` that are going to be written, where there is room for `needed`, at least as many.
  Verdict claim(std::uint64_t bytes, std::uint64_t needed, const UploadOptions& options);
  // Returns true if the disk has become so full that not even what was granted may be written.
  [[nodiscard]] bool exhausted(const UploadOptions& options) const;
  // Of a claim: `bytes` have been written.
  void wrote(std::uint64_t bytes) noexcept;
  // Gives a claim back, of which `written` were written.
  void give_back(std::uint64_t claimed, std::uint64_t written) noexcept;
  // What was claimed has become files: `written` bytes, in place of `replaced` bytes.
  void keep(std::uint64_t claimed, std::uint64_t written, std::uint64_t replaced) noexcept;

  // Bytes of files and of uploads under way; for tests.
  [[nodiscard]] std::uint64_t claimed() const noexcept { return shared_->claimed; }
  [[nodiscard]] std::uint64_t stored() const noexcept { return shared_->stored; }

 private:
  struct Shared {
    std::atomic<std::uint64_t> stored{0};      // in files that have their names
    std::atomic<std::uint64_t> claimed{0};     // by uploads under way
    std::atomic<std::uint64_t> unwritten{0};   // of claimed
    std::atomic<std::uint64_t> changes{0};     // of stored, other than by counting
    std::atomic<std::int64_t> counted_ms{-1};  // when the files were counted; -1: never
  };

  bool claim_in_directory(std::uint64_t bytes, std::uint64_t needed, std::uint64_t total);
  bool claim_on_disk(std::uint64_t bytes, std::uint64_t needed, const UploadOptions& options);
  void count();

  const int directory_;
  Shared* shared_;
};

// What one request has claimed. Given back when it goes, unless it was kept.
class UploadClaim {
 public:
  UploadClaim(UploadSpace& space, const UploadOptions& options) noexcept
      : space_(space), options_(options) {}
  UploadClaim(const UploadClaim&) = delete;
  UploadClaim& operator=(const UploadClaim&) = delete;
  ~UploadClaim() { space_.give_back(claimed_, written_); }

  // The request's body has that many bytes: there is room for them now, and for the first of them
  // it stays.
  UploadSpace::Verdict expect(std::uint64_t body_bytes);
  // Before `bytes` are written.
  UploadSpace::Verdict cover(std::uint64_t bytes);
  void wrote(std::uint64_t bytes) noexcept;
  void keep(std::uint64_t replaced) noexcept;

 private:
  UploadSpace& space_;
  const UploadOptions& options_;
  std::uint64_t expected_ = 0;  // by the request's Content-Length
  std::uint64_t claimed_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t unseen_ = 0;  // written since the disk was looked at
};

}  // namespace h2server::content
