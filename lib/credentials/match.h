// Does a pattern match an image? The one rule for matchImages, for the keys of credentials and for
// allowRepositories (A14, A15).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::credentials {

// A repository such as "docker.io/library/nginx", taken apart once for many patterns. A value.
class Target {
 public:
  // Takes a Reference's Repository(). One that cannot be parsed matches nothing.
  explicit Target(std::string_view repository);

  const std::string& repository() const { return repository_; }
  std::string_view host() const;  // with its port: what a Registry answer is cached under

 private:
  friend class Pattern;
  bool valid_ = false;
  std::string repository_, port_, path_;
  std::vector<std::string> labels_;
};

// "*.dkr.ecr.*.amazonaws.com", "foo.io:5000/team". A value; any thread may match.
class Pattern {
 public:
  // nullopt if it does not parse.
  static std::optional<Pattern> Parse(std::string_view text);

  bool Matches(const Target& target) const;
  // Does it match each image that `other` matches?
  bool Covers(const Pattern& other) const;
  const std::string& text() const { return text_; }

  friend bool operator==(const Pattern& a, const Pattern& b) { return a.text_ == b.text_; }

 private:
  Pattern() = default;
  std::string text_, port_, path_;
  std::vector<std::string> labels_;
  bool never_ = false;
};

}  // namespace prefetch::credentials
