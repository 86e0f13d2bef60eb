// Transfers: requests to an S3 store and their responses, by libcurl, which stays in transfers.cc
// and transfer_state.*. A program without libcurl has transfers_absent.cc in their place.
//
// Most transfers have a connection each, over HTTP/1.1. Bodies are pulled: what their readers don't
// take stays in the store. Brief requests over https share connections, by HTTP/2 if the store has
// it. Each of the two kinds has a thread, which its first transfer starts.
//
// Bodies of objects don't share connections, for libcurl 7.88 receives up to 32 MiB of a stream
// that is paused, and may stall the other streams of a connection when one is reset. So what shares
// a connection is never paused, and comes to its end when its reader leaves. Large bodies of
// requests don't either: the window of a stream, mostly 64 KiB, slows them down on long ways.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "content/s3/answers.h"
#include "content/s3/credentials.h"
#include "h2server/channel.h"
#include "h2server/result.h"
#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content::s3 {

struct TransferLimits {
  // With a connection each. A body of more than three pieces holds one until its reader is done.
  std::size_t transfers_max = 512;
  // A body takes three pieces of memory between its connection and its reader, and the reader a
  // fourth one. A piece is what wakes the reader once.
  std::size_t piece_bytes = 256 * 1024;
  std::size_t pieces_max = 2;
  std::size_t head_bytes_max = 64 * 1024;  // the names and values of a response's fields
  std::chrono::milliseconds connect_max{2000};
  std::chrono::seconds silence_max{30};  // without a byte, unless the reader is what is slow
  std::size_t shared_body_bytes_max = 64 * 1024;  // of a request that may share a connection
  // How long brief requests use HTTP/1.1 after one has failed over HTTP/2.
  std::chrono::seconds without_http2{60};
  long kept_connections_max = 128;  // without a transfer
};

struct TransfersOptions {
  std::string region = {};   // of the signature
  std::string ca_file = {};  // PEM, whom to trust; empty: whom the system trusts
  // Called on the thread of the transfers, so it may wait for a disk. The error is for the log.
  std::function<Result<CredentialsRef, std::string>()> credentials = {};
  TransferLimits limits = {};
};

struct TransferRequest {
  enum class Method : std::uint8_t { get, head, put, post, remove };

  Method method = Method::get;
  std::string url;  // canonical, see location.h
  // "Name: value". With x-amz-content-sha256, and Content-Type if there may be a body.
  std::vector<std::string> fields = {};
  std::shared_ptr<const std::string> body = {};  // of put and post; null: an empty one
  // The response has at most AnswerLimits::list_bytes_max, and is read at once.
  bool brief = false;
  // What it names was there: an answer that it is not may pass. While a node of MinIO is away, the
  // others do not find all that it has.
  bool expected = false;
};

// Returns true if the request may be one of several on a connection.
bool may_share(const TransferRequest& request, const TransferLimits& limits) noexcept;

struct TransferAnswer {
  AnswerHead head = {};
  std::string error_body = {};  // of a status from 300 on, cut at AnswerLimits::error_bytes_max
};

class TransferLoop;
struct TransferState;

// Of one of two transfers that are awaited together.
struct TransferArrival {
  StoreResult<TransferAnswer> outcome;
  bool beside = false;  // that of the second one
};
using TransferArrivals = Channel<TransferArrival>;

// Of the worker that began it.
class Transfer {
 public:
  using Outcome = StoreResult<TransferAnswer>;

  Transfer(TransferLoop& loop, std::shared_ptr<TransferArrivals> arrivals)
      : loop_(loop), arrivals_(std::move(arrivals)) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();  // cancels it

  // Waits for the head of the response. Called once for each transfer. The outcome has
  // Kind::stopped if the caller's token stops, and Kind::failed if there is no response; another
  // try may have more luck.
  Task<TransferArrival> answer();
  // Returns nullopt if there is no answer within the time; then answer() waits on.
  Task<std::optional<TransferArrival>> answer_within(std::chrono::milliseconds time);
  // Returns the next piece of a body with a status below 300; empty at its end. Called after
  // an answer of this transfer, and not again after an error, which has one of these kinds.
  Task<StoreResult<std::string>> read();
  // Of all pieces, with the one that was read last.
  [[nodiscard]] std::size_t bytes_held() const noexcept;

 private:
  friend class Transfers;
  Task<Result<TransferArrival>> receive();

  TransferLoop& loop_;
  const std::shared_ptr<TransferArrivals> arrivals_;
  std::shared_ptr<TransferState> state_;  // shared with the thread
  std::size_t lent_ = 0;                  // bytes of the piece that the reader has
};

// Any thread.
class Transfers {
 public:
  // Returns false if the program has no libcurl: then begin() fails.
  static bool available() noexcept;

  explicit Transfers(TransfersOptions options);
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers();  // calls stop()

  // On the thread of a worker. Fails with Kind::busy if too many of a kind are under way, and with
  // Kind::stopped after stop(). The result must not outlive this object.
  StoreResult<std::unique_ptr<Transfer>> begin(TransferRequest request);
  // The same beside another one, on another connection: its answer arrives there, too. Once for
  // each.
  StoreResult<std::unique_ptr<Transfer>> begin_beside(const Transfer& other,
                                                      TransferRequest request);
  // Ends all transfers and the threads.
  void stop() noexcept;

 private:
  StoreResult<std::unique_ptr<Transfer>> begin_at(TransferLoop& loop, TransferRequest request,
                                                  std::shared_ptr<TransferArrivals> arrivals,
                                                  bool beside);

  std::unique_ptr<TransferLoop> own_;     // of transfers with a connection each
  std::unique_ptr<TransferLoop> shared_;  // of those that share some
};

}  // namespace h2server::content::s3
