// A client of a real API server: not lib/kube, which is what the product uses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "doc/node.h"

namespace prefetch::cluster {

struct ApiAnswer {
  long status = 0;  // 0: nobody answered
  doc::Node body;
  std::string text;

  bool ok() const { return status >= 200 && status < 300; }
  std::string At(doc::Path path) const { return doc::TextAt(body, path); }
};

// One user at one server. One thread owns it.
class Api {
 public:
  Api(std::string url, std::string ca_file, std::string token);
  Api(Api&&) noexcept;
  ~Api();

  ApiAnswer Get(const std::string& path);
  ApiAnswer Post(const std::string& path, const std::string& body);
  ApiAnswer Put(const std::string& path, const std::string& body);
  ApiAnswer Delete(const std::string& path);
  // At once, without grace.
  ApiAnswer Kill(const std::string& path);
  ApiAnswer MergePatch(const std::string& path, const std::string& body);
  ApiAnswer JsonPatch(const std::string& path, const std::string& body);

  // Returns every version of one object, such as "/api/v1/nodes", "n1", since a resourceVersion, in their
  // order. Takes a second: the server sends past versions at once, and then new ones until the time is over.
  std::vector<doc::Node> VersionsSince(const std::string& collection, const std::string& name,
                                       const std::string& resource_version);

  // The same server, as somebody else.
  Api As(std::string token) const;
  const std::string& url() const { return url_; }
  const std::string& ca_file() const { return ca_file_; }

 private:
  ApiAnswer Do(const char* method, const std::string& path, const std::string& body, const char* type);

  struct Handle;
  std::string url_, ca_file_, token_;
  std::unique_ptr<Handle> handle_;
};

// JSON of a string, with its quotes.
std::string Quote(const std::string& text);
// Parses a response; returns a null node if it is no JSON.
doc::Node ParseOrNull(const std::string& json);

}  // namespace prefetch::cluster
