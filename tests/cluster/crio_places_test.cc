// Where a real CRI-O asks, by its registries.conf, held against what the agent makes of the same file (R46).
// Only where the folder of programs has a CRI-O: main.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "cluster/crio.h"
#include "cri/endpoint.h"
#include "cri/image_service.h"
#include "registry/endpoint_files.h"
#include "rig/expect_ok.h"
#include "rig/proxy.h"
#include "rig/registry.h"

namespace prefetch::cluster::crio_places_test {
namespace {

using Asked = std::vector<std::string>;

constexpr std::chrono::seconds kPullLimit{20};
constexpr const char* kAbsent = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

// ONE and TWO are the addresses of two registries that have no image.
struct Row {
  const char* conf;
  std::string image;
  std::vector<const char*> drop_ins = {};
  const char* insecure_of_crio = "";  // insecure_registries of crio.conf
};

const Row kRows[] = {
    {"[[registry]]\nlocation = \"ONE\"\ninsecure = true\n", "ONE/team/app:v1"},
    {"[[registry]]\nprefix = \"reg.example.test/team\"\nlocation = \"ONE/a/b\"\ninsecure = true\n",
     "reg.example.test/team/app:v1"},
    {"[[registry]]\nprefix = \"*.example.test\"\nlocation = \"ONE\"\ninsecure = true\n",
     "a.b.example.test/team/app:v1"},
    {"[[registry]]\nprefix = \"reg.example.test\"\nlocation = \"ONE\"\ninsecure = true\n"
     "[[registry.mirror]]\nlocation = \"TWO/cache\"\ninsecure = true\n",
     "reg.example.test/team/app:v1"},
    {"[[registry]]\nlocation = \"ONE\"\ninsecure = true\nmirror-by-digest-only = true\n"
     "[[registry.mirror]]\nlocation = \"TWO\"\ninsecure = true\n",
     "ONE/app:v1"},
    {"[[registry]]\nlocation = \"ONE\"\ninsecure = true\nmirror-by-digest-only = true\n"
     "[[registry.mirror]]\nlocation = \"TWO\"\ninsecure = true\n",
     std::string("ONE/app@") + kAbsent},
    {"[[registry]]\nlocation = \"ONE\"\ninsecure = true\n"
     "[[registry.mirror]]\nlocation = \"TWO/t\"\ninsecure = true\npull-from-mirror = \"tag-only\"\n"
     "[[registry.mirror]]\nlocation = \"TWO/d\"\ninsecure = true\npull-from-mirror = \"digest-only\"\n",
     "ONE/app:v1"},
    {"[[registry]]\nlocation = \"ONE\"\ninsecure = true\nblocked = true\n"
     "[[registry.mirror]]\nlocation = \"TWO\"\ninsecure = true\n",
     "ONE/app:v1"},
    {"[[registry]]\nprefix = \"reg.example.test\"\nlocation = \"ONE\"\ninsecure = true\nblocked = true\n",
     "reg.example.test/app:v1"},
    {"unqualified-search-registries = [\"docker.io\"]\n"
     "[[registry]]\nprefix = \"docker.io\"\nlocation = \"ONE/hub\"\ninsecure = true\n",
     "busybox:v1"},
    // The last file with a prefix counts, and in this file the first entry. A drop-in is a file, too.
    {"[[registry]]\nprefix = \"reg.example.test\"\nlocation = \"ONE/first\"\ninsecure = true\n"
     "[[registry]]\nprefix = \"reg.example.test\"\nlocation = \"ONE/second\"\ninsecure = true\n",
     "reg.example.test/app:v1"},
    {"[[registry]]\nprefix = \"reg.example.test\"\nlocation = \"ONE/main\"\ninsecure = true\n",
     "reg.example.test/app:v1",
     {"[[registry]]\nprefix = \"reg.example.test\"\nlocation = \"ONE/first\"\ninsecure = true\n"
      "[[registry]]\nprefix = \"reg.example.test\"\nlocation = \"ONE/second\"\ninsecure = true\n"}},
    {"[[registry]]\nprefix = \"reg.example.test\"\nlocation = \"ONE/main\"\ninsecure = true\n",
     "reg.example.test/app:v1",
     {"[[registry]]\nprefix = \"reg.example.test\"\nlocation = \"ONE/10\"\ninsecure = true\n",
      "[[registry]]\nprefix = \"reg.example.test\"\nlocation = \"TWO/20\"\ninsecure = true\n"}},
    // insecure_registries of crio.conf has no effect any more: it asks by TLS, and hears no HTTP.
    {"[[registry]]\nlocation = \"ONE\"\n", "ONE/app:v1", {}, "ONE"},
};

class Registries {
 public:
  Registries() {
    for (auto& site : sites_) {
      EXPECT_OK(site.registry.Start());
      site.proxy = std::make_unique<rig::Proxy>(site.registry.port());
      EXPECT_OK(site.proxy->Start());
    }
  }
  std::string With(const std::string& text) const {
    return base::ReplaceAll(base::ReplaceAll(text, "ONE", sites_[0].proxy->address()), "TWO",
                            sites_[1].proxy->address());
  }
  void Forget() {
    for (auto& site : sites_) site.proxy->Forget();
  }
  // "ADDRESS/v2/team/app/manifests/v1", each once, those of one registry after those of the other.
  Asked ForManifests() const {
    Asked asked;
    for (const auto& site : sites_) {
      for (const rig::Passed& request : site.proxy->Requests()) {
        std::string line = site.proxy->address() + request.path;
        bool is_new = std::find(asked.begin(), asked.end(), line) == asked.end();
        if (is_new && request.path.find("/manifests/") != std::string::npos) asked.push_back(line);
      }
    }
    return asked;
  }

 private:
  struct Site {
    rig::Registry registry;
    std::unique_ptr<rig::Proxy> proxy;
  };
  rig::Scratch scratch_;
  Site sites_[2] = {{rig::Registry(scratch_, "one"), nullptr}, {rig::Registry(scratch_, "two"), nullptr}};
};

Asked Expected(const std::string& conf_text, const std::vector<std::string>& drop_ins,
               const std::string& image) {
  auto conf = registry::ParseRegistriesConf(conf_text, registry::ConfKind::kMain);
  for (const std::string& text : drop_ins) {
    auto later = registry::ParseRegistriesConf(text, registry::ConfKind::kDropIn);
    EXPECT_TRUE(later) << text;
    if (conf && later) registry::Update(*conf, *later);
  }
  auto reference = image::Reference::Parse(image);
  EXPECT_TRUE(conf);
  EXPECT_TRUE(reference);
  Asked asked;
  if (!conf || !reference) return asked;
  for (const registry::ChainedHost& place : registry::PullEndpointsFor(*conf, *reference).hosts) {
    const std::string& which = place.as->has_digest() ? place.as->digest() : place.as->tag();
    if (!place.blocked_by.empty() || !place.host.http_fallback) continue;  // one that speaks TLS is not heard
    asked.push_back(place.as->domain() + "/v2/" + place.as->path() + "/manifests/" + which);
  }
  return asked;
}

TEST(CrioPlaces, AreWhereTheAgentWouldAsk) {
  Registries registries;
  rig::Scratch scratch;
  Crio crio(scratch);
  for (const Row& row : kRows) {
    const std::string conf = registries.With(row.conf), image = registries.With(row.image);
    std::vector<std::string> drop_ins;
    for (const char* name : {"10.conf", "20.conf"}) {
      const bool has = drop_ins.size() < row.drop_ins.size();
      const std::string text = has ? registries.With(row.drop_ins[drop_ins.size()]) : "";
      crio.HasDropIn(name, text);
      if (has) drop_ins.push_back(text);
    }
    crio.HasRegistries(conf);
    crio.HasInsecureRegistry(registries.With(row.insecure_of_crio));
    ASSERT_OK(crio.Start());
    registries.Forget();
    const auto images = cri::MakeImageService(*cri::ParseEndpoint(crio.endpoint()));
    auto pulled =
        images->PullImage(base::Call{}.Within(kPullLimit), {image, std::nullopt, "", cri::kOwnPullCgroup});
    EXPECT_FALSE(pulled) << image;
    Asked asked = registries.ForManifests(), expected = Expected(conf, drop_ins, image);
    std::sort(asked.begin(), asked.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(asked, expected) << conf << image << (pulled ? "" : ": " + pulled.error().message);
    ASSERT_OK(crio.Stop());
  }
}

}  // namespace
}  // namespace prefetch::cluster::crio_places_test
