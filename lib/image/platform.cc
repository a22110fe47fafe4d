#include "image/platform.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/text.h"

namespace prefetch::image {
namespace {

struct Machine {
  std::string_view uname;
  std::string_view architecture;
  std::string_view variant;
};

// Words of `uname -m`, and OCI's (Go's) words for the same. Other machines have the same word in both.
constexpr std::array kMachines = {
    Machine{"x86_64", "amd64", ""}, Machine{"aarch64", "arm64", ""},
    Machine{"armv8l", "arm", "v8"}, Machine{"armv7l", "arm", "v7"},
    Machine{"armv6l", "arm", "v6"}, Machine{"armv5tel", "arm", "v5"},
    Machine{"i386", "386", ""},     Machine{"i486", "386", ""},
    Machine{"i586", "386", ""},     Machine{"loongarch64", "loong64", ""},
};

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return base::IsLowerOrDigit(c) || c == '.' || c == '_' || c == '-';
  });
}

// Returns 7 for "v7"; nullopt for anything but a plain level.
std::optional<std::uint64_t> Level(std::string_view variant) {
  if (!variant.starts_with('v')) return std::nullopt;
  return base::ParseUint(variant.substr(1));
}

// Returns the variant that an empty one means. Only arm's is a promise (containerd reads "arm" as arm/v7).
std::string_view Implied(std::string_view architecture) {
  if (architecture == "arm") return "v7";
  if (architecture == "arm64") return "v8";
  if (architecture == "amd64") return "v1";
  return "";
}

bool VariantRuns(const Platform& node, std::string_view image_variant) {
  if (image_variant.empty() || image_variant == node.variant) return true;
  if (image_variant == Implied(node.architecture) && node.variant.empty()) return true;
  // uname does not show which amd64 or arm64 this is, so a higher level may well run.
  if (node.variant.empty() && node.architecture != "arm") return true;
  // C20: an arm v7 also runs v6 and v5.
  std::optional<std::uint64_t> has = Level(node.variant.empty() ? Implied(node.architecture) : node.variant);
  std::optional<std::uint64_t> wants = Level(image_variant);
  return has && wants && *wants <= *has;
}

// Returns true if a machine of the architecture `node` runs programs of the other architecture `image`, as
// containerd assumes when it chooses from an index: other emulation (binfmt_misc) is unknown to it.
bool CanRunForeign(std::string_view node, std::string_view image) {
  if (node == "amd64") return image == "386";
  return node == "arm64" && image == "arm";
}

}  // namespace

base::Result<Platform> Platform::Parse(std::string_view text) {
  std::vector<std::string_view> parts = base::Split(text, '/');
  if (parts.size() < 2 || parts.size() > 3 || !std::all_of(parts.begin(), parts.end(), IsWord)) {
    return base::InvalidArgument("platform \"" + base::Truncate(base::ToUtf8(text), 100) +
                                 "\": must be os/architecture or os/architecture/variant in lower case");
  }
  return Platform{.os = std::string(parts[0]),
                  .architecture = std::string(parts[1]),
                  .variant = parts.size() == 3 ? std::string(parts[2]) : std::string()};
}

Platform Platform::Host() {
  utsname host{};
  if (::uname(&host) != 0) return {};
  Platform out{.os = base::ToLower(host.sysname), .architecture = host.machine, .variant = {}};
  // Other machines keep the word of uname, which is OCI's word, too.
  for (const Machine& machine : kMachines) {
    if (machine.uname != host.machine) continue;
    out.architecture = machine.architecture;
    out.variant = machine.variant;
  }
  return out;
}

std::string Platform::ToString() const {
  std::string text = os + "/" + architecture;
  if (!variant.empty()) text += "/" + variant;
  return text;
}

bool CanRun(const Platform& node, const Platform& image) {
  // C20: an empty field is unknown and accepted.
  if (!image.os.empty() && image.os != node.os) return false;
  if (image.architecture.empty()) return true;
  // The variant of a foreign architecture is not compared: the node's variant is one of its own architecture.
  if (image.architecture != node.architecture) return CanRunForeign(node.architecture, image.architecture);
  return VariantRuns(node, image.variant);
}

}  // namespace prefetch::image
