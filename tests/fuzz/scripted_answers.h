// An HTTP server that answers what the fuzzer says: each request takes the next answer of the input. Answers
// are apart by a line "%%"; each is a status, headers one a line, an empty line, a body.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/text.h"
#include "http/client.h"

namespace prefetch::fuzz {

class ScriptedAnswers final : public http::Client {
 public:
  explicit ScriptedAnswers(std::string_view script) : script_(script) {}

  http::ExchangeResult Exchange(const base::Call&, const http::Request& request) override {
    base::Lock lock(mutex_);
    requests_++;
    std::string_view one = Cut(script_, "\n%%\n");
    std::string_view head = Cut(one, "\n\n");
    http::Response response{.headers = {}, .body = std::string(one)};
    // As CurlClient: what is too long, or has no status, is a failure.
    const auto status = base::ParseUint(Cut(head, "\n"));
    if (!status || *status < 100 || *status > 599)
      return {base::Unavailable(request.method + ": the connection broke"), http::Fault::kReset};
    if (response.body.size() > request.max_body_bytes)
      return {base::ResourceExhausted("too long"), http::Fault::kTooLong};
    response.status = static_cast<int>(*status);
    while (!head.empty() && response.headers.fields().size() < 100) {
      std::string_view line = Cut(head, "\n");
      const std::string_view name = Cut(line, ": ");
      if (http::IsFieldName(name) && http::IsFieldValue(line))
        response.headers.Add(std::string(name), std::string(line));
    }
    if (request.sink && (response.status == 200 || response.status == 206)) {
      const std::string body = std::exchange(response.body, "");
      // In two parts, as it might come over the network.
      for (const std::string& part : {body.substr(0, body.size() / 2), body.substr(body.size() / 2)}) {
        if (!part.empty() && !request.sink(response, part))
          return {base::Cancelled("stopped"), http::Fault::kStopped};
      }
    }
    return {std::move(response), http::Fault::kNone};
  }

  int requests() const {
    base::Lock lock(mutex_);
    return requests_;
  }

 private:
  // The text before `end`, which goes with it.
  static std::string_view Cut(std::string_view& text, std::string_view end) {
    const std::size_t at = text.find(end);
    const std::string_view before = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + end.size());
    return before;
  }

  mutable base::Mutex mutex_;
  std::string_view script_ PREFETCH_GUARDED_BY(mutex_);
  int requests_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

}  // namespace prefetch::fuzz
