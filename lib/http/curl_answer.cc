#include "http/curl_answer.h"

#include <sys/socket.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace prefetch::http {
namespace {

constexpr std::size_t kMaxHeaderBytes = 64 * 1024;
constexpr std::size_t kMaxHeaderFields = 100;

// "HTTP/1.1 404 Not Found" -> 404
int StatusOf(std::string_view status_line) {
  std::size_t space = status_line.find(' ');
  if (space == std::string_view::npos) return 0;
  return static_cast<int>(base::ParseUint(status_line.substr(space + 1, 3)).value_or(0));
}

std::size_t OnHeader(char* data, std::size_t, std::size_t size, void* self) {
  CurlAnswer& answer = *static_cast<CurlAnswer*>(self);
  std::string_view line = base::TrimSpace({data, size});
  answer.header_bytes += size;
  if (line.starts_with("HTTP/")) {  // one more block, after a 1xx
    answer.response.headers = {};
    answer.status = StatusOf(line);
    answer.whole_headers = false;
  }
  if (line.empty()) answer.whole_headers = true;
  std::size_t colon = line.find(':');
  // A field after body bytes is a trailer: no request of ours asks for one.
  bool field = !line.starts_with("HTTP/") && colon != std::string_view::npos && answer.body_bytes == 0;
  if (answer.header_bytes > kMaxHeaderBytes ||
      (field && answer.response.headers.fields().size() == kMaxHeaderFields)) {
    answer.too_long = "longer headers";
    return 0;
  }
  if (!field) return size;
  answer.response.headers.Add(std::string(line.substr(0, colon)),
                              std::string(base::TrimSpace(line.substr(colon + 1))));
  return size;
}

std::size_t OnBody(char* data, std::size_t, std::size_t size, void* self) {
  CurlAnswer& answer = *static_cast<CurlAnswer*>(self);
  if (answer.status >= 300 && answer.max_error_body_bytes > 0) {
    const std::size_t room = answer.max_error_body_bytes - answer.response.body.size();
    answer.response.body.append(data, std::min(size, room));
    answer.body_bytes += std::min(size, room);
    answer.cut = size > room;
    return answer.cut ? 0 : size;
  }
  if (size > answer.max_body_bytes - answer.body_bytes) {
    answer.too_long = "a longer body";
    return 0;
  }
  answer.body_bytes += size;
  if (answer.sink != nullptr && (answer.status == 200 || answer.status == 206)) {
    answer.response.status = answer.status;
    answer.unwanted = !(*answer.sink)(answer.response, {data, size});
    return answer.unwanted ? 0 : size;
  }
  answer.response.body.append(data, size);
  return size;
}

curl_socket_t OnSocket(void* self, curlsocktype, curl_sockaddr* address) {
  CurlAnswer& answer = *static_cast<CurlAnswer*>(self);
  answer.address_refused = !IsAllowed(answer.peers, address->addr, answer.not_this);
  if (answer.address_refused) return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// The connection stands, and nothing has been sent. All Go programs, runtimes included, reject certificates
// with their name in the subject alone; OpenSSL accepts them. On a connection that is used again there is
// nothing to look at: it has passed.
int OnConnected(void* self, char*, char*, int, int) {
  CurlAnswer& answer = *static_cast<CurlAnswer*>(self);
  curl_certinfo* chain = nullptr;
  curl_easy_getinfo(answer.easy, CURLINFO_CERTINFO, &chain);
  if (chain == nullptr || chain->num_of_certs == 0) return CURL_PREREQFUNC_OK;
  for (const curl_slist* line = chain->certinfo[0]; line != nullptr; line = line->next) {
    if (std::string_view(line->data).starts_with("X509v3 Subject Alternative Name:"))
      return CURL_PREREQFUNC_OK;
  }
  answer.nameless = true;
  return CURL_PREREQFUNC_ABORT;
}

}  // namespace

void Receive(CURL* easy, CurlAnswer& answer) {
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &answer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
}

void LookAtCertificates(CURL* easy, CurlAnswer& answer) {
  curl_easy_setopt(easy, CURLOPT_CERTINFO, 1L);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &OnConnected);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, &answer);
}

void LookAtAddresses(CURL* easy, CurlAnswer& answer) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &OnSocket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &answer);
}

}  // namespace prefetch::http
