// How many bytes an upload adds to its token's quota, and for how long they count.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "content/uploads/access/upload_usage.h"
#include "h2server/request.h"
#include "h2server/response.h"

namespace h2server::content {

// Bytes that are counted for an upload under way, and no longer once it has been refused.
class Charge {
 public:
  Charge(UploadUsage::Counter& used, std::uint64_t bytes) noexcept : used_(used), bytes_(bytes) {}
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  ~Charge() { used_.fetch_sub(bytes_, std::memory_order_relaxed); }

  void keep() noexcept { bytes_ = 0; }

  // Returns false if that would be more than the quota.
  static bool take(UploadUsage::Counter& used, std::uint64_t bytes, std::uint64_t quota) noexcept {
    std::uint64_t before = used.load(std::memory_order_relaxed);
    do {
      if (before > quota || bytes > quota - before) return false;
    } while (!used.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return true;
  }

 private:
  UploadUsage::Counter& used_;
  std::uint64_t bytes_;
};

// Returns what the request adds, or nullopt if it does not say. What is appended to a resumable
// upload was counted when that was created, or is by charge_upload() as soon as its length is
// announced. `resumable` is the path of these.
std::optional<std::uint64_t> added_bytes(const Request& request, std::string_view resumable);

// Attached to a request whose upload failed, if the store has perhaps made the file.
struct MayHaveStored {};

// Returns true if the response says that nothing of the upload is left.
bool left_nothing(const Request& request, std::string_view resumable, const Response& response);

}  // namespace h2server::content
