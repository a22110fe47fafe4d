#include "image/reference.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace prefetch::image {

namespace {

constexpr std::size_t kLongestReference = 1024;  // ours; the grammar alone allows about 780
constexpr std::size_t kLongestPath = 255;
constexpr std::size_t kLongestTag = 128;
constexpr std::size_t kLongestHost = 253;  // of DNS, as is the next
constexpr std::size_t kLongestLabel = 63;
constexpr std::uint64_t kHighestPort = 65535;
constexpr std::string_view kOfficialPrefix = "library/";
constexpr std::string_view kDefaultTag = "latest";

// The mistake in one sentence, or empty.
using ParseProblem = std::optional<std::string>;

const char kInvalidFormat[] = "invalid reference format";
const char kPathTooLong[] = "path is longer than 255";

bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool HasUpper(std::string_view text) {
  return std::any_of(text.begin(), text.end(), IsUpper);
}

// Runtimes would take 64 hex digits alone for an image ID.
bool LooksLikeId(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(),
                                          [](char c) { return base::IsDigit(c) || (c >= 'a' && c <= 'f'); });
}

// The rule of all runtimes for "a/b": without one of these signs, `first` is a part of a path on Docker Hub.
bool LooksLikeDomain(std::string_view first) {
  return first == "localhost" || first.find_first_of(".:") != std::string_view::npos || HasUpper(first);
}

// Returns the length of the separator at the beginning of `text`: ".", "_", "__" or a run of "-". 0 if there
// is none.
std::size_t SeparatorLength(std::string_view text) {
  if (text.starts_with("__")) return 2;
  if (text.starts_with('.') || text.starts_with('_')) return 1;
  return std::min(text.find_first_not_of('-'), text.size());
}

// Returns true for one part of a path: runs of [a-z0-9] with one separator between them.
bool IsComponent(std::string_view text) {
  while (true) {
    auto run = std::find_if_not(text.begin(), text.end(), base::IsLowerOrDigit) - text.begin();
    if (run == 0) return false;
    text.remove_prefix(static_cast<std::size_t>(run));
    if (text.empty()) return true;
    std::size_t separator = SeparatorLength(text);
    if (separator == 0) return false;
    text.remove_prefix(separator);
  }
}

// A tag may contain "." and "-", but not begin with them.
bool IsTag(std::string_view text) {
  if (text.empty() || text.size() > kLongestTag) return false;
  if (text.front() == '.' || text.front() == '-') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return base::IsAlphanumeric(c) || c == '_' || c == '.' || c == '-'; });
}

// A port that is only too large has a message of its own: the format is right, and the general message would
// hide the mistake.
ParseProblem CheckPort(std::string_view port) {
  if (port.empty() || !std::all_of(port.begin(), port.end(), base::IsDigit)) return kInvalidFormat;
  std::optional<std::uint64_t> number = base::ParseUint(port);
  if (!number || *number == 0 || *number > kHighestPort) return "port must be between 1 and 65535";
  return {};
}

ParseProblem CheckAddress(const std::string& literal) {
  // inet_pton alone is not enough: it accepts an IPv4 address at the end, and the grammar does not.
  in6_addr ignored;
  if (literal.empty() || literal.find_first_not_of("0123456789abcdefABCDEF:") != std::string::npos) {
    return kInvalidFormat;
  }
  if (::inet_pton(AF_INET6, literal.c_str(), &ignored) != 1) return "host is not a valid IPv6 address";
  return {};
}

// The grammar allows more than DNS does. A host that DNS cannot resolve is rejected here, with the reason.
ParseProblem CheckHostName(std::string_view host) {
  for (std::string_view label : base::Split(host, '.')) {
    if (label.empty() || !base::IsAlphanumeric(label.front()) || !base::IsAlphanumeric(label.back())) {
      return kInvalidFormat;
    }
    for (char c : label) {
      if (!base::IsAlphanumeric(c) && c != '-') return kInvalidFormat;
    }
    if (label.size() > kLongestLabel) return "host has a label longer than 63";
  }
  if (host.size() > kLongestHost) return "host is longer than 253";
  return {};
}

// Checks a host and its port. An IPv6 address is in brackets, since its colons would be taken for that of the
// port.
ParseProblem CheckDomain(std::string_view domain) {
  std::string_view host = domain;
  std::string_view after;
  if (domain.starts_with('[')) {
    std::size_t close = domain.find(']');
    if (close == std::string_view::npos) return kInvalidFormat;
    host = domain.substr(1, close - 1);
    after = domain.substr(close + 1);
    if (ParseProblem complaint = CheckAddress(std::string(host))) return complaint;
  } else {
    std::size_t colon = std::min(domain.find(':'), domain.size());
    host = domain.substr(0, colon);
    after = domain.substr(colon);
    if (ParseProblem complaint = CheckHostName(host)) return complaint;
  }
  if (after.empty()) return {};
  if (!after.starts_with(':')) return kInvalidFormat;
  return CheckPort(after.substr(1));
}

ParseProblem CheckPath(std::string_view path) {
  // The most common mistake has its own words. It is checked first, since the grammar would only report the
  // format.
  if (HasUpper(path)) return "path must be lowercase";
  for (std::string_view component : base::Split(path, '/')) {
    if (!IsComponent(component)) return kInvalidFormat;
  }
  if (path.size() > kLongestPath) return kPathTooLong;
  return {};
}

}  // namespace

base::Result<Reference> Reference::Parse(std::string_view written) {
  auto refuse = [&](const std::string& complaint) {
    return base::InvalidArgument("image name \"" + base::Truncate(base::ToUtf8(written), 200) +
                                 "\": " + complaint);
  };
  // The bound comes first: the text may be a caller's, and each further check reads all of it.
  if (written.size() > kLongestReference) return refuse("longer than 1024");
  if (LooksLikeId(written)) return refuse("64 hex digits look like an image ID, not a name");

  auto parts = std::make_shared<Parts>();
  Parts& out = *parts;
  out.written = written;
  std::string_view rest = written;
  out.domain = kDockerHub;
  // The domain is split off first, then the digest, then the tag: a colon may belong to a port, and a digest
  // has one itself.
  std::size_t slash = written.find('/');
  if (slash != std::string_view::npos && LooksLikeDomain(written.substr(0, slash))) {
    std::string_view first = written.substr(0, slash);
    // The old name of Docker Hub means the same registry, and runtimes normalise it in the same way.
    out.domain = first == kDockerHubIndex ? kDockerHub : first;
    rest = written.substr(slash + 1);
  }

  std::size_t at = std::min(rest.find('@'), rest.size());
  std::string_view name = rest.substr(0, at);
  std::size_t colon = std::min(name.find(':'), name.size());
  out.path = name.substr(0, colon);
  // Official images of Docker Hub are below "library/", which users leave out.
  if (out.domain == kDockerHub && out.path.find('/') == std::string::npos) {
    out.path.insert(0, kOfficialPrefix);
  }

  // By the grammar, "my_host.example" is no domain; yet a path may begin so, and the runtimes ask that host.
  if (out.domain.find('_') == std::string::npos || !IsComponent(out.domain)) {
    if (ParseProblem complaint = CheckDomain(out.domain)) return refuse(*complaint);
  } else if (out.domain.size() + 1 + out.path.size() > kLongestPath) {
    return refuse(kPathTooLong);  // the library counts such a host as a part of the path
  }
  if (ParseProblem complaint = CheckPath(out.path)) return refuse(*complaint);
  if (colon < name.size()) {
    out.tag = name.substr(colon + 1);
    out.tag_written = true;
    if (!IsTag(out.tag)) return refuse(kInvalidFormat);
  }
  if (at < rest.size()) {
    out.digest = rest.substr(at + 1);
    std::string_view wrong = DigestError(out.digest);
    if (!wrong.empty()) return refuse("digest " + std::string(wrong));
  } else if (!out.tag_written) {
    out.tag = kDefaultTag;
  }
  out.repository = out.domain + "/" + out.path;
  // Runtimes look up by the digest alone if there is one, so the tag beside it names no other image.
  out.normalized = out.digest.empty() ? out.repository + ":" + out.tag : out.repository + "@" + out.digest;
  return Reference(std::move(parts));
}

std::string Reference::SpecImage() const {
  const Parts& own = parts();
  // K1: kubelet adds ":latest", and normalises nothing else.
  return has_tag_or_digest() ? own.written : own.written + ":" + own.tag;
}

namespace {

struct Algorithm {
  std::string_view name;
  std::size_t hex_digits;
};
constexpr std::array<Algorithm, 3> kAlgorithms = {{{"sha256", 64}, {"sha384", 96}, {"sha512", 128}}};

// The grammar requires this many digits before an algorithm is looked at.
constexpr std::size_t kFewestHexDigits = 32;
constexpr std::string_view kInvalidDigest = "has an invalid format";

}  // namespace

std::string_view DigestError(std::string_view text) {
  std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return kInvalidDigest;
  std::string_view name = text.substr(0, colon);
  std::string_view hex = text.substr(colon + 1);
  const auto is_hex = [](char c) { return base::HexDigit(c) >= 0; };
  if (hex.size() < kFewestHexDigits || !std::all_of(hex.begin(), hex.end(), is_hex)) return kInvalidDigest;
  auto known = std::find_if(kAlgorithms.begin(), kAlgorithms.end(),
                            [&](const Algorithm& algorithm) { return algorithm.name == name; });
  if (known == kAlgorithms.end()) return "has an unsupported algorithm";
  // The algorithm comes before the length, which depends on it.
  if (hex.size() != known->hex_digits) return "has the wrong length";
  // R3: capitals are hexadecimal, and no registry or runtime accepts them. A digest in other letters would
  // also be another key.
  if (std::any_of(hex.begin(), hex.end(), IsUpper)) return "must be lowercase hex";
  return {};
}

bool IsDigest(std::string_view text) {
  return DigestError(text).empty();
}

std::string_view RepositoryOf(std::string_view name) {
  std::size_t digest = name.find('@');
  if (digest != std::string_view::npos) return name.substr(0, digest);
  std::size_t colon = name.rfind(':');
  // A colon before a slash belongs to the registry's port.
  bool tag = colon != std::string_view::npos && name.find('/', colon) == std::string_view::npos;
  return tag ? name.substr(0, colon) : name;
}

std::string_view WrittenName(std::string_view image) {
  // The digest goes first, since it contains a colon.
  image = image.substr(0, image.find('@'));
  std::size_t slash = image.rfind('/');
  // A colon before the last slash belongs to the registry's port.
  std::size_t colon = image.find(':', slash == std::string_view::npos ? 0 : slash);
  return image.substr(0, colon);
}

bool NamesRegistry(std::string_view image) {
  std::size_t slash = image.find('/');
  if (slash == std::string_view::npos) return false;
  std::string_view first = image.substr(0, slash);
  return first == "localhost" || first.find_first_of(".:") != std::string_view::npos;
}

namespace {

constexpr std::size_t kLongest = 500;
constexpr int kMostStars = 20;

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view normalized_name) {
  // A pattern without a tag means every tag of the repository.
  return base::GlobMatches(pattern, normalized_name) ||
         base::GlobMatches(pattern, RepositoryOf(normalized_name));
}

bool MatchesAny(const std::vector<std::string>& patterns, std::string_view normalized_name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return MatchesPattern(pattern, normalized_name); });
}

base::Status CheckPattern(std::string_view pattern) {
  bool blank = std::any_of(pattern.begin(), pattern.end(),
                           [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
  if (pattern.empty() || blank || pattern.size() > kLongest ||
      std::count(pattern.begin(), pattern.end(), '*') > kMostStars) {
    return base::InvalidArgument(
        "must be a pattern of image names such as registry.k8s.io/*, of at most 500 characters and 20 stars");
  }
  return {};
}

PullPolicy DefaultPullPolicy(const Reference& reference) {
  // K2. tag() is "latest" also where neither tag nor digest is written, and empty for a digest alone.
  return reference.tag() == "latest" ? PullPolicy::kAlways : PullPolicy::kIfNotPresent;
}

}  // namespace prefetch::image
