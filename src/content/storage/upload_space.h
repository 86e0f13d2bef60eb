// The account of an upload directory: the bytes of its files, and those that uploads in flight may
// still add, so that two uploads do not use the same space.
//
// Shared by all threads and by all processes forked after its creation: the counters are atomic and
// lie in shared memory. The claims of a killed process last until the server restarts. claim(),
// exhausted(), expect() and cover() may block on the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "h2server/result.h"
#include "h2server/uploads.h"

namespace h2server::content {

struct UploadSpaceLimits {
  // Approximate size of a form without the content of its files: heads of parts, delimiters.
  static constexpr std::uint64_t form_bytes = 8 * 1024;
  // The default reserve: enough to log in and clean up, but at most a twentieth of the disk.
  static constexpr std::uint64_t reserve_bytes = 1024 * 1024 * 1024;
  static constexpr std::uint64_t reserve_divisor = 20;
  // Bytes written before the free space is checked again, since others write to the disk, too.
  static constexpr std::uint64_t unseen_bytes_max = 64 * 1024 * 1024;
  // Bytes claimed in advance. A client that announces much and sends little must not reserve the
  // whole disk.
  static constexpr std::uint64_t ahead_bytes_max = 64 * 1024 * 1024;
  // Minimum time between recounts of the files of a directory that seems full. Files may have been
  // removed.
  static constexpr std::int64_t recount_ms_min = 1000;
  // Depth of folders whose files count. Each needs a descriptor while it is read.
  static constexpr unsigned folder_depth_max = 64;
};

class UploadSpace {
 public:
  enum class Verdict : std::uint8_t { granted, directory_full, disk_full };

  // `directory` is open and must outlive this.
  explicit UploadSpace(int directory);
  UploadSpace(const UploadSpace&) = delete;
  UploadSpace& operator=(const UploadSpace&) = delete;
  ~UploadSpace();

  // Claims `bytes` to be written if there is room for `needed`, which is at least `bytes`.
  Verdict claim(std::uint64_t bytes, std::uint64_t needed, const UploadOptions& options);
  // Returns true if the disk is so full that not even granted bytes may be written.
  [[nodiscard]] bool exhausted(const UploadOptions& options) const;
  // Records that `bytes` of a claim have been written or allocated: the free space shows them.
  void wrote(std::uint64_t bytes) noexcept;
  // Gives back a claim of which `on_disk` bytes were written or allocated.
  void give_back(std::uint64_t claimed, std::uint64_t on_disk) noexcept;
  // Counts `written` bytes of files that took the place of `replaced` bytes.
  void keep(std::uint64_t written, std::uint64_t replaced) noexcept;

  // Has the files counted again when room is asked for next: with folders, or without.
  void forget_count() noexcept { shared_->counted_ms = -1; }

  // For tests.
  [[nodiscard]] std::uint64_t claimed() const noexcept { return shared_->claimed; }
  [[nodiscard]] std::uint64_t stored() const noexcept { return shared_->stored; }

 private:
  struct Shared {
    std::atomic<std::uint64_t> stored{0};      // bytes of committed files
    std::atomic<std::uint64_t> claimed{0};     // by uploads in flight
    std::atomic<std::uint64_t> unwritten{0};   // of claimed
    std::atomic<std::uint64_t> changes{0};     // of stored, except by counting
    std::atomic<std::int64_t> counted_ms{-1};  // when the files were counted; -1: never
  };

  bool claim_in_directory(std::uint64_t bytes, std::uint64_t needed, const UploadOptions& options);
  bool claim_on_disk(std::uint64_t bytes, std::uint64_t needed, const UploadOptions& options);
  static Result<std::uint64_t, int> sum_files(int directory, unsigned depth);
  void count(bool folders);

  const int directory_;
  Shared* shared_;
};

// The claim of one request. Given back on destruction unless kept.
class UploadClaim {
 public:
  UploadClaim(UploadSpace& space, const UploadOptions& options) noexcept
      : space_(space), options_(options) {}
  UploadClaim(const UploadClaim&) = delete;
  UploadClaim& operator=(const UploadClaim&) = delete;
  ~UploadClaim() { space_.give_back(claimed_, on_disk_); }

  // Checks that there is room for a body of `body_bytes`, and claims the first part of them. About
  // `form_bytes` of them are not content.
  UploadSpace::Verdict expect(std::uint64_t body_bytes,
                              std::uint64_t form_bytes = UploadSpaceLimits::form_bytes);
  // Call before writing `bytes`: claims what is missing.
  UploadSpace::Verdict cover(std::uint64_t bytes);
  void wrote(std::uint64_t bytes) noexcept;
  // Call when `bytes` of the file system were allocated for what will be written next.
  void allocated(std::uint64_t bytes) noexcept;
  // Turns the claim into files, which took the place of `replaced` bytes.
  void keep(std::uint64_t replaced) noexcept;

  // Bytes that are claimed and not written yet.
  [[nodiscard]] std::uint64_t ahead() const noexcept { return claimed_ - written_; }

 private:
  void set_on_disk(std::uint64_t bytes) noexcept;

  UploadSpace& space_;
  const UploadOptions& options_;
  std::uint64_t expected_ = 0;  // by the request's Content-Length
  std::uint64_t claimed_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t on_disk_ = 0;  // of claimed_: written or allocated
  std::uint64_t unseen_ = 0;   // written since the disk was checked
};

}  // namespace h2server::content
