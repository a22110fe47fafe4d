#include "list/image_list.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "list/draft.h"
#include "must.h"
#include "rows.h"

namespace prefetch::list::image_list_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr const char* kHead = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\n";
constexpr const char* kDigest = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
constexpr Capabilities kNone{.refresh = false, .touch = false, .registry_checks = false};
constexpr const char* kStrict =
    ": contradicts refresh: Always, which makes an image ready only while its registry agrees: leave it out, "
    "or set refresh: IfDigestChanged";
constexpr Capabilities kAll{.refresh = true, .touch = true, .registry_checks = true};

struct BadSource {
  std::string name;
  std::string file;
  std::string bytes;
  std::string error;
  Capabilities capabilities = kAll;
};

std::string Repeated(const std::string& line, int times) {
  std::string out;
  for (int i = 0; i < times; i++) out += base::ReplaceAll(line, "#", std::to_string(i));
  return out;
}

std::string Yaml(const std::string& rest) {
  return kHead + rest;
}

std::string Entry(const std::string& fields) {
  return Yaml("images:\n- image: a/b:v1\n" + fields);
}

TEST(RefusedSource, SaysEverythingAtOnce) {
  const BadSource rows[] = {
      {"BadNames", "l.txt", "good:v1\n\nBad/Name\n  nginx # web\nhttps://u:pw@reg.example/a\nu:pw@reg/a\n",
       "l.txt:3:1: image name \"Bad/Name\": path must be lowercase\n"
       "l.txt:4:3: must be one image name, without blanks\n"
       "l.txt:5:1: must be an image name, not a URL\n"
       "l.txt:6:1: must be an image name, without user name and password"},
      {"InQuotes", "l.txt", "\"nginx:1\"\n", "l.txt:1:1: must be an image name, without quotes"},
      {"ANoBreakSpace", "l.txt", "nginx:1\xC2\xA0\n",
       "l.txt:1:1: has a no-break space (U+00A0): write it without"},
      {"AZeroWidthSpace", "l.txt", "nginx\xE2\x80\x8B:1\n",
       "l.txt:1:1: has a zero-width space (U+200B), which cannot be seen: write it without"},
      {"LongLine", "l.txt", "a\n" + std::string(4097, 'x') + "\n",
       "l.txt:2:1: the line is longer than 4096 bytes"},
      {"LongComment", "l.txt", "#" + std::string(4096, 'x'), "l.txt:1:1: the line is longer than 4096 bytes"},
      {"LongFile", "l.txt", std::string((1 << 20) + 1, '\n'), "l.txt: is longer than 1048576 bytes"},
      {"TooMany", "l.txt", Repeated("i#\n", 5001), "l.txt:5001:1: has more than 5000 images"},
      {"Binary", "l.txt",
       std::string("\x7f"
                   "ELF\0",
                   5),
       "l.txt:1:1: is not text: there is a control character here"},
      {"TwoNamespaces", "l.yaml",
       Entry("  readyAs:\n    secrets:\n    - {namespace: ci, name: a}\n"
             "    - {namespace: shop, name: b}\n"),
       "l.yaml:8:19: images[0].readyAs.secrets[1].namespace: must be ci, too: readyAs is one pod, which has "
       "one namespace"},
      {"AnAccountOfAnotherNamespace", "l.yaml",
       Entry("  readyAs:\n    serviceAccount: {namespace: shop, name: a}\n"
             "    secrets: [{namespace: ci, name: a}]\n"),
       "l.yaml:6:33: images[0].readyAs.serviceAccount.namespace: must be ci, too: readyAs is one pod, which "
       "has one namespace"},
      {"Twice", "l.yaml",
       Entry("  readyAs:\n    secrets: [{namespace: ci, name: a}, {namespace: ci, name: a, uid: u-1}]\n"),
       "l.yaml:6:63: images[0].readyAs.secrets[1].name: is named twice"},
      {"NoCoordinates", "l.yaml",
       Entry("  readyAs:\n    secrets: [pull, {name: a}, {namespace: Ci, name: a/b, uid: ''}]\n"
             "    serviceAccount: {namespace: ci, name: a, token: x}\n    user: me\n"),
       "l.yaml:6:15: images[0].readyAs.secrets[0]: must be a mapping, not a string\n"
       "l.yaml:6:21: images[0].readyAs.secrets[1].namespace: is required\n"
       "l.yaml:6:44: images[0].readyAs.secrets[2].namespace: must be the name of a namespace: small letters, "
       "digits and hyphens\n"
       "l.yaml:6:54: images[0].readyAs.secrets[2].name: must be the name of an object: small letters, "
       "digits, hyphens and dots\n"
       "l.yaml:6:64: images[0].readyAs.secrets[2].uid: must be the object's metadata.uid\n"
       "l.yaml:7:46: images[0].readyAs.serviceAccount.token: unknown field\n"
       "l.yaml:8:5: images[0].readyAs.user: unknown field"},
      {"InDefaults", "l.yaml", Yaml("defaults: {readyAs: [a]}\nimages: []\n"),
       "l.yaml:3:21: defaults.readyAs: must be a mapping, not a sequence"},
      {"TooMany", "l.yaml",
       Entry("  readyAs:\n    secrets:\n" + Repeated("    - {namespace: ci, name: a#}\n", 101)),
       "l.yaml:7:5: images[0].readyAs.secrets: has more than 100 secrets"},
      {"NotAList", "l.yaml", "[a]", "l.yaml:1:1: must be a mapping, not a sequence"},
      {"NoHead", "l.yaml", "foo: 1\n",
       "l.yaml:1:1: apiVersion: is required\nl.yaml:1:1: kind: is required\n"
       "l.yaml:1:1: images: is required\nl.yaml:1:1: foo: unknown field"},
      {"OtherVersion", "l.yaml", "apiVersion: v1\nkind: List\nimages: []\n",
       "l.yaml:1:13: apiVersion: must be prefetchd.dev/v1alpha1\nl.yaml:2:7: kind: must be ImageList"},
      {"ManyMistakes", "l.yaml",
       Yaml("defaults:\n  image: a\n  required: 1\nimages:\n- image: a/UPPER\n  redy: true\n- {}\n- nginx\n"
            "- image: 5\n  readyFor: never\n  priority: high\n  platforms: [linux, Linux/AMD64]\n"),
       "l.yaml:4:3: defaults.image: unknown field\n"
       "l.yaml:5:13: defaults.required: must be true or false\n"
       "l.yaml:7:10: images[0].image: image name \"a/UPPER\": path must be lowercase\n"
       "l.yaml:8:3: images[0].redy: unknown field\n"
       "l.yaml:9:3: images[1].image: is required\n"
       "l.yaml:10:3: images[2]: must be a mapping, not a string\n"
       "l.yaml:11:10: images[3].image: must be a string, not an integer; put it in quotes\n"
       "l.yaml:12:13: images[3].readyFor: must be Never, IfNotPresent or Always\n"
       "l.yaml:13:13: images[3].priority: must be an integer, not a string\n"
       "l.yaml:14:15: images[3].platforms[0]: platform \"linux\": must be os/architecture or "
       "os/architecture/variant in lower case\n"
       "l.yaml:14:22: images[3].platforms[1]: platform \"Linux/AMD64\": must be os/architecture or "
       "os/architecture/variant in lower case"},
      {"NodeSelector", "l.yaml", Yaml("images:\n- image: a\n  nodeSelector: {-x: a, pool: b c, gpu: true}\n"),
       "l.yaml:5:22: images[0].nodeSelector.-x: its key must be one of a label, such as pool or "
       "example.com/pool\n"
       "l.yaml:5:31: images[0].nodeSelector.pool: must be the value of a label: at most 63 letters, digits, "
       "dots, dashes, underscores\n"
       "l.yaml:5:41: images[0].nodeSelector.gpu: must be a string, not a boolean; put it in quotes"},
      {"PullWindow", "l.yaml",
       Yaml("images:\n- image: a\n  pullWindow: {start: 22:00, end: 22:00, days: [], timeZone: Berlin}\n"
            "- image: b\n  pullWindow: {start: 24:00, end: 6:00, days: [Mon, monday], cron: x}\n"
            "- image: c\n  pullWindow: {end: 23:60}\n"),
       "l.yaml:5:35: images[0].pullWindow.end: must differ from start; the whole day is 00:00 to 24:00\n"
       "l.yaml:5:48: images[0].pullWindow.days: must name a day, or be left out\n"
       "l.yaml:5:62: images[0].pullWindow.timeZone: must be a name of the tz database, such as "
       "Europe/Berlin, that this version knows; Etc/GMT-1 is UTC+1\n"
       "l.yaml:7:23: images[1].pullWindow.start: must be a time of the day, such as 06:30\n"
       "l.yaml:7:35: images[1].pullWindow.end: must be a time of the day, such as 06:30\n"
       "l.yaml:7:53: images[1].pullWindow.days[1]: must be Mon, Tue, Wed, Thu, Fri, Sat or Sun\n"
       "l.yaml:7:62: images[1].pullWindow.cron: unknown field\n"
       "l.yaml:9:15: images[2].pullWindow.start: is required\n"
       "l.yaml:9:21: images[2].pullWindow.end: must be a time of the day, such as 06:30"},
      {"TwiceInOneSource", "l.yaml",
       Yaml("images:\n- image: nginx\n- image: library/nginx\n- image: nginx\n"),
       "l.yaml:6:10: images[2].image: is nginx, which is in line 4 already"},
      {"DuplicateAndMergeKeys", "l.yaml",
       Yaml("x: &x {image: a}\nimages:\n- <<: *x\n- image: b\n  image: c\n"),
       "l.yaml:3:1: x: unknown field\n"
       "l.yaml:5:3: merge keys (<<) are not supported\n"
       "l.yaml:5:3: images[0].image: is required\n"
       "l.yaml:5:3: images[0][\"<<\"]: unknown field\n"
       "l.yaml:7:3: duplicate key \"image\", first written in line 6"},
      {"BadDurations", "l.yaml",
       Entry("  refresh: IfDigestChanged\n  refreshInterval: 30s\n  maxAge: 1d\n  pullTimeout: 25h\n"),
       "l.yaml:6:20: images[0].refreshInterval: must be from 1m to 8760h\n"
       "l.yaml:7:11: images[0].maxAge: must be a duration such as \"90s\" or \"1h30m\"\n"
       "l.yaml:8:16: images[0].pullTimeout: must be from 1m to 24h"},
      {"PartOfASecond", "l.yaml", Entry("  pullTimeout: 60.5s\n"),
       "l.yaml:5:16: images[0].pullTimeout: must be whole seconds"},
      {"TooMany", "l.yaml", Yaml("images:\n" + Repeated("- image: i#\n", 5001)),
       "l.yaml:4:1: has more than 5000 images"},
      {"TooDeep", "l.yaml", Yaml("images: " + std::string(16, '[') + std::string(16, ']') + "\n"),
       "l.yaml:3:24: is nested deeper than 16 levels"},
      {"TrailingGarbage", "l.json", "{} x", "l.json:1:4: there is something behind the end of the document"},
      {"YamlInAJsonFileIsYaml", "l.json", kHead, "l.json:1:1: images: is required"},
      {"DigestIsRefreshed", "l.yaml",
       Yaml(std::string("images:\n- image: a@") + kDigest + "\n  refresh: Always\n"),
       "l.yaml:5:12: images[0].refresh: contradicts the digest of the image: a digest always names the same "
       "content"},
      {"DirectivesWithoutRegistry", "l.yaml",
       Entry("  refresh: IfNotPresent\n  onUnreachable: NotReady\n  refreshInterval: 2h\n"),
       "l.yaml:6:18: images[0].onUnreachable: has no effect, since the registry is never asked: refresh is "
       "IfNotPresent and readyFor is not Always\n"
       "l.yaml:7:20: images[0].refreshInterval: has no effect, since the registry is never asked: refresh is "
       "IfNotPresent and readyFor is not Always"},
      {"StaleBeforeAsked", "l.yaml", Entry("  refresh: IfDigestChanged\n  maxAge: 30m\n"),
       "l.yaml:6:11: images[0].maxAge: contradicts itself: the image would be stale before it is asked for "
       "again; maxAge is 30m, refreshInterval is 1h"},
      {"StaleByDefaults", "l.yaml",
       Yaml("defaults: {refresh: IfDigestChanged, maxAge: 30m}\nimages:\n- image: a\n- image: b\n"),
       "l.yaml:3:46: defaults.maxAge: must not be shorter than refreshInterval"},
      {"StrictAndLenient", "l.yaml",
       Entry("  refresh: Always\n  refreshInterval: 2h\n  onTagMissing: NotReady\n  maxAge: 24h\n"),
       std::string("l.yaml:7:17: images[0].onTagMissing") + kStrict + "\nl.yaml:8:11: images[0].maxAge" +
           kStrict},
      {"LenientWhereTheDefaultIsStrict", "l.yaml",
       Yaml("defaults: {refresh: Always}\nimages:\n- image: a\n  onUnreachable: Keep\n"),
       std::string("l.yaml:6:18: images[0].onUnreachable") + kStrict},
      {"StrictAndLenientDefaults", "l.yaml",
       Yaml("defaults: {refresh: Always, onStale: Keep}\nimages:\n- image: a\n"),
       std::string("l.yaml:3:38: defaults.onStale") + kStrict},
      {"StaleWithoutAge", "l.yaml", Entry("  refresh: IfDigestChanged\n  onStale: NotReady\n"),
       "l.yaml:6:12: images[0].onStale: has no effect without maxAge"},
  };
  for (const BadSource& row : rows) {
    SCOPED_TRACE(row.name);
    const auto error = tests::MustFail(DecodeSource(row.file, row.bytes, row.capabilities));
    EXPECT_EQ(error.code(), base::Code::kInvalidArgument);
    EXPECT_EQ(error.message(), row.error);
  }
}

// Each by itself, by name, where the machinery is not there.
struct Unavailable {
  std::string name;
  std::string field;
  std::string error;
};

constexpr const char* kNoAsking = ": has no effect here: this agent asks no registry (--registry none)";

TEST(UnavailableField, IsRefusedByName) {
  const Unavailable rows[] = {
      {"Refresh", "refresh: IfDigestChanged",
       "l.yaml:5:12: images[0].refresh: this agent asks no registry (--registry none); only IfNotPresent is "
       "possible"},
      {"RefreshAlways", "refresh: Always",
       "l.yaml:5:12: images[0].refresh: this agent asks no registry (--registry none); only IfNotPresent is "
       "possible"},
      {"ReadyFor", "readyFor: Always", std::string("l.yaml:5:13: images[0].readyFor") + kNoAsking},
      {"Open", "open: Always",
       "l.yaml:5:9: images[0].open: touching images is not possible here, since --touch is off; Auto and "
       "Never are"},
      {"MaxAge", "maxAge: 24h", std::string("l.yaml:5:11: images[0].maxAge") + kNoAsking},
      {"RefreshInterval", "refreshInterval: 2h",
       std::string("l.yaml:5:20: images[0].refreshInterval") + kNoAsking},
      {"OnUnreachable", "onUnreachable: NotReady",
       std::string("l.yaml:5:18: images[0].onUnreachable") + kNoAsking},
      {"OnAccessDenied", "onAccessDenied: Keep",
       std::string("l.yaml:5:19: images[0].onAccessDenied") + kNoAsking},
      {"OnTagMissing", "onTagMissing: Keep", std::string("l.yaml:5:17: images[0].onTagMissing") + kNoAsking},
      {"OnStale", "onStale: Keep", std::string("l.yaml:5:12: images[0].onStale") + kNoAsking},
  };
  for (const Unavailable& row : rows) {
    SCOPED_TRACE(row.name);
    const auto error = tests::MustFail(DecodeSource("l.yaml", Entry("  " + row.field + "\n"), kNone));
    EXPECT_EQ(error.message(), row.error);
    auto defaults = DecodeSource("l.yaml", Yaml("defaults:\n  " + row.field + "\nimages: []\n"), kNone);
    ASSERT_FALSE(defaults);
    EXPECT_EQ(defaults.error().message(),
              base::ReplaceAll(base::ReplaceAll(row.error, "yaml:5", "yaml:4"), "images[0]", "defaults"));
  }
}

TEST(ImageList, DefaultValuesByNameAreFineWithoutTheMachinery) {
  auto content = tests::Must(DecodeSource(
      "l.yaml", Entry("  refresh: IfNotPresent\n  readyFor: IfNotPresent\n  open: Never\n"), kNone));
  EXPECT_EQ(content->entries[0].image.open, plan::Open::kNever);
}

TEST(ImageList, PlainTextAsPeopleHaveIt) {
  auto content = tests::Must(DecodeSource(
      "l.txt",
      "\xEF\xBB\xBF# images\r\n\r\nnginx\r\n\tghcr.io/acme/runner:v3 \r\n   # more\nlocalhost:5000/a", {}));
  ASSERT_EQ(content->entries.size(), 3U);
  EXPECT_EQ(content->entries[0].image.reference.Normalized(), "docker.io/library/nginx:latest");
  EXPECT_EQ(content->entries[1].at, (doc::Position{4, 2}));
  EXPECT_TRUE(content->entries[2].image.required);
}

TEST(ImageList, EveryFieldAndItsDefault) {
  auto content = tests::Must(DecodeSource("l.yaml", Yaml(R"(defaults:
  refresh: IfDigestChanged
  priority: 3
  onUnreachable: NotReady
images:
- image: ghcr.io/acme/runner:v3
  required: false
  readyFor: IfNotPresent
  refresh: IfDigestChanged
  refreshInterval: 90m
  maxAge: 24h
  onUnreachable: Keep
  onAccessDenied: Keep
  onTagMissing: NotReady
  onStale: NotReady
  priority: -10
  open: Always
  pullTimeout: 2h
  platforms: [linux/arm64/v8, linux/amd64, linux/amd64]
  nodeSelector: {pool: gpu, example.com/zone: ""}
  pin: true
  pullWindow: {start: 22:00, end: "06:30", days: [Sun, Mon], timeZone: Europe/Berlin}
- image: b@)" + std::string(kDigest) + "\n"),
                                          kAll));
  const plan::DesiredImage& image = content->entries[0].image;
  EXPECT_FALSE(image.required);
  EXPECT_EQ(image.ready_for, image::PullPolicy::kIfNotPresent);
  EXPECT_EQ(image.refresh, plan::Refresh::kIfDigestChanged);
  EXPECT_EQ(image.refresh_interval, minutes(90));
  EXPECT_EQ(image.max_age, hours(24));
  EXPECT_EQ(image.on_unreachable, plan::OnFailure::kKeep);
  EXPECT_EQ(image.on_access_denied, plan::OnFailure::kKeep);
  EXPECT_EQ(image.on_tag_missing, plan::OnFailure::kNotReady);
  EXPECT_EQ(image.on_stale, plan::OnFailure::kNotReady);
  EXPECT_EQ(image.priority, -10);
  EXPECT_EQ(image.open, plan::Open::kAlways);
  EXPECT_EQ(image.pull_timeout, hours(2));
  ASSERT_EQ(image.nodes.platforms.size(), 2U);
  EXPECT_EQ(image.nodes.platforms[0].ToString(), "linux/amd64");
  EXPECT_EQ(image.nodes.node_selector, (image::NodeLabels{{"pool", "gpu"}, {"example.com/zone", ""}}));
  EXPECT_TRUE(image.pin);
  EXPECT_EQ(image.pull_windows,
            (std::vector<plan::PullWindow>{{.start = hours(22),
                                            .end = minutes(390),
                                            .days = 0x41,
                                            .zone = *base::TimeZone::Find("Europe/Berlin")}}));
  const plan::DesiredImage& second = content->entries[1].image;
  EXPECT_EQ(second.refresh, plan::Refresh::kIfNotPresent)
      << "a digest is never refreshed, whatever the defaults";
  EXPECT_EQ(second.priority, 3);
  EXPECT_EQ(second.on_unreachable, plan::OnFailure::kKeep) << "nor is its registry asked";
  EXPECT_EQ(second.on_access_denied, plan::OnFailure::kNotReady);
  EXPECT_EQ(second.pull_timeout, hours(1));
}

TEST(ImageList, ReadyAsOfTheDefaultsAndOfAnEntry) {
  auto content = tests::Must(DecodeSource("l.yaml", Yaml(R"(defaults:
  readyAs: {secrets: [{namespace: ci, name: z}, {namespace: ci, name: pull}]}
images:
- image: a
- image: b
- {image: c, readyAs: {serviceAccount: {namespace: ci, name: runner, uid: 6F1c-2}}}
- {image: d, readyAs: {}}
- image: e
  readyAs:
)"),
                                          kNone));
  std::vector<std::string> pods;
  for (const ListEntry& entry : content->entries)
    pods.push_back(image::DescribeCredentials(*entry.image.ready_as));
  EXPECT_EQ(pods, (std::vector<std::string>{"with secrets ci/pull, ci/z", "with secrets ci/pull, ci/z",
                                            "with service account ci/runner (UID 6F1c-2)",
                                            "without pull secrets", "with secrets ci/pull, ci/z"}));
  EXPECT_EQ(&*content->entries[0].image.ready_as, &*content->entries[1].image.ready_as)
      << "thousands share the default's";
}

TEST(ImageList, NothingIsAListOfNoImages) {
  const std::pair<const char*, std::string> kNothings[] = {{"l.txt", ""},
                                                           {"l.txt", "# none\n"},
                                                           {"l.yaml", ""},
                                                           {"l.yml", " \n# none\n"},
                                                           {"l.json", ""},
                                                           {"l.yaml", Yaml("images: []\n")},
                                                           {"l.yaml", Yaml("images:\n")}};
  for (const auto& [name, bytes] : kNothings) {
    auto content = DecodeSource(name, bytes, {});
    ASSERT_TRUE(content) << name << bytes << content.error().message();
    EXPECT_TRUE(content->entries.empty());
  }
}

TEST(ImageList, WhichFilesBelong) {
  for (const char* name : {"a.txt", "a.yaml", "a.yml", "a.json", "a b.txt"})
    EXPECT_TRUE(IsListFileName(name));
  for (const char* name : {".a.txt", "..data", "a", "a.md", "a.txt~", "a.YAML", "txt", ""}) {
    EXPECT_FALSE(IsListFileName(name)) << name;
  }
}

TEST(PlainList, ARepeatedLineIsAWarning) {
  auto content = tests::Must(DecodeSource("l.txt", "nginx\nb\ndocker.io/library/nginx:latest\nnginx\n", {}));
  EXPECT_EQ(content->entries.size(), 3U);
  EXPECT_EQ(content->warnings, std::vector<std::string>{"l.txt:4: is nginx, which is in line 1 already"});
}

TEST(PlainList, ATextOfQuotedNamesIsNoYaml) {
  EXPECT_EQ(FormatOfText("\"nginx:1\"\n"), SourceFormat::kPlain);
}

struct ForeignCase {
  std::string name, text;
  std::string expect;  // "LINE image " for each, the notes, or what is wrong
};

std::string Object(const std::string& type, const std::string& rest) {
  const std::size_t slash = type.rfind('/');
  return "apiVersion: " + type.substr(0, slash) + "\nkind: " + type.substr(slash + 1) + "\n" + rest + "\n";
}

TEST(ForeignTest, IsRead) {
  const ForeignCase rows[] = {
      {"ImageCache",
       Object("kubefledged.io/v1alpha2/ImageCache",
              "spec: {cacheSpec: [{images: [q.io/a:1, q.io/b:2]}, {images: [q.io/c:3], nodeSelector: {t: "
              "b}}], imagePullSecrets: [{name: s}]}"),
       "3 q.io/a:1 3 q.io/b:2 3 q.io/c:3 "},
      {"ImagePullJob", Object("apps.kruise.io/v1alpha1/ImagePullJob", "spec: {image: 'q.io/a:1'}"),
       "3 q.io/a:1 "},
      {"ImageListPullJob",
       Object("apps.kruise.io/v1beta1/ImageListPullJob", "spec: {images: ['q.io/a:1', 'q.io/b:1']}"),
       "3 q.io/a:1 3 q.io/b:1 "},
      {"NodeImage",
       Object("apps.kruise.io/v1alpha1/NodeImage",
              "spec: {images: {q.io/a: {tags: [{tag: v1}, {tag: v2}]}}}"),
       "3 q.io/a:v1 3 q.io/a:v2 "},
      {"NodeImageOfADigest",
       Object("apps.kruise.io/v1alpha1/NodeImage",
              "spec: {images: {q.io/a: {tags: [{tag: 'sha256:" + std::string(64, '1') + "'}]}}}"),
       "3 q.io/a@sha256:" + std::string(64, '1') + " "},
      {"InAList",
       Object("v1/List",
              "items: [{apiVersion: kubefledged.io/v1alpha2, kind: ImageCache, spec: {cacheSpec: "
              "[{images: ['q.io/a:1']}]}}, {apiVersion: v1, kind: Pod}]"),
       "3 q.io/a:1 and manifests"},
      {"InATypedList",
       Object("kubefledged.io/v1alpha2/ImageCacheList",
              "items: [{spec: {cacheSpec: [{images: ['q.io/a:1']}]}}]"),
       "3 q.io/a:1 "},
      {"AListWithoutItems", Object("v1/List", "items: []"), "manifests"},
      {"PinnedImageSet",
       Object("machineconfiguration.openshift.io/v1/PinnedImageSet",
              "spec: {pinnedImages: [{name: 'q.io/a:1'}]}"),
       "3 q.io/a:1 "},
      {"KnativeImage", Object("caching.internal.knative.dev/v1alpha1/Image", "spec: {image: 'q.io/q:1'}"),
       "3 q.io/q:1 "},
      {"KubernetesImagePuller",
       Object("che.eclipse.org/v1alpha1/KubernetesImagePuller", "spec: {images: 'a=q.io/a:1;b=q.io/b:1'}"),
       "3 q.io/a:1 3 q.io/b:1 "},
      {"ImagesOfAPuller", Object("v1/ConfigMap", "data: {IMAGES: 'a=q.io/a:1;b=q.io/b:1;'}"),
       "3 q.io/a:1 3 q.io/b:1 "},
      {"ImageSetConfiguration",
       Object("mirror.openshift.io/v2alpha1/ImageSetConfiguration",
              "mirror: {additionalImages: [{name: 'q.io/a:1'}], operators: [{catalog: 'q.io/c:1'}]}"),
       "3 q.io/a:1 3 q.io/c:1 x:3:62: mirror.operators: only oc-mirror can name its images"},
      {"ImageSetConfigurationWithATransport",
       Object("mirror.openshift.io/v2alpha1/ImageSetConfiguration",
              "mirror: {additionalImages: [{name: 'docker://q.io/a:1'}], platform: {graph: true}, helm: {}}"),
       "3 q.io/a:1 x:3:69: mirror.platform: only oc-mirror can name its images"},
      {"ACatalogInAFolder",
       Object("mirror.openshift.io/v2alpha1/ImageSetConfiguration",
              "mirror: {additionalImages: [{name: 'q.io/a:1'}], operators: [{catalog: 'oci:///c'}]}"),
       "3 q.io/a:1 x:3:62: mirror.operators: only oc-mirror can name its images|x:3:72: no registry has "
       "oci:///c"},
      {"Ids", "q.io/a:1\nsha256:" + std::string(64, '1') + "\n",
       "1 q.io/a:1 x:2:1: no registry has sha256:" + std::string(64, '1')},
      {"NullIsAbsent",
       Object("kubefledged.io/v1alpha2/ImageCache",
              "spec: {cacheSpec: [{images: [{name: null}, null, q.io/a:1]}]}") +
           "---\n" +
           Object("apps.kruise.io/v1alpha1/NodeImage",
                  "spec: {images: {q.io/b: {tags: [{tag: ~}, {tag: v1}]}}}"),
       "3 q.io/a:1 7 q.io/b:v1 "},
      {"NullInAComposeFile", "services:\n  a: {image: null, build: .}\n  b: {image: q.io/b:1}\n",
       "3 q.io/b:1 "},
      {"AComposeFileWithVolumes",
       "services:\n  a: {build: ., volumes: ['d:/d', {type: bind, source: /b}, {type: image, source: "
       "q.io/v:1}]}\n",
       "2 q.io/v:1 "},
      {"AComposeFileOfSeveral",
       "include: [b.yaml]\nservices:\n  a: {image: 'q.io/a:1', extends: {file: c.yaml, service: c}}\n"
       "  b: {extends: {service: a}}\n",
       "3 q.io/a:1 x:1:11: another file has images: read the output of docker compose config|"
       "x:3:42: another file has images: read the output of docker compose config"},
      {"ComposeFile", "services:\n  web: {image: 'q.io/w:1'}\n  own: {build: .}\n", "2 q.io/w:1 "},
      {"Kubeadm", "registry.k8s.io/kube-apiserver:v1.33.1\nregistry.k8s.io/coredns/coredns:v1.12.0\n",
       "1 registry.k8s.io/kube-apiserver:v1.33.1 2 registry.k8s.io/coredns/coredns:v1.12.0 "},
      {"KubeadmAsYaml",
       Object("output.kubeadm.k8s.io/v1alpha3/Images", "images: ['registry.k8s.io/pause:3.10']"),
       "3 registry.k8s.io/pause:3.10 "},
      {"AComposeFileWithAVariable", "services:\n  web: {image: 'q.io/w:${TAG:-1}'}\n",
       "x:2:16: image name \"q.io/w:${TAG:-1}\": invalid reference format: give its variable a value: read "
       "the output of docker compose config"},
      {"AVariableInAnotherList",
       Object("kubefledged.io/v1alpha3/ImageCache", "spec: {cacheSpec: [{images: ['q.io/a:$X']}]}"),
       "x:3:30: image name \"q.io/a:$X\": invalid reference format"},
      {"HelmsValues", "controller: {images: {repository: q.io/x, tag: v1}}\n", "manifests"},
      {"SkopeoSync",
       "q.io:\n  credentials: {username: u, password: p}\n  images:\n    a/b: ['1.0', 'sha256:" +
           std::string(64, '1') + "']\nr.io:5000:\n  images: {c: [v1]}\n",
       "4 q.io/a/b:1.0 4 q.io/a/b@sha256:" + std::string(64, '1') + " 6 r.io:5000/c:v1 "},
      {"SkopeoSyncOfAllTags", "q.io:\n  images: {a: [v1], b: []}\n  images-by-tag-regex: {c: ^v1}\n",
       "2 q.io/a:v1 x:2:21: only the registry knows which tags of b are meant: name each tag under images|"
       "x:3:25: only the registry knows which tags of c are meant: name each tag under images"},
      {"APlainListOfWindows", "\xEF\xBB\xBFq.io/a:1\r\nq.io/b:1\r\n", "1 q.io/a:1 2 q.io/b:1 "},
      {"CrictlTable",
       "IMAGE                TAG      IMAGE ID       SIZE\nq.io/a               v1       0123456789abc  "
       "5MB\nq.io/b               <none>   0123456789abc  5MB\n<none>               <none>   0123456789abc  "
       "5MB\n",
       "2 q.io/a:v1 x: 1 image has no tag but a digest: give the output of crictl images -o json"},
      {"CrictlTableOfDigests",
       "IMAGE    TAG      IMAGE ID       SIZE\nq.io/b   <none>   0123456789abc  5MB\n",
       "x: no image was found in it|x: 1 image has no tag but a digest: give the output of crictl images -o "
       "json"},
      {"CrictlJson", R"({"images":[{"repoTags":["q.io/a:v1"]}]})", "1 q.io/a:v1 "},
      {"CrictlYaml",
       "images:\n- id: x\n  repoTags: ['q.io/a:v1']\n- repoDigests: [q.io/b@sha256:" + std::string(64, '1') +
           "]\n",
       "1 q.io/a:v1 1 q.io/b@sha256:" + std::string(64, '1') + " "},
      {"Manifests", Object("v1/Pod", "spec: {}"), "manifests"},
      {"AHelmRelease",
       "---\n# Source: shop/templates/serviceaccount.yaml\napiVersion: v1\nkind: ServiceAccount\n"
       "metadata: {name: shop}\n---\n# Source: shop/templates/nothing.yaml\n---\n"
       "# Source: shop/templates/web.yaml\n" +
           Object("apps/v1/Deployment", "spec: {template: {spec: {containers: [{image: a}]}}}"),
       "manifests"},
      {"AConfigMapOfSomethingElse",
       Object("v1/ConfigMap", "data: {a: b}") + "---\n" +
           Object("apps/v1/Deployment", "spec: {template: {spec: {containers: [{image: a}]}}}"),
       "manifests"},
      {"BesideAWorkload",
       Object("kubefledged.io/v1alpha3/ImageCache", "spec: {cacheSpec: [{images: ['q.io/a:1']}]}") + "---\n" +
           Object("apps/v1/Deployment", "spec: {template: {spec: {containers: [{image: a}]}}}"),
       "3 q.io/a:1 and manifests"},
      {"LongerThanAnyList", "apiVersion: v1\n" + std::string(10 << 20, '#'), "manifests"},
      {"NoName", Object("apps.kruise.io/v1alpha1/ImagePullJob", "spec: {image: 'q.io/A:1'}"),
       "x:3:15: image name \"q.io/A:1\": path must be lowercase"},
      {"Nothing", "# none\n", "x: no image was found in it"},
  };
  for (const ForeignCase& row : rows) {
    SCOPED_TRACE(row.name);
    doc::Problems problems("x");
    const auto list = ReadForeignList(row.text, problems);
    std::string found = list ? "" : "manifests";
    for (const NamedImage& image : list.value_or(ForeignList()).images) {
      found += std::to_string(image.at.line) + " " + image.reference.written() + " ";
    }
    if (list && list->has_other_objects) found += "and manifests";
    if (list && problems.empty()) found += base::Join(list->notes, "|");
    EXPECT_EQ(found + base::Join(problems.Lines(), "|"), row.expect);
  }
}

std::string Names(std::string_view json, std::string& mistakes) {
  doc::Problems problems("x.json");
  std::vector<std::string> names;
  for (const image::Reference& reference : ReadCrictlImages(json, problems))
    names.push_back(reference.Normalized());
  mistakes = base::Join(problems.Lines(), "\n");
  return base::Join(names, " ");
}

const std::string kCrictlImagesDigest = "sha256:" + std::string(64, 'a');

// As crictl 1.31 prints it.
TEST(CrictlImages, ByTagElseByDigest) {
  std::string mistakes;
  EXPECT_EQ(Names(R"({
  "images": [
    {"id": "sha256:1", "repoTags": ["docker.io/library/nginx:1.27", "quay.io/acme/nginx:v1"],
     "repoDigests": ["docker.io/library/nginx@)" +
                      kCrictlImagesDigest + R"("], "size": "71", "uid": null, "username": "",
     "spec": {"image": "", "annotations": {}}, "pinned": false},
    {"id": "sha256:2", "repoTags": [], "repoDigests": ["quay.io/acme/old@)" +
                      kCrictlImagesDigest + R"("], "pinned": true},
    {"id": "sha256:3", "repoTags": ["<none>:<none>"], "repoDigests": ["<none>@<none>"]},
    {"id": "sha256:4", "repoTags": ["Not A Name"], "repoDigests": []}
  ]
})",
                  mistakes),
            "docker.io/library/nginx:1.27 quay.io/acme/nginx:v1 quay.io/acme/old@" + kCrictlImagesDigest);
  EXPECT_EQ(mistakes, "");
}

TEST(CrictlImages, WhatIsNoSuchDocument) {
  for (const char* text : {"", "[]", "{}", "{\"images\": {}}", "{\"images\": [5]}", "REPOSITORY TAG\n",
                           "{\"images\": [{\"repoTags\": \"nginx\"}]}"}) {
    std::string mistakes;
    EXPECT_EQ(Names(text, mistakes), "") << text;
    EXPECT_NE(mistakes, "") << text;
  }
}

struct MarkedCase {
  std::string name, text, expect;
};
TEST_TABLE(MarkedImagesTest, AreFound, MarkedCase) {
  doc::Problems problems("f");
  std::string found;
  for (const NamedImage& image : ReadMarkedImages(row.text, "prefetch:me", problems)) {
    found += std::to_string(image.at.line) + ":" + std::to_string(image.at.column) + " " +
             image.reference.written() + "\n";
  }
  for (const std::string& line : problems.Lines()) found += line + "\n";
  EXPECT_EQ(found, row.expect);
}
TEST_ROWS(All, MarkedImagesTest,
          {"Dockerfile", "FROM quay.io/acme/b:v3 AS build  # prefetch:me\n", "1:6 quay.io/acme/b:v3\n"},
          {"Go", "const x = \"quay.io/acme/x:v1\" // prefetch:me\n", "1:12 quay.io/acme/x:v1\n"},
          {"Shell", "IMAGE=quay.io/acme/x:v1 # prefetch:me\n", "1:7 quay.io/acme/x:v1\n"},
          {"Yaml", "image: quay.io/acme/x:v1 # prefetch:me", "1:8 quay.io/acme/x:v1\n"},
          {"Json", "{\"a\": \"reg:5000/x\", \"//\": \"prefetch:me\"}\n", "1:8 reg:5000/x\n"},
          {"TheNextLine", "# prefetch:me\n\nimage = 'quay.io/acme/x:v1'\n", "3:10 quay.io/acme/x:v1\n"},
          {"InTheComment", "# prefetch:me quay.io/acme/x:v1\nother: quay.io/y:v1\n",
           "1:15 quay.io/acme/x:v1\n"},
          {"Skopeo", "docker://quay.io/acme/x:v1 # prefetch:me\n", "1:10 quay.io/acme/x:v1\n"},
          {"ARegistryGoesFirst", "run:x nginx:1.27 q.io/a # prefetch:me\n", "1:18 q.io/a\n"},
          {"AShortNameWithATag", "FROM nginx:1.27 # prefetch:me\n", "1:6 nginx:1.27\n"},
          {"WordsAreNoNames", "see src/main.go at 12:30 std::string # prefetch:me\nnothing here\n",
           "f:1:40: no image name stands in the line of this marker, nor in the next one\n"},
          {"TheEnd", "x\n# prefetch:me\n",
           "f:2:3: no image name stands in the line of this marker, nor in the next one\n"},
          {"SeveralInALine",
           "[\"prefetch:me\", \"q.io/a\", \"--prefetch:me=q.io/b-prefetch:me\", q.io/c:v1]\n",
           "1:18 q.io/a\n1:42 q.io/b-prefetch:me\n"},
          {"OneOfThemWithout", "- prefetch:me=q.io/a:v1 prefetch:me=$B\n",
           "1:15 q.io/a:v1\nf:1:25: no image name stands behind this marker, as behind others of its line\n"},
          {"BehindBeforeInFront", "FROM q.io/a AS q.io/b  # prefetch:me q.io/c\n", "1:38 q.io/c\n"},
          {"NoMarker", "quay.io/acme/x:v1\n", ""},
          {"WindowsLines", "FROM quay.io/a:v1 # prefetch:me\r\n", "1:6 quay.io/a:v1\n"});

}  // namespace
}  // namespace prefetch::list::image_list_test
