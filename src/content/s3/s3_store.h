// S3Store: a Store whose objects are in a bucket of S3 or of a store that speaks its protocol.
//
// A request that the store can't answer now is tried again, also one that writes. A body that
// breaks off goes on where it broke off, as long as the object is the same.
//
// A write may be carried out although its response is lost; tried again, it finds its own object in
// the way. So objects have a random number in their metadata, and a write that is refused for what
// exists looks at the one that does. Other writes that are carried out twice do no harm: they
// replace an object or a part by the same one, or begin parts that nobody adds to. Hence a
// complete_parts() for parts that are complete succeeds again as long as the object is theirs.
//
// Requests are signed with the SHA-256 of their body, which all stores verify. Objects are stored
// with their CRC-32C, if the store keeps that of whole objects also for those in parts. A whole
// object is compared with the checksum that the store has of it, while it is read.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "content/s3/credentials.h"
#include "content/s3/location.h"
#include "content/s3/requests.h"
#include "content/s3/transfers.h"
#include "h2server/store.h"
#include "h2server/task.h"

namespace h2server::content::s3 {

struct S3StoreOptions {
  Location location;
  CredentialsOptions credentials = {};
  std::string ca_file = {};  // PEM, whom to trust; empty: whom the system trusts
  RetryLimits retries = {};
  TransferLimits transfers = {};
};

class S3Store final : public Store {
 public:
  explicit S3Store(S3StoreOptions options);

  Task<StoreResult<OpenedObject>> get(std::string key, GetOptions options) override;
  Task<StoreResult<ObjectInfo>> head(std::string key, GetOptions options) override;
  Task<StoreResult<ListPage>> list(ListOptions options) override;

  Task<StoreResult<ObjectInfo>> put(std::string key, std::string bytes,
                                    PutOptions options) override;
  Task<StoreResult<void>> remove(std::string key) override;
  Task<StoreResult<PartsId>> begin_parts(std::string key, PutOptions options) override;
  Task<StoreResult<StoredPart>> put_part(PartsId parts, unsigned number,
                                         std::string bytes) override;
  Task<StoreResult<std::vector<StoredPart>>> list_parts(PartsId parts) override;
  Task<StoreResult<ObjectInfo>> complete_parts(PartsId parts, std::vector<StoredPart> all,
                                               PutOptions options) override;
  Task<StoreResult<ObjectInfo>> find_completed(PartsId parts) override;
  Task<StoreResult<void>> abandon_parts(PartsId parts) override;

  // Ends all that is under way: bodies fail. By one thread.
  void stop() noexcept { requests_.stop(); }

 private:
  using Clock = Requests::Clock;
  class Body;

  // Those with an `end` are not bounded by it, but by their callers.
  Task<StoreResult<ObjectInfo>> put_by(Clock::time_point end, std::string url, std::string bytes,
                                       PutOptions options);
  Task<StoreResult<StoredPart>> put_part_by(Clock::time_point end, std::string url, StoredPart part,
                                            std::string bytes, bool summed);
  Task<StoreResult<std::vector<StoredPart>>> list_parts_by(Clock::time_point end, std::string url,
                                                           std::string upload);
  Task<StoreResult<std::vector<StoredPart>>> list_parts_once(Clock::time_point end, std::string url,
                                                             std::string upload);
  Task<StoreResult<ObjectInfo>> complete_parts_by(Clock::time_point end, std::string url,
                                                  PartsId parts, std::vector<StoredPart> all,
                                                  PutOptions options);
  Task<StoreResult<ObjectInfo>> find_own(Clock::time_point end, std::string url, std::string mark,
                                         StoreError refusal);
  Task<StoreResult<void>> remove_at(std::string url, bool expected);
  Task<StoreResult<WholeAnswer>> put_payload(Clock::time_point end, TransferRequest request,
                                             std::string checksum);
  Task<StoreResult<WholeAnswer>> begin_by(Clock::time_point end, TransferRequest request);

  const Location location_;
  CredentialsSource credentials_;
  Requests requests_;                           // uses `credentials_`
  std::atomic<bool> refuses_checksums_{false};  // the store did, so it is not asked again
};

}  // namespace h2server::content::s3
