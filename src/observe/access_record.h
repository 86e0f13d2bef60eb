// The names of what an AccessRecord says.
#pragma once

#include <string_view>

#include "h2server/access_record.h"

namespace h2server::observe {

// "client_left" and so on; empty for none.
std::string_view name_of(CutOff reason) noexcept;

}  // namespace h2server::observe
