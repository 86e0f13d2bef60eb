// PutTransfer: sends one file by tus 1.0.0 (https://tus.io/protocols/resumable-upload), or by a
// plain PUT where the server has no tus, and compares the digest that the server computed.
//
// After a failure that may pass, such as a broken line or a server that restarts, it waits, asks
// what the server has, and goes on from there. For one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "app/put/local_file.h"
#include "app/put/put_progress.h"
#include "app/put/put_state.h"
#include "app/put/put_target.h"
#include "app/put/upload_client.h"
#include "h2server/result.h"

namespace h2server::app {

struct PutPolicy {
  unsigned retries = 10;                      // in a row, without a byte of progress
  std::chrono::milliseconds first_wait{500};  // doubles with each, up to `wait_max`
  std::chrono::milliseconds wait_max{30'000};
};

struct PutResult {
  std::string sha256;     // of the local file
  bool verified = false;  // the server computed the same
};

class PutTransfer {
 public:
  // All but the values must outlive it. `interrupted` is asked now and then.
  struct Parts {
    UploadClient& client;
    const PutTarget& target;
    LocalFile& file;
    PutState& state;
    PutProgress& progress;
    std::string name;   // at the server, below the target's folder; may have slashes
    std::string token;  // empty: none
    PutPolicy policy;
    std::function<bool()> interrupted;
  };

  explicit PutTransfer(Parts parts);

  // The error is a line for the user.
  [[nodiscard]] Result<PutResult, std::string> run();

 private:
  enum class Step : std::uint8_t { create, ask, send, plain, verify };
  // The next step; the error is final.
  using Next = Result<Step, std::string>;

  Next take(Step step);
  Next create();
  Next ask();
  Next send();
  Next put();
  Result<PutResult, std::string> verify();

  Result<ClientResponse, ClientFailure> request(ClientRequest request);
  // Waits, and returns `again`; the error once there were too many failures in a row.
  Next retry(Step again, const std::string& reason, std::chrono::seconds at_least = {});
  Next failed(Step again, const ClientFailure& failure);
  Next refused(Step again, const ClientResponse& response);
  void reach(std::uint64_t offset);
  [[nodiscard]] ClientBody body_from(std::uint64_t offset);

  Parts parts_;
  std::string url_;           // of the upload
  std::uint64_t offset_ = 0;  // what the server has
  std::uint64_t best_ = 0;    // the most that it had
  std::size_t creator_ = 0;   // of the target's
  unsigned failures_ = 0;     // in a row
  bool answered_ = false;     // the server has, once
  std::string conflict_;      // why the last request got 409, until the offset is known
  std::string digest_;        // Repr-Digest of the last response that had one
};

// Returns the SHA-256 in a Repr-Digest field (RFC 9530) as 64 hexadecimal digits, or an empty
// string.
std::string sha256_of_field(std::string_view repr_digest);
// Returns the member "sha256" of a JSON object, if it is 64 hexadecimal digits, or an empty string.
std::string sha256_of_json(std::string_view json);

}  // namespace h2server::app
