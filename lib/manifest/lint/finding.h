// Finding: one thing that a rule has to say about one place. A value.
#pragma once

#include <optional>
#include <string>

#include "doc/node.h"
#include "manifest/image_use.h"
#include "manifest/lint/rule.h"

namespace prefetch::manifest::lint {

struct Place {
  std::string file;  // as it was named: "deploy/app.yaml", "stdin"
  doc::Position at;

  friend bool operator==(const Place&, const Place&) = default;
};

struct Finding {
  RuleId rule = RuleId::kNotListed;
  Place place;          // of the very key
  doc::Position block;  // where the container, volume or entry begins that the key belongs to
  std::string message;  // one sentence without its full stop; names image and container
  // The other end, of a finding with two.
  std::optional<Place> other;
  std::string other_message;

  friend bool operator==(const Finding&, const Finding&) = default;
};

// A finding at the key of a use's image.
Finding AtImage(RuleId rule, const ImageUse& use, std::string message);
// At the key of its policy; where none is written, at the image's, where it would stand.
Finding AtPolicy(RuleId rule, const ImageUse& use, std::string message);

// `quay.io/acme/app:v1 (container "app")`.
std::string UseTitle(const ImageUse& use);

}  // namespace prefetch::manifest::lint
