// Hands one answer to libmicrohttpd. Internal to http/.
#pragma once

#include "http/body_budget.h"
#include "http/handler.h"

struct MHD_Connection;

namespace prefetch::http {

// `body` is what is sent, whatever `response` has; `held` goes once it has been sent or the client is gone.
// False: there is no memory for it.
bool SendAnswer(MHD_Connection* connection, const ServerResponse& response, SharedBody body,
                BodyBudget::Held held);

}  // namespace prefetch::http
