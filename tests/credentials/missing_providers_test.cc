#include "credentials/missing_providers.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/text.h"

namespace prefetch::credentials::not_given_test {
namespace {

Provider ProviderFor(const std::string& name, const std::vector<std::string>& patterns) {
  Provider provider;
  provider.name = name;
  for (const std::string& pattern : patterns) provider.match_images.push_back(*Pattern::Parse(pattern));
  return provider;
}

const ProviderConfig kThere = {
    .providers = {ProviderFor("ecr", {"*.dkr.ecr.*.amazonaws.com", "public.ecr.aws"}),
                  ProviderFor("acme", {"a.io", "b.io", "c.io", "d.io"})},
    .problems = {},
    .hash = ""};
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
  return {name, ProgramComparison::kSame, Patterns(patterns)};
}

struct NotGivenCase {
  std::string name;
  std::string kubelets;
  ProviderConfig there;
  std::string own;
  std::vector<AgentProviders::Entry> own_named;
  std::vector<std::string> problems;  // but for what to do
};
class NotGivenTest : public testing::TestWithParam<NotGivenCase> {};

TEST_P(NotGivenTest, SaysWhatIsMissing) {
  const NotGivenCase& row = GetParam();
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

INSTANTIATE_TEST_SUITE_P(
    Rows, NotGivenTest,
    testing::Values(
        NotGivenCase{"KubeletHasNone", "", {}, "", {}, {}},
        NotGivenCase{"KubeletHasNoneWeHave", "", {}, "/o", {{"a"}}, {}},
        NotGivenCase{"None", "/k/c.yaml", kThere, "", {}, {kEcr, kAcme}},
        NotGivenCase{"TheSameFile", "/k/c.yaml", kThere, "/k/c.yaml", {{"acme"}, {"ecr"}}, {}},
        NotGivenCase{"MountedElsewhere", "/k/c.yaml", kThere, "/own/p.yaml", {{"acme"}, {"ecr"}}, {}},
        NotGivenCase{"OneOfTwo",
                     "/k/c.yaml",
                     kThere,
                     "/own/p.yaml",
                     {{"acme"}},
                     {base::ReplaceAll(kEcr, "given none", "given others")}},
        NotGivenCase{
            "TheSameFileAndNoProgram",
            "/k/c.yaml",
            kThere,
            "/k/c.yaml",
            {{"acme"}, {"ecr", ProgramComparison::kAbsent}},
            {"kubelet uses the credential provider \"ecr\" from /k/c.yaml; the agent has no program "
             "/own/bin/ecr: images of *.dkr.ecr.*.amazonaws.com, public.ecr.aws will be refused (401)"}},
        NotGivenCase{
            "AnotherProgram",
            "/k/c.yaml",
            kThere,
            "/own/p.yaml",
            {{"acme"}, {"ecr", ProgramComparison::kDifferent}},
            {"kubelet uses the credential provider \"ecr\" from /k/c.yaml; the agent runs /own/bin/ecr, "
             "which is another program than /k/bin/ecr: images of *.dkr.ecr.*.amazonaws.com, "
             "public.ecr.aws may be refused (401)"}},
        NotGivenCase{
            "Unreadable",
            "/k/c.yaml",
            kUnreadable,
            "",
            {},
            {"kubelet uses credential providers from /k/c.yaml; the agent was given none, and cannot "
             "read that file (/k/c.yaml: no such file): images of these providers' registries will be "
             "refused (401)"}},
        NotGivenCase{"UnreadableAndTheSame", "/k/c.yaml", kUnreadable, "/k/c.yaml", {}, {}},
        NotGivenCase{"FewerImages",
                     "/k/c.yaml",
                     kThere,
                     "/own/p.yaml",
                     {ForImages("acme", {"b.io", "a.io", "d.io"}), {"ecr"}},
                     {"kubelet uses the credential provider \"acme\" from /k/c.yaml; the agent's provider of "
                      "that name, from /own/p.yaml, does not match all of its images: images of c.io may be "
                      "refused (401)"}},
        NotGivenCase{"WiderImages",
                     "/k/c.yaml",
                     kThere,
                     "/own/p.yaml",
                     {ForImages("acme", {"*.io"}),
                      ForImages("ecr", {"*.dkr.ecr.*.amazonaws.com", "public.ecr.aws", "*.ecr.aws"})},
                     {}},
        NotGivenCase{"AWiderGlob",
                     "/k/c.yaml",
                     kThere,
                     "/own/p.yaml",
                     {{"acme"}, ForImages("ecr", {"*.dkr.ecr*.*.amazon*.com", "public.ecr.aws"})},
                     {}},
        NotGivenCase{"NarrowerGlob",
                     "/k/c.yaml",
                     kThere,
                     "/own/p.yaml",
                     {{"acme"}, ForImages("ecr", {"*.dkr.ecr.eu-west-1.amazonaws.com", "public.ecr.aws"})},
                     {"kubelet uses the credential provider \"ecr\" from /k/c.yaml; the agent's provider of "
                      "that name, from /own/p.yaml, does not match all of its images: images of "
                      "*.dkr.ecr.*.amazonaws.com may be refused (401)"}},
        NotGivenCase{
            "UnreadableAndAnother",
            "/k/c.yaml",
            kUnreadable,
            "/own/p.yaml",
            {{"ecr"}},
            {"kubelet uses credential providers from /k/c.yaml; the agent was given others, and cannot "
             "read that file (/k/c.yaml: no such file): images of these providers' registries will be "
             "refused (401)"}}),
    [](const auto& row) { return row.param.name; });

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
  EXPECT_EQ(
      SkippedProvider(Find("/k/c.yaml", kThere, "/k/c.yaml", {{"acme"}, {"ecr", ProgramComparison::kAbsent}}),
                      image),
      "ecr (public.ecr.aws): kubelet uses it, from /k/c.yaml; the agent has no program /own/bin/ecr\n");
  EXPECT_EQ(
      SkippedProvider(
          Find("/k/c.yaml", kThere, "/k/c.yaml", {{"acme"}, {"ecr", ProgramComparison::kDifferent}}), image),
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
  EXPECT_EQ(ProblemsOf(missing),
            std::vector<std::string>{
                "kubelet uses credential providers from /k/c.yaml, and the agent cannot read that file "
                "(/k/c.yaml: no such file) to compare it with /own/c.yaml: if they differ, images may be "
                "refused (401); mount kubelet's file at its own path"});
  EXPECT_EQ(missing.Count(), 1U);
  EXPECT_EQ(SkippedProvider(missing, "quay.io/app"),
            "/k/c.yaml (): kubelet uses the providers of this file; the agent has those of /own/c.yaml, and "
            "cannot read it\n");
}

// Which registries they are for is not known: it may be this one.
TEST(SkippedProviders, AFileThatCannotBeReadIsForAny) {
  EXPECT_EQ(
      SkippedProvider(Find("/k/c.yaml", kUnreadable), "quay.io/acme/app"),
      "/k/c.yaml (): kubelet uses the providers of this file; the agent was given none, and cannot read "
      "it\n");
}

}  // namespace
}  // namespace prefetch::credentials::not_given_test
