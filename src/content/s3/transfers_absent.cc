// In place of transfers.cc in a program without libcurl: no transfer begins.
#include "content/s3/transfers.h"

namespace h2server::content::s3 {

bool may_share(const TransferRequest& /*request*/, const TransferLimits& /*limits*/) noexcept {
  return false;
}

class TransferLoop {};
struct TransferState {};

Transfer::~Transfer() { static_cast<void>(loop_); }

Task<TransferArrival> Transfer::answer() {
  TransferArrival none{.outcome = std::unexpected(StoreError())};
  co_return none;
}

Task<std::optional<TransferArrival>> Transfer::answer_within(std::chrono::milliseconds /*time*/) {
  co_return std::nullopt;
}

Task<StoreResult<std::string>> Transfer::read() { co_return std::unexpected(StoreError()); }
std::size_t Transfer::bytes_held() const noexcept { return 0; }

bool Transfers::available() noexcept { return false; }

Transfers::Transfers(TransfersOptions /*options*/) {}

Transfers::~Transfers() = default;

StoreResult<std::unique_ptr<Transfer>> Transfers::begin(TransferRequest /*request*/) {
  return std::unexpected(StoreError{.reason = "this h2server was built without libcurl"});
}

StoreResult<std::unique_ptr<Transfer>> Transfers::begin_beside(const Transfer& /*other*/,
                                                               TransferRequest request) {
  return begin(std::move(request));
}

void Transfers::stop() noexcept {}

}  // namespace h2server::content::s3
