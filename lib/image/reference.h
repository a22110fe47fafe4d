// Reference: the name of an image, parsed and normalised as kubelet and the runtimes do it
// (kubelet's rule K1, registry rules R1 and R2).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace prefetch::image {

// A value. Three spellings matter, and they are not the same:
//  - as written:          "nginx@sha256:…", "nginx"           (`written`)
//  - the spec image:       written, with ":latest" if it has neither tag nor digest; this is what kubelet,
//                          and so we, send to the runtime                                     SpecImage()
//  - the normalised name:  "docker.io/library/nginx:latest"; with a digest the tag is dropped, as the
//                          runtimes do; this is the identity of an entry and the key of look-ups Normalized()
class Reference {
 public:
  // InvalidArgument with the mistake in one sentence ("must be lowercase", …).
  static base::Result<Reference> Parse(std::string_view written);

  // The empty reference, which names nothing.
  Reference() = default;

  const std::string& written() const { return parts().written; }
  const std::string& domain() const {
    return parts().domain;
  }                                                         // "docker.io", "reg:5000"; as written otherwise
  const std::string& path() const { return parts().path; }  // "library/nginx"
  const std::string& tag() const {
    return parts().tag;
  }  // "latest" if neither is written; empty for a digest alone
  const std::string& digest() const { return parts().digest; }  // "sha256:…" or empty
  bool has_digest() const { return !parts().digest.empty(); }

  // "docker.io/library/nginx": no tag, no digest (kubelet's "repo name")
  const std::string& Repository() const { return parts().repository; }
  // "docker.io/library/nginx:latest" or "docker.io/library/nginx@sha256:…"
  const std::string& Normalized() const { return parts().normalized; }
  std::string SpecImage() const;

  // Two references are the same image name if their normalised names are equal.
  friend bool operator==(const Reference& a, const Reference& b) { return a.Normalized() == b.Normalized(); }

 private:
  struct Parts {
    std::string written, domain, path, tag, digest, repository, normalized;
    bool tag_written = false;
  };
  explicit Reference(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  const Parts& parts() const {
    static const Parts kNone;
    return parts_ ? *parts_ : kNone;
  }

  // Never changes, so copies share it: a list of thousands is held in several places.
  std::shared_ptr<const Parts> parts_;
};

}  // namespace prefetch::image
