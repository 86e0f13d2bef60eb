// ActiveUploads: the requests of this process that send a resumable upload now, so that a later
// request for the same upload can end an earlier one whose client is gone without the server
// knowing (draft-ietf-httpbis-resumable-upload, "Concurrency"). That needs an event loop; without
// one, as for an upload of another process, the later request gets 423.
//
// Any thread. Must outlive its requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "h2server/channel.h"
#include "h2server/delivery.h"
#include "h2server/request.h"
#include "h2server/task.h"

namespace h2server::content {

class ActiveUploads {
  class Entry;

 public:
  // One request, on its thread. Must outlive the PendingUpload, so that requests that wait for its
  // end find that unlocked.
  class Registration {
   public:
    // Call when the request begins.
    Registration(ActiveUploads& uploads, Request& request) noexcept
        : uploads_(uploads), request_(request), number_(++uploads.begun_) {}
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    // Waiting requests go on.
    ~Registration();

    // Call once, when the request has the upload open.
    void enter(const std::string& id);
    // By the order in which requests began.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

   private:
    ActiveUploads& uploads_;
    Request& request_;
    const std::uint64_t number_;
    std::string id_;
    std::shared_ptr<Entry> entry_;  // null before, and without an event loop
  };

  ActiveUploads() = default;
  ActiveUploads(const ActiveUploads&) = delete;
  ActiveUploads& operator=(const ActiveUploads&) = delete;

  // The number of a request that has nothing to abort.
  [[nodiscard]] std::uint64_t next_number() noexcept { return ++begun_; }
  // Aborts the request that sends this upload, if it began before the request with that number, and
  // waits until it has ended. Returns false if there is none such in this process, or if the caller
  // is to stop.
  Task<bool> take_over(std::string id, std::uint64_t number);

 private:
  std::shared_ptr<Entry> find(std::string_view id);

  std::atomic<std::uint64_t> begun_{0};

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries_;  // guarded by mutex_
};

}  // namespace h2server::content
