// ApiQuestion: what a request asks of the API server, and the shape of its answers.
#pragma once

#include <string>

#include "doc/node.h"
#include "http/server.h"

namespace prefetch::tests {

// A request's path, in the words of RBAC.
struct ApiQuestion {
  std::string verb, resource, name_space, name;
  std::string group;              // "" is the core group
  std::string subresource, rest;  // rest: of a proxy's path, with its "/"
  bool version = false;
  bool known = false;

  std::string Collection() const { return resource + "/" + (name_space.empty() ? "" : name_space + "/"); }
  std::string Path() const { return Collection() + name; }
  std::string FullResource() const { return subresource.empty() ? resource : resource + "/" + subresource; }

  static ApiQuestion Of(const http::ServerRequest& request);
};

http::ServerResponse JsonAnswer(int status, const doc::Node& object);
// As Kubernetes' metav1.Status.
http::ServerResponse StatusAnswer(int code, const std::string& reason, const std::string& message);
// The usual reason of a code: "NotFound"; empty if there is none.
std::string ReasonOf(int code);

}  // namespace prefetch::tests
