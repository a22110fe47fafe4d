#include "http/server_loop.h"

#include <microhttpd.h>

#include <utility>

namespace prefetch::http {
namespace {

struct Sent {
  SharedBody body;
  BodyBudget::Held held;
};

void DeleteSent(void* sent) {
  delete static_cast<Sent*>(sent);
}

}  // namespace

bool SendAnswer(MHD_Connection* connection, const ServerResponse& response, SharedBody body,
                BodyBudget::Held held) {
  auto* sent = new Sent{std::move(body), std::move(held)};
  // libmicrohttpd only reads it; its signature is older than its const.
  MHD_Response* message = MHD_create_response_from_buffer_with_free_callback_cls(
      sent->body->size(), const_cast<char*>(sent->body->data()), &DeleteSent, sent);
  if (message == nullptr) {
    delete sent;
    return false;
  }
  MHD_add_response_header(message, "Content-Type", response.content_type.c_str());
  MHD_add_response_header(message, "Cache-Control", "no-store");
  MHD_add_response_header(message, "X-Content-Type-Options", "nosniff");
  for (const auto& field : response.headers.fields()) {
    if (!IsFieldName(field.first) || !IsFieldValue(field.second)) continue;
    MHD_add_response_header(message, field.first.c_str(), field.second.c_str());
  }
  MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(response.status), message);
  MHD_destroy_response(message);
  return queued == MHD_YES;
}

}  // namespace prefetch::http
