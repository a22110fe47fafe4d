#include "credentials/provider_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "credentials/missing_providers.h"
#include "rig/expect_has.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::credentials::provider_config_test {
namespace {

constexpr char kHead[] = "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n";

struct Row {
  std::string name;
  std::string text;
  std::string problem;  // part of the only line
  unsigned minor = 36;
};

// A good provider with one field replaced, or left out if `value` is empty.
std::string With(const std::string& field, const std::string& value) {
  std::vector<std::pair<std::string, std::string>> fields = {
      {"name", "ecr"},
      {"apiVersion", "credentialprovider.kubelet.k8s.io/v1"},
      {"matchImages", "[\"*.io\"]"},
      {"defaultCacheDuration", "12h"}};
  bool replaced = false;
  std::string text = std::string(kHead) + "providers:\n- args: []\n";
  for (auto& [name, old] : fields) {
    if (name == field) old = value, replaced = true;
    if (!old.empty()) text += "  " + name + ": " + old + "\n";
  }
  return replaced ? text : text + "  " + field + ": " + value + "\n";
}

std::string Token(const std::string& more, const std::string& audience = "aud") {
  return With("tokenAttributes", "{serviceAccountTokenAudience: \"" + audience + "\"" + more + "}");
}

std::string ReplaceOnce(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

const std::string kFull = ", cacheType: Token, requireServiceAccount: true";

// Refusals have their words. The judge of the family "provider-config" (tests/judges) has what is read.
TEST(DecodeTest, AsKubelet) {
  const Row rows[] = {
      // A3 and A4.
      {"UnknownVersion", ReplaceOnce(With("name", "ecr"), "io/v1", "io/v2"), "apiVersion: must be"},
      {"WrongKind", ReplaceOnce(With("name", "ecr"), "kind: C", "kind: c"), "kind: must be"},
      {"JsonIsNotYaml", "{apiVersion: kubelet.config.k8s.io/v1}", "c.yaml:1:"},
      {"Empty", "", "must be a mapping"},
      {"Merge", With("<<", "{name: ecr}"), "duplicate key \"name\""},
      {"NoProviders", kHead, "providers: is required"},
      {"EmptyProviders", std::string(kHead) + "providers: []\n", "providers: must have an entry"},
      {"UnknownField", With("color", "red"), "providers[0].color: unknown field"},
      {"CaseOfFields", With("Env", "[]"), "providers[0].Env: unknown field"},
      {"DuplicateField", With("args", "[]"), "duplicate key \"args\""},
      {"UnknownFieldOfEnv", With("env", "[{name: A, value: b, x: y}]"),
       "providers[0].env[0].x: unknown field"},
      {"NumberInEnv", With("env", "[{name: A, value: 5}]"), "providers[0].env[0].value: must be a string"},
      {"NameMissing", With("name", ""), "providers[0].name: is required"},
      {"NameEmpty", With("name", "\"\""), "providers[0].name: must not be empty"},
      {"NameWithSlash", With("name", "a/b"), "providers[0].name: must not contain /"},
      {"NameWithSpace", With("name", "a b"), "providers[0].name: must not contain a space"},
      {"NameDot", With("name", "."), "providers[0].name: must be the name of a file"},
      {"NameDotDot", With("name", "\"..\""), "providers[0].name: must be the name of a file"},
      {"MatchImagesMissing", With("matchImages", ""), "providers[0].matchImages: is required"},
      {"MatchImagesEmpty", With("matchImages", "[]"), "providers[0].matchImages: must have an entry"},
      {"MatchImagesBad", With("matchImages", "[foo.io, \"foo.io:abc\"]"),
       "providers[0].matchImages[1]: must be"},
      {"MatchImagesNumber", With("matchImages", "[5]"), "providers[0].matchImages[0]: must be a string"},
      {"DurationMissing", With("defaultCacheDuration", ""), "providers[0].defaultCacheDuration: is required"},
      {"DurationNull", With("defaultCacheDuration", "null"),
       "providers[0].defaultCacheDuration: is required"},
      {"DurationBareZero", With("defaultCacheDuration", "0"),
       "providers[0].defaultCacheDuration: must be a dur"},
      {"DurationBareNumber", With("defaultCacheDuration", "600"),
       "providers[0].defaultCacheDuration: must be"},
      {"DurationNegative", With("defaultCacheDuration", "-1s"),
       "providers[0].defaultCacheDuration: must be at"},
      {"DurationWithoutUnit", With("defaultCacheDuration", "\"12\""), "defaultCacheDuration: must be a dur"},
      {"ApiVersionMissing", With("apiVersion", ""), "providers[0].apiVersion: is required"},
      {"ApiVersionOfTheObject", With("apiVersion", "kubelet.config.k8s.io/v1"),
       "providers[0].apiVersion: must be"},
      {"ArgsNumber", ReplaceOnce(With("name", "ecr"), "args: []", "args: [5]"),
       "providers[0].args[0]: must be a string"},
      // A5.
      {"GateOffIn133", Token(kFull), "tokenAttributes: needs the feature gate", 33},
      {"UnknownIn132", Token(kFull), "tokenAttributes: unknown field", 32},
      {"NotInV1beta1", ReplaceOnce(Token(kFull), "io/v1", "io/v1beta1"), "tokenAttributes: unknown field"},
      {"PluginMustBeV1",
       ReplaceOnce(Token(kFull), "credentialprovider.kubelet.k8s.io/v1",
                   "credentialprovider.kubelet.k8s.io/v1beta1"),
       "providers[0].apiVersion: must be credentialprovider.kubelet.k8s.io/v1 with tokenAttributes"},
      {"AudienceEmpty", Token(kFull, ""), "serviceAccountTokenAudience: must not be empty"},
      {"AudienceMissing", With("tokenAttributes", "{cacheType: Token, requireServiceAccount: true}"),
       "serviceAccountTokenAudience: is required"},
      {"CacheTypeMissing", Token(", requireServiceAccount: true"), "cacheType: is required"},
      {"CacheTypeUnknown", Token(", cacheType: Pod, requireServiceAccount: true"), "cacheType: must be"},
      {"RequireMissing", Token(", cacheType: Token"), "requireServiceAccount: is required"},
      {"RequiredKeyTwice", Token(kFull + ", requiredServiceAccountAnnotationKeys: [a, a]"),
       "is listed twice"},
      {"RequiredKeyBad", Token(kFull + ", requiredServiceAccountAnnotationKeys: [\"a b\"]"),
       "qualified name"},
      {"RequiredWithoutAccount",
       Token(", cacheType: Token, requireServiceAccount: false, requiredServiceAccountAnnotationKeys: [a]"),
       "needs requireServiceAccount: true"},
      {"OptionalIsRequired",
       Token(kFull +
             ", requiredServiceAccountAnnotationKeys: [a], optionalServiceAccountAnnotationKeys: [a]"),
       "is also a required key"},
      {"OptionalTwice", Token(kFull + ", optionalServiceAccountAnnotationKeys: [a, a]"), "is listed twice"},
      {"UnknownField", Token(kFull + ", x: y"), "tokenAttributes.x: unknown field"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    doc::Problems problems("c.yaml");
    DecodeProviderConfig(row.text, image::KubeletVersion{1, row.minor}, problems);
    std::string all = base::Join(problems.Lines(), "\n");
    EXPECT_EQ(problems.count(), 1U) << all;
    EXPECT_HAS(all, row.problem);
  }
}

TEST(IsQualifiedName, AsKubernetes) {
  for (const char* name : {"a", "A-b_c.d", "example.com/a", "a/b"})
    EXPECT_TRUE(IsQualifiedName(name)) << name;
  EXPECT_TRUE(IsQualifiedName(std::string(63, 'a')));
  EXPECT_FALSE(IsQualifiedName(std::string(64, 'a')));
  EXPECT_FALSE(IsQualifiedName(std::string(254, 'a') + "/a"));
  for (const char* name : {"", "-a", "a-", "/a", "a/", "a/b/c", "a..b/c", "ex_ample/c", "a b"}) {
    EXPECT_FALSE(IsQualifiedName(name)) << name;
  }
}

TEST(DecodeProviderConfig, AllMistakesAtOnceWithTheirPlaces) {
  doc::Problems problems("c.yaml");
  DecodeProviderConfig(
      std::string(kHead) + "providers:\n- name: a/b\n  defaultCacheDuration: 12\n  x: y\n- {}\n", {},
      problems);
  std::string all = base::Join(problems.Lines(), "\n");
  for (const char* part : {"c.yaml:4:", "providers[0].name: must not", "c.yaml:5:", "providers[0].x: unknown",
                           "providers[0].matchImages: is required", "providers[0].apiVersion: is required",
                           "providers[1].name: is required"}) {
    EXPECT_HAS(all, part);
  }
}

class LoadTest : public testing::Test {
 protected:
  void Plugin(const std::string& name) const {
    std::filesystem::permissions(dir_.Write("bin/" + name, "#!/bin/sh\n"), std::filesystem::perms::owner_all);
  }
  std::string Config(const std::string& name) const { return With("name", name); }
  ProviderConfig Load(const std::string& path, unsigned minor = 36) const {
    return LoadProviderConfig(dir_ / path, dir_ / "bin", image::KubeletVersion{1, minor});
  }
  static std::string Problems(const ProviderConfig& config) { return base::Join(config.problems, "\n"); }

  tests::TempDir dir_;
};

TEST_F(LoadTest, AFileWhateverItsName) {
  Plugin("one");
  std::string text = Config("one");
  dir_.Write("config", text);
  ProviderConfig config = Load("config");
  EXPECT_EQ(Problems(config), "");
  ASSERT_EQ(config.providers.size(), 1U);
  std::string length(8, '\0');
  length[6] = static_cast<char>(text.size() >> 8);
  length[7] = static_cast<char>(text.size() & 0xFF);
  EXPECT_EQ(config.hash, "sha256:" + base::Sha256Hex(length + text));
}

TEST_F(LoadTest, ADirectoryFrom134On) {
  for (const char* name : {"a", "b", "c"}) Plugin(name);
  dir_.Write("conf/20.yml", Config("b"));
  dir_.Write("conf/10.yaml", Config("a"));
  dir_.Write("conf/30.json",
             R"({"apiVersion":"kubelet.config.k8s.io/v1alpha1","kind":"CredentialProviderConfig",
      "providers":[{"name":"c","apiVersion":"credentialprovider.kubelet.k8s.io/v1","matchImages":["*"],
      "defaultCacheDuration":"0s"}]})");
  dir_.Write("conf/40.YAML", "bad");
  dir_.Write("conf/50.yaml.bak", "bad");
  dir_.Write("conf/60.yaml/inside.yaml", "bad");
  dir_.Write("conf/yaml", "bad");
  ProviderConfig config = Load("conf");
  EXPECT_EQ(Problems(config), "");
  std::string names;
  for (const Provider& provider : config.providers) names += provider.name;
  EXPECT_EQ(names, "abc");
  EXPECT_HAS(Problems(Load("conf", 33)), "does not read");
}

TEST_F(LoadTest, DirectoriesThatFail) {
  Plugin("a");
  std::filesystem::create_directories(dir_ / "none");
  EXPECT_HAS(Problems(Load("none")), "no configuration files found in directory");
  dir_.Write("conf/1.yaml", Config("a"));
  dir_.Write("conf/2.yaml", Config("a"));
  EXPECT_HAS(Problems(Load("conf")), "provider \"a\" is configured twice");
  dir_.Write("conf/2.yaml", "bad");
  ProviderConfig bad = Load("conf");
  EXPECT_HAS(Problems(bad), "2.yaml:1:");
  EXPECT_TRUE(bad.providers.empty());
  std::filesystem::remove(dir_ / "conf/2.yaml");
  std::filesystem::create_directory_symlink(dir_ / "none", dir_ / "conf/link.yaml");
  EXPECT_FALSE(Load("conf").problems.empty());
}

TEST_F(LoadTest, PluginsMustBeThere) {
  dir_.Write("config", Config("one"));
  EXPECT_HAS(Problems(Load("config")), "plugin directory");
  std::filesystem::create_directories(dir_ / "bin");
  EXPECT_HAS(Problems(Load("config")), "bin/one");
  std::filesystem::create_directories(dir_ / "bin/one");
  EXPECT_HAS(Problems(Load("config")), "is a directory");
  std::filesystem::remove(dir_ / "bin/one");
  dir_.Write("bin/one", "");
  EXPECT_HAS(Problems(Load("config")), "is not executable");
  std::filesystem::remove(dir_ / "bin/one");
  std::filesystem::create_symlink("/usr/bin/not-mounted-here", dir_ / "bin/one");
  EXPECT_HAS(Problems(Load("config")),
             "bin/one is a symbolic link to /usr/bin/not-mounted-here, which is not there");
  std::filesystem::remove(dir_ / "bin/one");
  Plugin("one");
  EXPECT_EQ(Problems(Load("config")), "");
  // Callers may check a configuration alone, without the plugins' folder.
  EXPECT_TRUE(LoadProviderConfig(dir_ / "config", std::nullopt, {}).problems.empty());
}

TEST_F(LoadTest, OneFlagWithoutTheOther) {
  dir_.Write("config", Config("one"));
  Plugin("one");
  EXPECT_FALSE(LoadProviderConfig("", dir_ / "bin", {}).problems.empty());
  EXPECT_FALSE(LoadProviderConfig(dir_ / "config", "", {}).problems.empty());
  EXPECT_FALSE(LoadProviderConfig(dir_ / "absent", dir_ / "bin", {}).problems.empty());
}

using Strings = std::vector<std::string>;
Provider ProviderFor(const std::string& name, const std::vector<std::string>& patterns) {
  Provider provider;
  provider.name = name;
  for (const std::string& pattern : patterns) provider.match_images.push_back(*Pattern::Parse(pattern));
  return provider;
}

const ProviderConfig kThere = {
    .providers = {ProviderFor("ecr", {"*.dkr.ecr.*.amazonaws.com", "public.ecr.aws"}),
                  ProviderFor("acme", {"a.io", "b.io", "c.io", "d.io"})}};
const ProviderConfig kUnreadable = {.providers = {}, .problems = {"/k/c.yaml: no such file"}, .hash = ""};
constexpr const char* kGive =
    "; mount kubelet's file and its plugins, and name them with --image-credential-provider-config and "
    "--image-credential-provider-bin-dir";

std::vector<Pattern> Patterns(const std::vector<std::string>& texts) {
  return ProviderFor("", texts).match_images;
}

// With the images of kubelet's where a row names none.
MissingProviders Find(const std::string& kubelets, const ProviderConfig& there, const std::string& own = "",
                      std::vector<AgentProviders::Entry> named = {}) {
  for (AgentProviders::Entry& one : named) {
    for (const Provider& provider : there.providers) {
      if (one.match_images.empty() && one.name == provider.name) one.match_images = provider.match_images;
    }
  }
  return FindMissingProviders({kubelets, "/k/bin"}, there,
                              {own, own.empty() ? "" : "/own/bin", std::move(named)});
}

AgentProviders::Entry ForImages(const std::string& name, const std::vector<std::string>& patterns) {
  return {name, std::nullopt, Patterns(patterns)};
}

struct NotGivenCase {
  std::string name;
  std::string kubelets;
  ProviderConfig there;
  std::string own;
  std::vector<AgentProviders::Entry> own_named;
  std::vector<std::string> problems;  // but for what to do
};
TEST_TABLE(NotGivenTest, SaysWhatIsMissing, NotGivenCase) {
  const MissingProviders missing = Find(row.kubelets, row.there, row.own, row.own_named);
  std::vector<std::string> problems = row.problems;
  for (std::string& problem : problems) problem += kGive;
  EXPECT_EQ(ProblemsOf(missing), problems);
  EXPECT_EQ(missing.Count(), problems.size());
}

const std::string kEcr =
    "kubelet uses the credential provider \"ecr\" from /k/c.yaml; the agent was given none: images of "
    "*.dkr.ecr.*.amazonaws.com, public.ecr.aws will be refused (401)";
const std::string kAcme =
    "kubelet uses the credential provider \"acme\" from /k/c.yaml; the agent was given none: images of a.io, "
    "b.io, c.io, … will be refused (401)";

TEST_ROWS(Rows, NotGivenTest, {"KubeletHasNone", "", {}, "", {}, {}},
          {"KubeletHasNoneWeHave", "", {}, "/o", {{"a"}}, {}},
          {"None", "/k/c.yaml", kThere, "", {}, {kEcr, kAcme}},
          {"TheSameFile", "/k/c.yaml", kThere, "/k/c.yaml", {{"acme"}, {"ecr"}}, {}},
          {"MountedElsewhere", "/k/c.yaml", kThere, "/own/p.yaml", {{"acme"}, {"ecr"}}, {}},
          {"OneOfTwo", "/k/c.yaml", kThere, "/own/p.yaml", std::vector<AgentProviders::Entry>{{"acme"}},
           Strings{base::ReplaceAll(kEcr, "given none", "given others")}},
          {"TheSameFileAndNoProgram", "/k/c.yaml", kThere, "/k/c.yaml",
           std::vector<AgentProviders::Entry>{{"acme"}, {"ecr", ProviderGap::kNoProgram}},
           Strings{
               "kubelet uses the credential provider \"ecr\" from /k/c.yaml; the agent has no program "
               "/own/bin/ecr: images of *.dkr.ecr.*.amazonaws.com, public.ecr.aws will be refused (401)"}},
          {"AnotherProgram", "/k/c.yaml", kThere, "/own/p.yaml",
           std::vector<AgentProviders::Entry>{{"acme"}, {"ecr", ProviderGap::kDifferentProgram}},
           Strings{"kubelet uses the credential provider \"ecr\" from /k/c.yaml; the agent runs "
                   "/own/bin/ecr, which is another program than /k/bin/ecr: images of "
                   "*.dkr.ecr.*.amazonaws.com, public.ecr.aws may be refused (401)"}},
          {"Unreadable", "/k/c.yaml", kUnreadable, "", std::vector<AgentProviders::Entry>{},
           Strings{"kubelet uses credential providers from /k/c.yaml; the agent was given none, "
                   "and cannot read that file (/k/c.yaml: no such file): images of these "
                   "providers' registries will be refused (401)"}},
          {"UnreadableAndTheSame", "/k/c.yaml", kUnreadable, "/k/c.yaml", {}, {}},
          {"FewerImages", "/k/c.yaml", kThere, "/own/p.yaml",
           std::vector<AgentProviders::Entry>{ForImages("acme", {"b.io", "a.io", "d.io"}), {"ecr"}},
           Strings{"kubelet uses the credential provider \"acme\" from /k/c.yaml; the agent's "
                   "provider of that name, from /own/p.yaml, does not match all of its images: "
                   "images of c.io may be refused (401)"}},
          {"WiderImages", "/k/c.yaml", kThere, "/own/p.yaml",
           std::vector<AgentProviders::Entry>{
               ForImages("acme", {"*.io"}),
               ForImages("ecr", {"*.dkr.ecr.*.amazonaws.com", "public.ecr.aws", "*.ecr.aws"})},
           Strings{}},
          {"AWiderGlob", "/k/c.yaml", kThere, "/own/p.yaml",
           std::vector<AgentProviders::Entry>{
               {"acme"}, ForImages("ecr", {"*.dkr.ecr*.*.amazon*.com", "public.ecr.aws"})},
           Strings{}},
          {"NarrowerGlob", "/k/c.yaml", kThere, "/own/p.yaml",
           std::vector<AgentProviders::Entry>{
               {"acme"}, ForImages("ecr", {"*.dkr.ecr.eu-west-1.amazonaws.com", "public.ecr.aws"})},
           Strings{"kubelet uses the credential provider \"ecr\" from /k/c.yaml; the agent's "
                   "provider of that name, from /own/p.yaml, does not match all of its images: "
                   "images of *.dkr.ecr.*.amazonaws.com may be refused (401)"}},
          {"UnreadableAndAnother", "/k/c.yaml", kUnreadable, "/own/p.yaml",
           std::vector<AgentProviders::Entry>{{"ecr"}},
           Strings{"kubelet uses credential providers from /k/c.yaml; the agent was given others, "
                   "and cannot read that file (/k/c.yaml: no such file): images of these "
                   "providers' registries will be refused (401)"}});

std::string SkippedProvider(const MissingProviders& missing, const std::string& repository) {
  std::string text;
  for (const auto& one : SkippedProviders(missing, Target(repository))) {
    text += one.name + " (" + one.pattern + "): " + one.why + "\n";
  }
  return text;
}

TEST(SkippedProviders, OnlyProvidersThatMatch) {
  const MissingProviders missing = Find("/k/c.yaml", kThere);
  EXPECT_EQ(SkippedProvider(missing, "1.dkr.ecr.eu-west-1.amazonaws.com/app"),
            "ecr (*.dkr.ecr.*.amazonaws.com): kubelet uses it, from /k/c.yaml; the agent was given none\n");
  EXPECT_EQ(SkippedProvider(missing, "quay.io/acme/app"), "");
  EXPECT_EQ(SkippedProvider({}, "a.io/app"), "");
}

TEST(SkippedProviders, AProviderIsToldOnceWithTheFirstOfItsPatternsThatMatch) {
  ProviderConfig twice = kThere;
  twice.providers[0].match_images = {*Pattern::Parse("quay.io"), *Pattern::Parse("quay.io/acme")};
  EXPECT_EQ(
      SkippedProvider(Find("/k/c.yaml", twice), "quay.io/acme/app"),
      twice.providers[0].name + " (quay.io): kubelet uses it, from /k/c.yaml; the agent was given none\n");
}

TEST(SkippedProviders, AProgramThatIsMissingOrAnother) {
  const std::string image = "public.ecr.aws/app";
  EXPECT_EQ(SkippedProvider(
                Find("/k/c.yaml", kThere, "/k/c.yaml", {{"acme"}, {"ecr", ProviderGap::kNoProgram}}), image),
            "ecr (public.ecr.aws): kubelet uses it, from /k/c.yaml; the agent has no program /own/bin/ecr\n");
  EXPECT_EQ(
      SkippedProvider(
          Find("/k/c.yaml", kThere, "/k/c.yaml", {{"acme"}, {"ecr", ProviderGap::kDifferentProgram}}), image),
      "/k/bin/ecr (public.ecr.aws): kubelet runs it; the agent runs /own/bin/ecr, which is another "
      "program\n");
}

TEST(SkippedProviders, AnImageThatTheAgentsProviderDoesNotMatch) {
  const MissingProviders missing =
      Find("/k/c.yaml", kThere, "/own/p.yaml", {ForImages("acme", {"a.io"}), {"ecr"}});
  EXPECT_EQ(SkippedProvider(missing, "c.io/app"),
            "acme (c.io): kubelet uses it, from /k/c.yaml; the agent's provider of that name, from "
            "/own/p.yaml, does not match all of its images\n");
  EXPECT_EQ(SkippedProvider(missing, "a.io/app"), "") << "this one it matches";
}

TEST(SkippedProviders, AFileThatCannotBeReadAndIsPerhapsTheSame) {
  const MissingProviders missing = Find("/k/c.yaml", kUnreadable, "/own/c.yaml", {{"ecr"}});
  EXPECT_EQ(
      ProblemsOf(missing),
      std::vector<std::string>{"kubelet uses credential providers from /k/c.yaml, and the agent cannot read "
                               "that file (/k/c.yaml: no such file) to compare it with /own/c.yaml: if they "
                               "differ, images may be refused (401); mount kubelet's file at its own path"});
  EXPECT_EQ(missing.Count(), 1U);
  EXPECT_EQ(SkippedProvider(missing, "quay.io/app"),
            "/k/c.yaml (): kubelet uses the providers of this file; the agent has those of /own/c.yaml, and "
            "cannot read it\n");
}

// Which registries they are for is not known: it may be this one.
TEST(SkippedProviders, AFileThatCannotBeReadIsForAny) {
  EXPECT_EQ(SkippedProvider(Find("/k/c.yaml", kUnreadable), "quay.io/acme/app"),
            "/k/c.yaml (): kubelet uses the providers of this file; the agent was given none, and cannot "
            "read it\n");
}

// A2, A3, A12, A18 and A19.
TEST(VersionRules, WhatChangedWhen) {
  struct Row {
    unsigned minor;
    bool strict, directories, knows_token, allows_token, separate;
    std::string global;
  };
  for (const Row& row :
       {Row{31, false, false, false, false, false, "global"},
        Row{32, true, false, false, false, false, "global"},
        Row{33, true, false, true, false, true, "global"}, Row{34, true, true, true, true, true, "<global>"},
        Row{35, true, true, true, true, true, "<global>"}, Row{36, true, true, true, true, true, "<global>"},
        Row{37, true, true, true, true, true, "<global>"},
        Row{38, true, true, true, true, true, "<global>"}}) {
    image::KubeletVersion version{1, row.minor};
    EXPECT_EQ(version >= kFirstStrict, row.strict) << row.minor;
    EXPECT_EQ(version >= kFirstWithConfigDirectories, row.directories) << row.minor;
    EXPECT_EQ(version >= kFirstWithTokenAttributes, row.knows_token) << row.minor;
    EXPECT_EQ(version >= kFirstWithTokenGateOn, row.allows_token) << row.minor;
    EXPECT_EQ(version >= kFirstWithSeparateKeyrings, row.separate) << row.minor;
    EXPECT_EQ(GlobalCacheKey(version), row.global) << row.minor;
  }
}

}  // namespace
}  // namespace prefetch::credentials::provider_config_test
