// A receiver of a body whose bytes go to a store.
#pragma once

#include <string_view>

#include "content/uploads/receive/receive_body.h"

namespace h2server::content {

class StoreReceiver : public BodyReceiver {
 public:
  // Takes the bytes and commits. Whatever is thrown, nothing is left.
  Task<Stored> finish(std::string_view bytes) final;
  // Returns true if it failed and something may be stored nevertheless.
  [[nodiscard]] virtual bool may_have_stored() const = 0;

 protected:
  virtual Task<Stored> commit() = 0;
};

}  // namespace h2server::content
