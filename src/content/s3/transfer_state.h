// TransferState: what the thread of the transfers and the reader of one transfer share. For
// transfers.cc, whose thread calls its functions.
#pragma once

#include <curl/curl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/memory/memory_budget.h"
#include "content/s3/answers.h"
#include "content/s3/credentials.h"
#include "content/s3/transfers.h"
#include "h2server/channel.h"
#include "h2server/store.h"

namespace h2server::content::s3 {

struct FreeFields {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using Fields = std::unique_ptr<curl_slist, FreeFields>;

struct FreeEasy {
  void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
};
using Easy = std::unique_ptr<CURL, FreeEasy>;

struct TransferState {
  // Where the answer arrives.
  struct Destination {
    std::shared_ptr<TransferArrivals> arrivals;  // with room; null: nowhere any more
    bool beside = false;
  };

  TransferState(TransferLoop& maker, TransferRequest asked, Destination goal,
                const TransferLimits& bounds, bool shares)
      : loop(maker),
        request(std::move(asked)),
        limits(bounds),
        pauses(!shares),
        pieces(pauses ? limits.pieces_max
                      : AnswerLimits::list_bytes_max / limits.piece_bytes + limits.pieces_max),
        destination(std::move(goal)) {}
  TransferState(const TransferState&) = delete;
  TransferState& operator=(const TransferState&) = delete;
  ~TransferState() { give_back(held); }

  // For the thread.
  // Sets the handle up, but for its callbacks.
  void prepare(const Credentials& credentials, const TransfersOptions& options);
  // After prepare(): where the store has it.
  void use_http2(bool on);
  void take_line(std::string_view line);
  void finish_head();
  void answer(Transfer::Outcome result);
  bool take_body(std::string_view bytes);
  bool flush();
  // The reader has left. The transfer comes to its end without it.
  void abandon();
  void take(std::size_t bytes) noexcept {
    held += bytes;
    base::MemoryBudget::of_process().charge(base::MemoryOwner::bodies, bytes);
  }

  // For both.
  void give_back(std::size_t bytes) noexcept {
    held -= bytes;
    base::MemoryBudget::of_process().discharge(base::MemoryOwner::bodies, bytes);
  }

  TransferLoop& loop;
  const TransferRequest request;
  const TransferLimits& limits;
  const bool pauses;                 // while there is no room for a piece; otherwise it overflows
  Channel<std::string> pieces;       // closed at the body's end, also at an early one
  std::atomic<bool> starved{false};  // the reader has to say when there is room for a piece
  std::atomic<std::size_t> held{0};  // bytes of all pieces, counted as memory of bodies
  std::optional<StoreError> broken;  // set before `pieces` are closed, and read afterwards

  // The thread's.
  Destination destination;  // until the answer has arrived
  Easy easy;                // until the transfer has ended
  Fields fields;
  AnswerHead head;
  std::size_t head_bytes = 0;
  bool head_finished = false;
  bool head_too_long = false;
  std::uint64_t expected = 0;    // bytes of the body that are still to come, if that is known
  std::string filling;           // the next piece
  std::size_t filling_held = 0;  // what of `held` it is
  std::string error_body;
  bool paused = false;
  bool abandoned = false;
  bool overflown = false;  // bytes were lost
  bool fresh = false;      // `filling` has bytes of this turn
  std::array<char, CURL_ERROR_SIZE> reason{};
};

using StateRef = std::shared_ptr<TransferState>;

}  // namespace h2server::content::s3
