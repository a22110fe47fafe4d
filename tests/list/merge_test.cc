#include "list/merge.h"

#include <gtest/gtest.h>

#include "doc/write.h"
#include "list/canonical.h"
#include "rig/expect_has.h"
#include "rows.h"

namespace prefetch::list::merge_test {
namespace {

constexpr Capabilities kAll{.refresh = true, .touch = true, .registry_checks = true};

SourceContent Decode(const std::string& name, const std::string& bytes) {
  auto content = DecodeSource(name, bytes, kAll);
  EXPECT_TRUE(content) << content.error().message();
  return content ? *content : SourceContent();
}

LoadedSource Source(const std::string& name, const std::string& images) {
  bool text = name.ends_with(".txt");
  std::string head = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n";
  SourceContent content = Decode(name, text ? images : head + images);
  LoadedSource source;
  source.info.name = name;
  source.info.hash = SourceHash(content);
  source.content = std::make_shared<const SourceContent>(std::move(content));
  return source;
}

std::vector<std::string> Names(const plan::ImageList& list) {
  std::vector<std::string> names;
  for (const plan::DesiredImage& image : list.images) names.push_back(image.reference.written());
  return names;
}

std::vector<std::string> Spellings(const plan::DesiredImage& image) {
  std::vector<std::string> names = {image.reference.written()};
  for (const plan::PodProfile& other : image.other_pods) names.push_back(other.reference.written());
  return names;
}

// Never: no contact with a registry; IfNotPresent: at most a check; Always: the registry's word. Each source
// gets what it asks for.
TEST(Merge, WhatAnySourceAsksToBeReadyForIsMet) {
  struct Row {
    const char *a, *b;
    image::PullPolicy merged;
    bool also_for_never;
  };
  using image::PullPolicy;
  for (const Row& row : {Row{"Never", "Never", PullPolicy::kNever, false},
                         Row{"Never", "IfNotPresent", PullPolicy::kNever, false},
                         Row{"IfNotPresent", "Never", PullPolicy::kNever, false},
                         Row{"IfNotPresent", "IfNotPresent", PullPolicy::kIfNotPresent, false},
                         Row{"Always", "IfNotPresent", PullPolicy::kAlways, false},
                         Row{"Always", "Always", PullPolicy::kAlways, false},
                         Row{"Always", "Never", PullPolicy::kAlways, true},
                         Row{"Never", "Always", PullPolicy::kAlways, true}}) {
    auto entry = [](const char* policy) {
      return std::string("- {image: nginx, refresh: IfDigestChanged, readyFor: ") + policy + "}\n";
    };
    plan::ImageList list = Merge({Source("a.yaml", entry(row.a)), Source("b.yaml", entry(row.b))});
    ASSERT_EQ(list.images.size(), 1U) << row.a << " " << row.b;
    EXPECT_EQ(list.images[0].ready_for, row.merged) << row.a << " " << row.b;
    EXPECT_EQ(list.images[0].also_for_never, row.also_for_never) << row.a << " " << row.b;
  }
}

TEST(Merge, TheStrictestCounts) {
  plan::ImageList list = Merge(
      {Source("a.yaml",
              "- {image: nginx, required: false, readyFor: Never, refresh: IfDigestChanged, refreshInterval: "
              "1h, "
              "maxAge: 24h,"
              " onUnreachable: NotReady, onAccessDenied: Keep, priority: 1, open: Auto, pullTimeout: 1h,"
              " platforms: [linux/amd64]}\n"),
       Source("b.yaml",
              "- {image: 'docker.io/library/nginx:latest', required: true, readyFor: Always, "
              "refreshInterval: 5m,"
              " maxAge: 12h, onTagMissing: NotReady, onStale: NotReady, priority: 7, open: Always, "
              "pullTimeout: 3h,"
              " platforms: [linux/arm64]}\n")});
  ASSERT_EQ(list.images.size(), 1U);
  const plan::DesiredImage& image = list.images[0];
  EXPECT_EQ(image.reference.written(), "nginx");
  EXPECT_EQ(Spellings(image), (std::vector<std::string>{"nginx", "docker.io/library/nginx:latest"}));
  EXPECT_TRUE(image.required);
  EXPECT_EQ(image.ready_for, image::PullPolicy::kAlways);
  EXPECT_EQ(image.refresh, plan::Refresh::kIfDigestChanged);
  EXPECT_EQ(image.refresh_interval, std::chrono::minutes(5));
  EXPECT_EQ(image.max_age, std::chrono::hours(12));
  EXPECT_EQ(image.on_unreachable, plan::OnFailure::kNotReady);
  EXPECT_EQ(image.on_access_denied, plan::OnFailure::kNotReady);
  EXPECT_EQ(image.on_tag_missing, plan::OnFailure::kNotReady);
  EXPECT_EQ(image.on_stale, plan::OnFailure::kNotReady);
  EXPECT_EQ(image.priority, 7);
  EXPECT_EQ(image.open, plan::Open::kAlways);
  EXPECT_EQ(image.pull_timeout, std::chrono::hours(3));
  EXPECT_EQ(image.nodes.platforms.size(), 2U);
  EXPECT_EQ(image.from, (std::vector<std::string>{"a.yaml:4", "b.yaml:4"}));
  EXPECT_EQ(image.sources, (std::vector<std::string>{"a.yaml", "b.yaml"}));
  EXPECT_TRUE(list.warnings.empty());
  EXPECT_EQ(list.hash, ListHash({list.sources[0].hash, list.sources[1].hash}));
}

TEST(Merge, EverySpellingIsKeptOnce) {
  plan::ImageList list =
      Merge({Source("a.txt", "x\nnginx:1.27\n"), Source("b.txt", "docker.io/library/nginx:1.27\n"),
             Source("c.txt", "nginx:1.27\nlibrary/nginx:1.27\n")});
  ASSERT_EQ(list.images.size(), 2U);
  EXPECT_EQ(Spellings(list.images[0]), (std::vector<std::string>{"x"}));
  EXPECT_EQ(Spellings(list.images[1]),
            (std::vector<std::string>{"nginx:1.27", "docker.io/library/nginx:1.27", "library/nginx:1.27"}));
  EXPECT_EQ(list.images[1].from, (std::vector<std::string>{"a.txt:2", "b.txt:1", "c.txt:1", "c.txt:2"}));
  EXPECT_EQ(list.images[1].sources, (std::vector<std::string>{"a.txt", "b.txt", "c.txt"}));
}

// Each pair of what a pod writes and what it has is judged, not each with each.
TEST(Merge, EveryPodOfReadyAsIsKeptOnce) {
  const std::string ci = "readyAs: {secrets: [{namespace: ci, name: pull}]}";
  plan::ImageList list =
      Merge({Source("a.yaml", "- {image: nginx, " + ci + "}\n"), Source("b.yaml", "- {image: nginx}\n"),
             Source("c.yaml", "- {image: library/nginx, " + ci + "}\n- {image: a, " + ci + "}\n"),
             Source("d.yaml", "- {image: nginx, " + ci + "}\n")});
  ASSERT_EQ(list.images.size(), 2U);
  auto pods = [](const plan::DesiredImage& image) {
    std::vector<std::string> texts = {image.reference.written() + " " +
                                      image::DescribeCredentials(*image.ready_as)};
    for (const plan::PodProfile& pod : image.other_pods) {
      texts.push_back(pod.reference.written() + " " + image::DescribeCredentials(*pod.ready_as));
    }
    return texts;
  };
  EXPECT_EQ(pods(list.images[0]),
            (std::vector<std::string>{"nginx with secret ci/pull", "nginx without pull secrets",
                                      "library/nginx with secret ci/pull"}));
  EXPECT_EQ(pods(list.images[1]), (std::vector<std::string>{"a with secret ci/pull"}));
}

TEST(Merge, TwoSpellingsInOneSourceCountLikeTwoSources) {
  plan::ImageList list = Merge({Source("a.yaml",
                                       "- {image: nginx, required: false, open: Always}\n"
                                       "- {image: nginx:latest, priority: 3, open: Never}\n")});
  ASSERT_EQ(list.images.size(), 1U);
  const plan::DesiredImage& image = list.images[0];
  EXPECT_TRUE(image.required);
  EXPECT_EQ(image.priority, 3);
  EXPECT_EQ(image.open, plan::Open::kNever);
  EXPECT_EQ(image.sources, (std::vector<std::string>{"a.yaml"}));
  EXPECT_EQ(image.from, (std::vector<std::string>{"a.yaml:4", "a.yaml:5"}));
  EXPECT_EQ(
      list.warnings,
      (std::vector<std::string>{
          "nginx: open is Always at one and Never at the other of a.yaml:4 and a.yaml:5; Never counts"}));
}

// The order of the strict source and the other one does not matter.
TEST(Merge, ADirectiveOfOneIsADirectiveOfAll) {
  const std::string strict =
      "- {image: a, refresh: IfDigestChanged, maxAge: 24h, onUnreachable: NotReady, onAccessDenied: "
      "NotReady, "
      "onTagMissing: NotReady, onStale: "
      "NotReady}\n";
  const std::string keep =
      "- {image: a, refresh: IfDigestChanged, maxAge: 24h, onUnreachable: Keep, onAccessDenied: Keep, "
      "onTagMissing: Keep, "
      "onStale: Keep}\n";
  for (const auto& [first, second] : {std::pair(strict, keep), std::pair(keep, strict)}) {
    plan::ImageList list = Merge({Source("a.yaml", first), Source("b.yaml", second)});
    const plan::DesiredImage& image = list.images.at(0);
    for (plan::OnFailure directive :
         {image.on_unreachable, image.on_access_denied, image.on_tag_missing, image.on_stale}) {
      EXPECT_EQ(directive, plan::OnFailure::kNotReady);
    }
  }
}

TEST(Merge, AnEntryThatNeverAsksTheRegistryDemandsNothingOfIt) {
  const LoadedSource asks = Source("a.yaml",
                                   "- {image: a, refresh: IfDigestChanged, refreshInterval: 6h, maxAge: 24h, "
                                   "onAccessDenied: Keep, onStale: NotReady}\n");
  const LoadedSource never = Source("b.yaml", "- {image: a}\n");
  for (const auto& sources : {std::vector{asks, never}, {never, asks}, {never, asks, never}}) {
    const plan::ImageList list = Merge(sources);
    const plan::DesiredImage& image = list.images.at(0);
    EXPECT_EQ(image.refresh_interval, std::chrono::hours(6));
    EXPECT_EQ(image.max_age, std::chrono::hours(24));
    EXPECT_EQ(image.on_access_denied, plan::OnFailure::kKeep);
    EXPECT_EQ(image.on_stale, plan::OnFailure::kNotReady);
  }
}

// Each source's nodes need the image, and no other node.
TEST(Merge, NodeSelectorsAreScopesOfTheirOwn) {
  plan::ImageList list =
      Merge({Source("a.yaml", "- {image: a, nodeSelector: {pool: gpu}, platforms: [linux/amd64]}\n"),
             Source("b.yaml", "- {image: a, nodeSelector: {pool: ci}}\n"),
             Source("c.yaml", "- {image: a, nodeSelector: {pool: gpu}, platforms: [linux/arm64]}\n"),
             Source("d.yaml", "- {image: a, nodeSelector: {pool: ci}}\n")});
  const plan::DesiredImage& image = list.images.at(0);
  EXPECT_EQ(image.nodes.platforms.size(), 2U);
  EXPECT_EQ(image.nodes.node_selector, (image::NodeLabels{{"pool", "gpu"}}));
  ASSERT_EQ(image.other_nodes.size(), 1U);
  EXPECT_EQ(image.other_nodes[0], (plan::NodeScope{.platforms = {}, .node_selector = {{"pool", "ci"}}}));
}

// Each source may bring the image in its own hours. One without a window wants it at once.
TEST(Merge, PullWindowsAreAUnion) {
  const std::string night = "- {image: a, pullWindow: {start: '22:00', end: '06:00'}}\n";
  const std::string weekend = "- {image: a, pullWindow: {start: '00:00', end: '24:00', days: [Sat, Sun]}}\n";
  const plan::ImageList merged =
      Merge({Source("a.yaml", night), Source("b.yaml", weekend), Source("c.yaml", night)});
  EXPECT_EQ(merged.warnings,
            (std::vector<std::string>{"a: pullWindow differs at a.yaml:4 and b.yaml:4; pulls "
                                      "start while one is open"}));
  const std::vector<plan::PullWindow> both = merged.images[0].pull_windows;
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(plan::TextOf(both[0]), "22:00 to 06:00 UTC");
  EXPECT_EQ(plan::TextOf(both[1]), "00:00 to 24:00 UTC, Sat Sun");
  EXPECT_TRUE(Merge({Source("a.yaml", night), Source("b.txt", "a\n")}).images[0].pull_windows.empty());
  EXPECT_TRUE(Merge({Source("b.txt", "a\n"), Source("a.yaml", night)}).images[0].pull_windows.empty());
}

TEST(Merge, ASourceWithoutAWindowIsNamed) {
  const std::string night = "- {image: a, pullWindow: {start: '22:00', end: '06:00'}}\n";
  EXPECT_EQ(
      Merge({Source("a.yaml", night), Source("b.txt", "a\n")}).warnings,
      (std::vector<std::string>{"a: pullWindow differs at a.yaml:4 and b.txt:1; pulls start at any time"}));
  EXPECT_TRUE(Merge({Source("a.yaml", night), Source("b.yaml", night)}).warnings.empty());
}

TEST(Merge, AWindowThatKeepsNodesFromBeingReadyIsNamed) {
  const auto warnings = [](const std::string& fields) {
    return Merge({Source("a.yaml", "- {image: a, pullWindow: {start: '22:00', end: '06:00'}, " + fields +
                                       "}\n- {image: b, pullWindow: {start: '22:00', end: '06:00'}, " +
                                       fields + "}\n- {image: c, " + fields + "}\n")})
        .warnings;
  };
  const std::string until =
      "a and 1 other: a tag that moves makes nodes not ready until the pullWindow opens, up to "
      "16 h, because of ";
  EXPECT_EQ(warnings("refresh: Always"),
            std::vector<std::string>{until + "refresh: Always or readyFor: Always"});
  EXPECT_EQ(warnings("refresh: IfDigestChanged, readyFor: Always"),
            std::vector<std::string>{until + "refresh: Always or readyFor: Always"});
  EXPECT_EQ(warnings("refresh: IfDigestChanged, maxAge: 15h, onStale: NotReady"),
            std::vector<std::string>{until + "onStale: NotReady with a shorter maxAge"});
  for (const char* fine :
       {"refresh: IfDigestChanged, maxAge: 16h, onStale: NotReady", "refresh: IfDigestChanged, maxAge: 1h",
        "refresh: Always, required: false", "readyFor: Always", "pin: true"}) {
    EXPECT_TRUE(warnings(fine).empty()) << fine;
  }
}

// The warning names the longest time in a week in which no window is open.
TEST(Merge, TheTimeForWhichWindowsAreClosed) {
  const std::string start = "- {image: a, refresh: Always, pullWindow: {",
                    night = start + "start: '22:00', end: '06:00'";
  const auto closed = [](const std::string& one, const std::string& other) {
    const std::string text =
        Merge({Source("a.yaml", one + "}}\n"), Source("b.yaml", other + "}}\n")}).warnings.back();
    const std::size_t at = text.find("up to ") + 6;
    return text.substr(at, text.find(',', at) - at);
  };
  EXPECT_EQ(closed(night, night), "16 h");
  EXPECT_EQ(closed(night, start + "start: '13:00', end: '14:00', timeZone: Europe/Berlin"), "9 h")
      << "13:00 to 22:00";
  EXPECT_EQ(closed(night + ", days: [Fri]", night + ", days: [Sat]"), "6 d") << "136 hours";
  EXPECT_EQ(closed(start + "start: '20:00', end: '08:00', days: [Sun]",
                   start + "start: '07:00', end: '09:00', days: [Tue]"),
            "5 d")
      << "131 hours, over the end of the week";
}

TEST(Merge, APinOfOneSourceIsEnough) {
  EXPECT_TRUE(Merge({Source("a.txt", "a\n"), Source("b.yaml", "- {image: a, pin: true}\n")}).images[0].pin);
  EXPECT_FALSE(Merge({Source("a.txt", "a\n"), Source("b.yaml", "- {image: a, pin: false}\n")}).images[0].pin);
}

TEST(Merge, NoPlatformsMeansEveryNode) {
  plan::ImageList list =
      Merge({Source("a.yaml", "- {image: a, platforms: [linux/amd64]}\n"), Source("b.txt", "a\n")});
  EXPECT_TRUE(list.images[0].nodes.platforms.empty());
}

TEST(Merge, OrderIsByPriorityThenAsListed) {
  plan::ImageList list =
      Merge({Source("b.txt", "one\ntwo\n"), Source("a.yaml",
                                                   "- image: three\n- {image: four, priority: 5}\n"
                                                   "- {image: two, priority: 1}\n")});
  EXPECT_EQ(Names(list), (std::vector<std::string>{"four", "two", "one", "three"}));
}

TEST(Merge, AnEmptySourceIsWarnedAbout) {
  plan::ImageList list = Merge({Source("a.txt", ""), Source("b.txt", "x\n")});
  EXPECT_EQ(list.warnings, (std::vector<std::string>{"a.txt: lists no images"}));
  EXPECT_EQ(list.images.size(), 1U);
}

const char kPlain[] =
    "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: b:v2\n  priority: 2\n- image: "
    "a\n";

struct Same {
  std::string name;
  std::string file;
  std::string bytes;
  bool same = true;
};

TEST_TABLE(Hash, DependsOnWhatIsAskedFor, Same) {
  std::string hash = SourceHash(Decode(row.file, row.bytes));
  EXPECT_EQ(hash == SourceHash(Decode("l.yaml", kPlain)), row.same) << hash;
}

const std::string kHead = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\n";

TEST_ROWS(
    Canonical, Hash, {"Itself", "l.yaml", kPlain},
    {"KeyOrderAndComments", "l.yaml",
     "# x\nkind: ImageList\nimages: [{priority: 2, image: 'b:v2'}, {image: \"a\"}]\napiVersion: "
     "prefetchd.dev/v1alpha1\n"},
    {"Json", "l.json",
     R"({"apiVersion":"prefetchd.dev/v1alpha1","kind":"ImageList","images":[{"image":"b:v2","priority":2},{"image":"a"}]})"},
    {"OtherListingOfOtherPriorities", "l.yaml",
     kHead + "images:\n- image: a\n- {image: b:v2, priority: 2}\n"},
    {"TagLatestIsWhatKubeletAdds", "l.yaml",
     kHead + "images:\n- {image: b:v2, priority: 2}\n- image: a:latest\n"},
    {"DefaultsByName", "l.yaml",
     kHead + "defaults: {readyFor: Never}\nimages:\n- {image: b:v2, priority: 2, required: true, "
             "pullTimeout: 60m}\n"
             "- image: a\n"},
    {"ByDefaults", "l.yaml",
     kHead + "defaults: {priority: 2}\nimages:\n- image: b:v2\n- {image: a, priority: 0}\n"},
    {"OtherName", "l.yaml", kHead + "images:\n- {image: b:v3, priority: 2}\n- image: a\n", false},
    {"OtherPriority", "l.yaml", kHead + "images:\n- {image: b:v2, priority: 3}\n- image: a\n", false},
    {"NotRequired", "l.yaml",
     kHead + "images:\n- {image: b:v2, priority: 2}\n- {image: a, required: false}\n", false},
    {"ReadyAsNobody", "l.yaml",
     kHead + "defaults: {readyAs: {secrets: [{namespace: ci, name: pull}]}}\nimages:\n"
             "- {image: b:v2, priority: 2, readyAs: {}}\n- {image: a, readyAs: {secrets: []}}\n"},
    {"ReadyAs", "l.yaml",
     kHead + "images:\n- {image: b:v2, priority: 2}\n"
             "- {image: a, readyAs: {secrets: [{namespace: ci, name: pull}]}}\n",
     false},
    {"OneLess", "l.yaml", kHead + "images:\n- {image: b:v2, priority: 2}\n", false});

TEST(Canonical, OrderOfEqualPrioritiesCounts) {
  EXPECT_NE(SourceHash(Decode("l.txt", "a\nb\n")), SourceHash(Decode("l.txt", "b\na\n")));
}

TEST(Canonical, IsAListWithTheSameHash) {
  SourceContent content = Decode("l.yaml", kHead + R"(images:
- {image: "b:v2", required: false, readyFor: Always, refresh: IfDigestChanged, refreshInterval: 90m, maxAge: 24h,
   onUnreachable: NotReady, onAccessDenied: Keep, onTagMissing: NotReady, onStale: NotReady, priority: -2,
   open: Never, pullTimeout: 2h, platforms: [linux/arm64/v8, linux/amd64], nodeSelector: {zone: b, pool: a},
   pin: true, pullWindow: {start: "01:30", end: "24:00", days: [Tue, Mon, Tue], timeZone: Asia/Tokyo}}
- image: a
)");
  std::string yaml = doc::WriteYaml(CanonicalForm(content));
  EXPECT_EQ(yaml, R"(apiVersion: prefetchd.dev/v1alpha1
kind: ImageList
images:
- image: a:latest
- image: b:v2
  required: false
  readyFor: Always
  refresh: IfDigestChanged
  refreshInterval: "1h30m"
  maxAge: "24h"
  onUnreachable: NotReady
  onAccessDenied: Keep
  onTagMissing: NotReady
  onStale: NotReady
  priority: -2
  open: Never
  pullTimeout: "2h"
  platforms:
  - linux/amd64
  - linux/arm64/v8
  nodeSelector:
    pool: a
    zone: b
  pin: true
  pullWindow:
    start: "01:30"
    end: "24:00"
    days:
    - Mon
    - Tue
    timeZone: Asia/Tokyo
)");
  EXPECT_EQ(SourceHash(Decode("l.yaml", yaml)), SourceHash(content));
  EXPECT_EQ(SourceHash(Decode("l.json", doc::WritePrettyJson(CanonicalForm(content)))), SourceHash(content));
}

TEST(Canonical, TheWholeOfEachDayIsNoPullWindow) {
  SourceContent content = Decode("l.yaml", kHead + R"(defaults:
  pullWindow: {start: "22:00", end: "06:00", timeZone: UTC}
images:
- image: a
- {image: b, pullWindow: {start: "00:00", end: "24:00", timeZone: Europe/Berlin}}
)");
  const std::string yaml = doc::WriteYaml(CanonicalForm(content));
  EXPECT_HAS(
      yaml,
      "- image: a:latest\n  pullWindow:\n    start: \"22:00\"\n    end: \"06:00\"\n- image: b:latest\n");
  EXPECT_TRUE(yaml.ends_with("- image: b:latest\n")) << yaml;
}

TEST(Canonical, ReadyAsIsASetOfCoordinates) {
  SourceContent content = Decode("l.yaml", kHead + R"(defaults:
  readyAs: {secrets: [{name: pull, namespace: ci}]}
images:
- image: a
- {image: b, readyAs: {serviceAccount: {namespace: ci, name: runner}, secrets: [{namespace: ci, name: z, uid: u-1},
   {namespace: ci, name: pull}]}}
)");
  std::string yaml = doc::WriteYaml(CanonicalForm(content));
  EXPECT_EQ(yaml, kHead + R"(images:
- image: a:latest
  readyAs:
    secrets:
    - namespace: ci
      name: pull
- image: b:latest
  readyAs:
    secrets:
    - namespace: ci
      name: pull
    - namespace: ci
      name: z
      uid: u-1
    serviceAccount:
      namespace: ci
      name: runner
)");
  EXPECT_EQ(SourceHash(Decode("l.yaml", yaml)), SourceHash(content));
  EXPECT_EQ(SourceHash(Decode("l.json", doc::WritePrettyJson(CanonicalForm(content)))), SourceHash(content));
}

// kubelet would send the same name to the runtime for nginx and nginx:latest.
TEST(Canonical, KeepsSpellingsApart) {
  SourceContent content = Decode("l.txt", "nginx\nx\nnginx:latest\ndocker.io/library/nginx\n");
  std::string yaml = doc::WriteYaml(CanonicalForm(content));
  EXPECT_EQ(yaml, kHead +
                      "images:\n- image: nginx\n- image: x:latest\n- image: nginx:latest\n"
                      "- image: docker.io/library/nginx:latest\n");
  EXPECT_EQ(SourceHash(Decode("l.yaml", yaml)), SourceHash(content));
}

// Defaults that an entry has no use for are not written into it: they would be mistakes there.
TEST(Canonical, IsAListThoughTheDefaultsDoNotConcernEachEntry) {
  SourceContent content = Decode("l.yaml", kHead + R"(defaults:
  refresh: IfDigestChanged
  refreshInterval: 2h
  onUnreachable: NotReady
images:
- image: a
- {image: b, refresh: Always}
- image: "c@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)");
  std::string yaml = doc::WriteYaml(CanonicalForm(content));
  EXPECT_EQ(SourceHash(Decode("l.yaml", yaml)), SourceHash(content)) << yaml;
}

// Hashes are compared between versions of the product: this one must never change.
TEST(Canonical, TheHashIsForEver) {
  EXPECT_EQ(SourceHash(Decode("l.yaml", kPlain)),
            "sha256:f8d7eb0570bd0c02bdc5bfef7818c9954e8dbe431e8a8a68f1dea93936cc292d");
}

TEST(Canonical, ListHashIsOverAllSourcesWhateverTheirOrder) {
  EXPECT_EQ(ListHash({"sha256:a", "sha256:b"}), ListHash({"sha256:b", "sha256:a"}));
  EXPECT_NE(ListHash({"sha256:a"}), ListHash({"sha256:a", ""})) << "a source that is not in force counts";
}

}  // namespace
}  // namespace prefetch::list::merge_test
