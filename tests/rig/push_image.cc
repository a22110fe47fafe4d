// push-image: makes one image and pushes it to a registry on loopback. For the sandbox and for trying things.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "rig/images.h"

namespace prefetch::rig {
namespace {

constexpr const char* kHelp =
    R"(usage: push-image --registry HOST:PORT --repo NAME --tag TAG --layer SEED:BYTES... [options]

Makes an image of incompressible bytes and pushes it by plain HTTP. The same seed and size give
the same layer, so images share it; layers that the registry has are not sent again.

  --user-file FILE     "user:password" in one line; without it nobody logs in
  --platform OS/ARCH   default: this machine's; repeated: an index of all of them
  --oci                OCI media types instead of Docker's
  --quiet              print nothing but errors
)";

struct Options {
  std::string registry;
  std::string user;
  base::Secret password;
  ImageSpec spec;
  std::vector<image::Platform> platforms;
  bool quiet = false;
};

[[noreturn]] void Fail(const std::string& message, int code) {
  std::fprintf(stderr, "push-image: %s\n", message.c_str());
  std::exit(code);
}

Layer ParseLayer(const std::string& text) {
  Layer layer;
  char* end = nullptr;
  layer.seed = std::strtoull(text.c_str(), &end, 10);
  if (*end == ':') layer.size = std::strtoull(end + 1, &end, 10);
  if (*end != '\0' || layer.size == 0) Fail("not SEED:BYTES: " + text, 2);
  return layer;
}

void ReadUser(const std::string& path, Options& options) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  std::size_t colon = line.find(':');
  if (!in || colon == std::string::npos) Fail(path + " does not hold one line user:password", 2);
  options.user = line.substr(0, colon);
  options.password = base::Secret(line.substr(colon + 1));
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view flag = argv[i];
    if (flag == "--help") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    if (flag == "--oci") {
      options.spec.kind = ManifestKind::kOci;
    } else if (flag == "--quiet") {
      options.quiet = true;
    } else if (i + 1 == argc) {
      Fail("missing value, or unknown: " + std::string(flag) + " (see --help)", 2);
    } else if (std::string value = argv[++i]; flag == "--registry") {
      options.registry = value;
    } else if (flag == "--repo") {
      options.spec.repository = value;
    } else if (flag == "--tag") {
      options.spec.tag = value;
    } else if (flag == "--layer") {
      options.spec.layers.push_back(ParseLayer(value));
    } else if (flag == "--user-file") {
      ReadUser(value, options);
    } else if (flag == "--platform") {
      auto platform = image::Platform::Parse(value);
      if (!platform) Fail(platform.error().message(), 2);
      options.platforms.push_back(*platform);
    } else {
      Fail("unknown flag " + std::string(flag) + " (see --help)", 2);
    }
  }
  const ImageSpec& spec = options.spec;
  if (options.registry.empty() || spec.repository.empty() || spec.tag.empty() || spec.layers.empty()) {
    Fail("--registry, --repo, --tag and --layer are needed (see --help)", 2);
  }
  return options;
}

base::Result<PushedImage> Push(const Options& options) {
  Pusher pusher(options.registry, options.user, options.password);
  if (options.platforms.size() < 2) {
    ImageSpec spec = options.spec;
    if (!options.platforms.empty()) spec.platform = options.platforms[0];
    return pusher.Push(spec);
  }
  std::vector<ImageSpec> images(options.platforms.size(), options.spec);
  for (std::size_t i = 0; i < images.size(); ++i) images[i].platform = options.platforms[i];
  return pusher.PushIndex(images);
}

}  // namespace
}  // namespace prefetch::rig

int main(int argc, char** argv) {
  using namespace prefetch::rig;
  Options options = Parse(argc, argv);
  auto pushed = Push(options);
  if (!pushed) Fail(pushed.error().message(), 1);
  if (!options.quiet) {
    std::printf("%s/%s:%s %s %llu bytes\n", options.registry.c_str(), options.spec.repository.c_str(),
                options.spec.tag.c_str(), pushed->digest.c_str(),
                static_cast<unsigned long long>(pushed->bytes));
  }
  return 0;
}
