// The whole public interface.
#pragma once

#include "h2server/file.h"
#include "h2server/handler.h"
#include "h2server/limits.h"
#include "h2server/message.h"
#include "h2server/options.h"
#include "h2server/request.h"
#include "h2server/response.h"
#include "h2server/server.h"
#include "h2server/task.h"
#include "h2server/uploads.h"
